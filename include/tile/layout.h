/* Layouts: which thread or offset holds which element of a tile, as linear maps over bits.
 *
 * A tile has at most TILE_MAX_RANK dims. Each extent is an odd count times a power of two. So a
 * tile consists of parts of equal shape whose extents are powers of two, numbered in row-major
 * order:
 *
 *     [2, 12], counts [1, 3]      part 0        part 1        part 2
 *                                 0  1  2  3    8  9 10 11   16 17 18 19
 *                                 4  5  6  7   12 13 14 15   20 21 22 23
 *
 * The numbers shown are indices of elements: the row-major position in the part plus the number of
 * elements of all earlier parts. Within a part, the index is the concatenation of the bits of the
 * coordinates, so the exclusive-or of indices is the exclusive-or of coordinates. The index in a
 * tile of one part is the row-major position.
 *
 * A layout lists, for every bit of its input, the index in a part that this bit contributes; the
 * image of an input is the exclusive-or of the contributions of its set bits. The input of a
 * register tile is (register, lane, warp, block of the cluster). The input of a shared buffer is
 * the element offset inside one stage. All parts have the same layout, one after the other: a
 * thread has its registers of part 0, then those of part 1, and a stage contains part after part.
 * Lanes and warps do not select parts. If a lane, warp or block bit contributes zero, several
 * threads hold the same elements. Different registers of a thread and different offsets of a stage
 * always hold different elements. */
#ifndef TILE_LAYOUT_H
#define TILE_LAYOUT_H

#include "tile/base.h"
#include "tile/limits.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TILE_LAYOUT_MAX_BITS 20
#define TILE_LAYOUT_MAX_COUNT TILE_MAX_ODD_EXTENT
#define TILE_LANE_BITS 5
#define TILE_LAYOUT_MAX_WARP_BITS 5
#define TILE_LAYOUT_MAX_BLOCK_BITS 4

typedef enum tile_layout_kind {
    TILE_LAYOUT_REGISTER, /* reg, lane, warp, block -> index in a part */
    TILE_LAYOUT_SHARED,   /* offset -> index in a part; reg holds the bases, the other arrays are
                             empty */
    TILE_LAYOUT_NAMED,    /* a name only, such as #mma_acc, which the pass instantiate replaces */
} tile_layout_kind;

/* A value type: copied and compared by value. Unused entries are zero. */
typedef struct tile_layout {
    uint8_t kind; /* tile_layout_kind */
    uint8_t rank;
    uint8_t dim_bits[TILE_MAX_RANK]; /* extent = count << dim_bits */
    uint8_t count[TILE_MAX_RANK];    /* odd, up to TILE_LAYOUT_MAX_COUNT */
    uint8_t reg_bits; /* number of register bits of one part; shared: number of offset bits of one
                         part */
    uint8_t warp_bits;
    uint8_t block_bits;
    uint32_t reg[TILE_LAYOUT_MAX_BITS];
    uint32_t lane[TILE_LANE_BITS];
    uint32_t warp[TILE_LAYOUT_MAX_WARP_BITS];
    uint32_t block[TILE_LAYOUT_MAX_BLOCK_BITS];
} tile_layout;

/* Number of registers per thread that hold the tile, or of offsets in a stage. */
TILE_API uint32_t tile_layout_registers(const tile_layout *layout);
/* Extent of dim d; 0 past the last dim. */
TILE_API uint32_t tile_layout_extent(const tile_layout *layout, unsigned d);
/* Index of the element with these coordinates, one per dim. */
TILE_API uint32_t tile_layout_index(const tile_layout *layout, const uint32_t *coordinates);
/* Index of the element in this register of this lane of this warp. For a shared layout reg is the
 * offset, and lane and warp are 0. */
TILE_API uint32_t tile_layout_apply(const tile_layout *layout, uint32_t reg, uint32_t lane,
                                    uint32_t warp);

#ifdef __cplusplus
}
#endif

#endif
