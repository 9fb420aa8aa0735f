/* Layouts: who holds which element of a tile, as linear maps over bits.
 *
 * A tile has at most TILE_MAX_RANK dims. Each extent is an odd count times a power of two, so a
 * tile consists of parts of one shape whose extents are powers of two, numbered in row-major order:
 *
 *     [2, 12], counts [1, 3]      part 0        part 1        part 2
 *                                 0  1  2  3    8  9 10 11   16 17 18 19
 *                                 4  5  6  7   12 13 14 15   20 21 22 23
 *
 * The index of an element, shown here, is its row-major position in its part behind the elements of
 * all parts before. In a part it is the concatenation of the coordinates' bits, and exclusive-or of
 * indices is exclusive-or of coordinates; a tile of one part has its row-major order.
 *
 * A layout lists, for every bit of its input, the index in a part that this bit contributes; the
 * image of an input is the exclusive-or of the contributions of its set bits. A register tile's
 * input is (register, lane, warp, block of the cluster), a shared buffer's is the element offset
 * inside one stage. All parts are held alike, one after the other: a thread has its registers of
 * part 0, then those of part 1, and a stage keeps part after part. Lanes and warps never tell parts
 * apart. Zero as a lane's, warp's or block's contribution means that several threads hold the same
 * elements; a register and an offset never hold what another one of their thread or stage holds. */
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
    TILE_LAYOUT_SHARED, /* offset -> index in a part; the bases are in reg, the others are empty */
    TILE_LAYOUT_NAMED,  /* a name only, such as #mma_acc, which instantiate replaces */
} tile_layout_kind;

/* A value type: copied and compared by value. Unused entries are zero. */
typedef struct tile_layout {
    uint8_t kind; /* tile_layout_kind */
    uint8_t rank;
    uint8_t dim_bits[TILE_MAX_RANK]; /* extent = count << dim_bits */
    uint8_t count[TILE_MAX_RANK];    /* odd, up to TILE_LAYOUT_MAX_COUNT */
    uint8_t reg_bits;                /* for a shared layout: how many offset bits; of one part */
    uint8_t warp_bits;
    uint8_t block_bits;
    uint32_t reg[TILE_LAYOUT_MAX_BITS];
    uint32_t lane[TILE_LANE_BITS];
    uint32_t warp[TILE_LAYOUT_MAX_WARP_BITS];
    uint32_t block[TILE_LAYOUT_MAX_BLOCK_BITS];
} tile_layout;

/* How many registers of a thread hold the tile; how many offsets a stage has. */
TILE_API uint32_t tile_layout_registers(const tile_layout *layout);
/* 0 behind the last dim. */
TILE_API uint32_t tile_layout_extent(const tile_layout *layout, unsigned d);
/* The index of the element with these coordinates, as many as there are dims. */
TILE_API uint32_t tile_layout_index(const tile_layout *layout, const uint32_t *coordinates);
/* The index of the element that this register of this lane of this warp holds; of a shared layout
 * reg is the offset, and lane and warp are 0. */
TILE_API uint32_t tile_layout_apply(const tile_layout *layout, uint32_t reg, uint32_t lane,
                                    uint32_t warp);

#ifdef __cplusplus
}
#endif

#endif
