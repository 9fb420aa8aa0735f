/* Making and using linear layouts (tile/layout.h says what they are). Pure functions on values. */
#ifndef TILE_LIB_LAYOUT_LAYOUT_H
#define TILE_LIB_LAYOUT_LAYOUT_H

#include <stdbool.h>

#include "tile/layout.h"

/* Using --------------------------------------------------------------------------------------- */

/* Whether the numbers of bits and dims are within their limits and the counts odd: all functions
 * need that, but for tile_layout_find_fault. */
bool tile_layout_fits_limits(const tile_layout *layout);
/* Whether a dim can have this extent: an odd number up to TILE_LAYOUT_MAX_COUNT times a power of
 * two, 2^TILE_LAYOUT_MAX_BITS at most. */
bool tile_layout_admits_extent(int64_t extent);
/* How many parts the tile has, and log2 of the elements of one. */
uint32_t tile_layout_parts(const tile_layout *layout);
unsigned tile_layout_part_bits(const tile_layout *layout);
/* Where dim d's bits begin in an index. */
unsigned tile_layout_dim_shift(const tile_layout *layout, unsigned d);
/* Coordinate d of an element. */
uint32_t tile_layout_coordinate(const tile_layout *layout, uint32_t index, unsigned d);

/* The exclusive-or of the vectors that these bits name. */
static inline uint32_t tile_layout_combine(const uint32_t *vectors, unsigned count, uint32_t bits) {
    uint32_t sum = 0;
    for (unsigned i = 0; i < count; i++)
        if (bits >> i & 1) sum ^= vectors[i];
    return sum;
}
/* Appends registers that name the elements along dim d from one coordinate to another, powers of
 * two. */
static inline void tile_layout_add_registers(tile_layout *layout, unsigned d, uint32_t from,
                                             uint32_t to) {
    for (uint32_t c = from; c < to; c *= 2)
        layout->reg[layout->reg_bits++] = c << tile_layout_dim_shift(layout, d);
}
/* The offset at which a shared layout keeps an element; every offset keeps one. */
uint32_t tile_layout_offset_of(const tile_layout *layout, uint32_t index);
/* What each register, lane and warp bit of a tile adds (by exclusive-or) to the offset in a shared
 * buffer of the same extents, or of larger ones from coordinates 0 on: the inverse of the shared
 * layout after the tile's. Arrays as long as
 * the layout's. Part p begins at offset p << tile_layout_part_bits. */
void tile_layout_to_offsets(const tile_layout *layout, const tile_layout *shared, uint32_t *reg,
                            uint32_t *lane, uint32_t *warp);
/* Thread bits (lanes', then warps') without which a tile's elements are all held, each by one
 * thread: those that contribute nothing, or what registers and the bits before contribute together.
 */
uint32_t tile_layout_redundant_threads(const tile_layout *layout);
bool tile_layout_equal(const tile_layout *a, const tile_layout *b);
/* With zeros between the members, so that all of its bytes can be compared. */
void tile_layout_copy(tile_layout *to, const tile_layout *from);
/* Every element is held by someone; for a shared layout: each offset keeps another one. */
bool tile_layout_is_surjective(const tile_layout *layout);

/* Why no code can be made for a layout, in the user's words; NULL if there is no reason. Each
 * element must have a holder, no thread may hold one twice, a shared layout has one offset for
 * each. */
const char *tile_layout_find_fault(const tile_layout *layout);

/* Making -------------------------------------------------------------------------------------- */

/* All of them take extents that tile_layout_admits_extent and spread the parts' elements; num_warps
 * and vec are powers of two. */

/* The power of two in an extent: a part's. */
uint32_t tile_layout_part_extent(uint32_t extent);
/* A layout of these extents that holds the first element only; mma.h makes those of fragments. */
tile_layout tile_layout_blank(tile_layout_kind kind, const uint32_t *dims, unsigned rank);

/* vec consecutive elements along dim `fastest` per thread, then lanes, then warps, along `fastest`
 * first and then along the others from the last dim to the first; what is left becomes registers.
 * vec shrinks to the part's extent, and as long as threads would get no element of their own; a
 * part with fewer elements than threads is replicated. */
tile_layout tile_layout_blocked(const uint32_t *dims, unsigned rank, unsigned vec, unsigned fastest,
                                unsigned num_warps);

/* The same, but vec shrinks to the extent only: a small part is held by the first threads. */
tile_layout tile_layout_chunked(const uint32_t *dims, unsigned rank, unsigned vec, unsigned fastest,
                                unsigned num_warps);

/* Row-major with dim `fastest` innermost, its 16-byte chunks exchanged by exclusive-or with bits of
 * the row, so that eight rows next to each other have one chunk in every bank group:
 *
 *     row of 64 bytes      chunk 0  1  2  3          128 bytes of banks hold two rows;
 *     row 0, 1                   a  b  c  d          the chunk number is crossed with
 *     row 2, 3                   b  a  d  c          the row number / 2
 *     row 4, 5                   c  d  a  b
 *
 * Elements of 4 and 8 bytes, of which fragments take two chunks of four rows at a time, have the
 * lowest bit of that number crossed with the second lowest of the chunk's, and so on around. */
tile_layout tile_layout_shared_swizzled(const uint32_t *dims, unsigned rank, unsigned fastest,
                                        unsigned element_bytes);

/* An order in memory, a shared layout, for a tile that is stored as it is held and loaded by pieces
 * of these extents, at multiples of them: `vec` registers of a thread side by side, then the lanes'
 * of a warp, and all elements of a piece before those of the next one. False if there is none: a
 * register, lane or warp bit adds to several coordinate bits, or the pieces are no powers of two,
 * or cut a dim that has several parts. */
bool tile_layout_order(const tile_layout *held, const uint32_t *piece, unsigned vec,
                       tile_layout *order);
/* How threads hold such a piece, or all of the tile, loaded in the order of its memory: `vec`
 * neighbours per thread, as far as they are contiguous, then lanes, then warps; vec shrinks and
 * small pieces are replicated as in tile_layout_blocked. */
tile_layout tile_layout_ordered(const tile_layout *order, const uint32_t *dims, unsigned vec,
                                unsigned num_warps);

/* Of a tile whose extents of 1 and missing first dims are repeated in a tile of layout `wide`: each
 * thread holds the elements that it needs there, each once. Its extents are the wide ones or 1,
 * from the last dim on. */
tile_layout tile_layout_narrow(const tile_layout *wide, const uint32_t *dims, unsigned rank);
/* The register of the narrow tile that this register of the wide one repeats. */
uint32_t tile_layout_narrow_register(const tile_layout *wide, const tile_layout *narrow,
                                     uint32_t register_);

/* Counting ------------------------------------------------------------------------------------ */

/* How many wavefronts beyond the fewest possible it takes a warp to access `count` byte addresses
 * of `bytes` each (1, 2, 4, 8 or 16) in shared memory: 32 banks of 4 bytes, requests of 8 bytes are
 * served for half a warp at a time, of 16 bytes for a quarter. */
unsigned tile_bank_conflicts(const uint32_t *addresses, unsigned count, unsigned bytes);

#endif
