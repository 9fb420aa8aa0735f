/* Construction and queries of linear layouts (tile/layout.h defines them). Pure functions on
 * values. */
#ifndef TILE_LIB_LAYOUT_LAYOUT_H
#define TILE_LIB_LAYOUT_LAYOUT_H

#include <stdbool.h>

#include "tile/layout.h"

/* Queries -------------------------------------------------------------------------------------- */

/* Returns whether the numbers of bits and dims are within their limits and the counts odd. All
 * other functions require that, except for tile_layout_find_fault. */
bool tile_layout_fits_limits(const tile_layout *layout);
/* Returns whether a dim can have this extent: an odd number up to TILE_LAYOUT_MAX_COUNT times a
 * power of two, 2^TILE_LAYOUT_MAX_BITS at most. */
bool tile_layout_admits_extent(int64_t extent);
/* The number of parts of the tile, and log2 of the elements of one part. */
uint32_t tile_layout_parts(const tile_layout *layout);
unsigned tile_layout_part_bits(const tile_layout *layout);
/* The position of dim d's first bit in an index. */
unsigned tile_layout_dim_shift(const tile_layout *layout, unsigned d);
/* Coordinate d of an element. */
uint32_t tile_layout_coordinate(const tile_layout *layout, uint32_t index, unsigned d);

/* The exclusive-or of the vectors that these bits select. */
static inline uint32_t tile_layout_combine(const uint32_t *vectors, unsigned count, uint32_t bits) {
    uint32_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        if (bits >> i & 1) sum ^= vectors[i];
    return sum;
}
/* Appends registers for the elements along dim d from one coordinate to another, both powers of
 * two. */
static inline void tile_layout_add_registers(tile_layout *layout, unsigned d, uint32_t from,
                                             uint32_t to) {
    for (uint32_t c = from; c < to; c *= 2)
        layout->reg[layout->reg_bits++] = c << tile_layout_dim_shift(layout, d);
}
/* The offset at which a shared layout stores an element; every offset stores exactly one. */
uint32_t tile_layout_offset_of(const tile_layout *layout, uint32_t index);
/* The same for the indices 1, 2, 4, .. inside of a part: one offset for each of its bits. */
void tile_layout_offsets_of_bits(const tile_layout *layout, uint32_t *offsets);
/* What each register, lane and warp bit of a tile adds (by exclusive-or) to the offset in a shared
 * buffer of the same extents, or of larger ones from coordinates 0 on: the tile's layout composed
 * with the inverse of the shared layout. The arrays are as long as the layout's. Part p begins at
 * offset p << tile_layout_part_bits. */
void tile_layout_to_offsets(const tile_layout *layout, const tile_layout *shared, uint32_t *reg,
                            uint32_t *lane, uint32_t *warp);
/* The thread bits (lanes', then warps') that only replicate elements: those that contribute
 * nothing, or the same as registers and earlier bits. Without them each element is held by exactly
 * one thread. */
uint32_t tile_layout_redundant_threads(const tile_layout *layout);
bool tile_layout_equal(const tile_layout *a, const tile_layout *b);
/* Copies with zeroed padding, so that layouts can be compared bytewise. */
void tile_layout_copy(tile_layout *to, const tile_layout *from);
/* Returns whether some thread holds every element; for a shared layout, whether each offset stores
 * a different one. */
bool tile_layout_is_surjective(const tile_layout *layout);

/* Returns why a layout is invalid, in the user's words; NULL if it is valid. Each element must have
 * a holder, no thread may hold an element twice, and a shared layout has one offset for each
 * element. */
const char *tile_layout_find_fault(const tile_layout *layout);

/* Construction --------------------------------------------------------------------------------- */

/* All of these functions take extents that tile_layout_admits_extent accepts and distribute the
 * elements of a part. num_warps and vec are powers of two. */

/* The largest power of two that divides an extent: the extent of a part. */
uint32_t tile_layout_part_extent(uint32_t extent);
/* A layout of these extents that holds the first element only; mma.h makes layouts of fragments. */
tile_layout tile_layout_blank(tile_layout_kind kind, const uint32_t *dims, unsigned rank);

/* vec consecutive elements along dim `fastest` per thread, then lanes, then warps, along `fastest`
 * first and then along the others from the last dim to the first. The remaining elements become
 * registers. vec shrinks to the part's extent, and further while threads would have no elements of
 * their own. A part with fewer elements than threads is replicated. */
tile_layout tile_layout_blocked(const uint32_t *dims, unsigned rank, unsigned vec, unsigned fastest,
                                unsigned num_warps);

/* The same, but vec shrinks to the extent only: a small part is held by the first threads. */
tile_layout tile_layout_chunked(const uint32_t *dims, unsigned rank, unsigned vec, unsigned fastest,
                                unsigned num_warps);

/* Row-major with dim `fastest` innermost. Its 16-byte chunks are swizzled: their number is xor-ed
 * with bits of the row, so that the same chunk of eight adjacent rows is in eight different bank
 * groups:
 *
 *     row of 64 bytes      chunk 0  1  2  3          128 bytes of banks hold two rows;
 *     row 0, 1                   a  b  c  d          the chunk number is crossed with
 *     row 2, 3                   b  a  d  c          the row number / 2
 *     row 4, 5                   c  d  a  b
 *
 * In elements of 4 and 8 bytes, fragments access two chunks of four rows at a time. For these, the
 * bits are rotated by one: the lowest bit of the row number is xor-ed with the second lowest bit of
 * the chunk number, and so on, modulo the number of bits. */
tile_layout tile_layout_shared_swizzled(const uint32_t *dims, unsigned rank, unsigned fastest,
                                        unsigned element_bytes);

/* A memory order, a shared layout, for a tile that is stored in its register layout and loaded by
 * pieces of these extents, at multiples of them. `vec` registers of a thread are contiguous, then
 * the lanes of a warp follow. All elements of a piece precede those of the next one. Returns false
 * if a register, lane or warp bit combines several coordinate bits, or if the pieces are no powers
 * of two or split a dim that has several parts. */
bool tile_layout_order(const tile_layout *held, const uint32_t *piece, unsigned vec,
                       tile_layout *order);
/* The register layout of such a piece, or of the whole tile, loaded in the order of its memory:
 * `vec` adjacent elements per thread, as far as they are contiguous, then lanes, then warps. vec
 * shrinks and small pieces are replicated as in tile_layout_blocked. */
tile_layout tile_layout_ordered(const tile_layout *order, const uint32_t *dims, unsigned vec,
                                unsigned num_warps);

/* The layout of a tile that is broadcast, along extents of 1 and missing first dims, to a tile of
 * layout `wide`: each thread holds each element that it needs there exactly once. Its extents equal
 * the wide ones or are 1, counted from the last dim. */
tile_layout tile_layout_narrow(const tile_layout *wide, const uint32_t *dims, unsigned rank);
/* The register of the narrow tile whose value this register of the wide one repeats. */
uint32_t tile_layout_narrow_register(const tile_layout *wide, const tile_layout *narrow,
                                     uint32_t register_);

/* Bank conflicts ------------------------------------------------------------------------------- */

/* Returns how many more wavefronts than the minimum a warp needs to access `count` byte addresses
 * of `bytes` each (1, 2, 4, 8 or 16) in shared memory. There are 32 banks of 4 bytes. Requests of 8
 * bytes are served for half a warp at a time, those of 16 bytes for a quarter. */
unsigned tile_bank_conflicts(const uint32_t *addresses, unsigned count, unsigned bytes);

#endif
