/* Layouts: who holds which element of a tile, as linear maps over bits.
 *
 * A tile has at most TILE_MAX_RANK dims, all powers of two. The flat index of an element is its
 * row-major position; since the dims are powers of two it is the concatenation of the coordinates'
 * bits, and exclusive-or of flat indices is exclusive-or of coordinates.
 *
 * A layout lists, for every bit of its input, the flat index that this bit contributes; the image
 * of an input is the exclusive-or of the contributions of its set bits. A register tile's input is
 * (register, lane, warp), a shared buffer's is the element offset inside one slot. Zero as a lane's
 * or warp's contribution means that several threads hold the same elements; a register and an
 * offset never hold what another one of their thread or slot holds. */
#ifndef TILE_LAYOUT_H
#define TILE_LAYOUT_H

#include <stdint.h>

#define TILE_MAX_RANK 4
#define TILE_LAYOUT_MAX_BITS 20
#define TILE_LANE_BITS 5
#define TILE_LAYOUT_MAX_WARP_BITS 5

typedef enum tile_layout_kind {
    TILE_LAYOUT_REGISTER, /* reg, lane, warp -> flat index */
    TILE_LAYOUT_SHARED,   /* offset -> flat index; the bases are in reg, the others are empty */
} tile_layout_kind;

/* A value type: copied and compared by value. Unused entries are zero. */
typedef struct tile_layout {
    uint8_t kind; /* tile_layout_kind */
    uint8_t rank;
    uint8_t dim_bits[TILE_MAX_RANK]; /* log2 of the extents */
    uint8_t reg_bits;                /* for a shared layout: how many offset bits */
    uint8_t warp_bits;
    uint32_t reg[TILE_LAYOUT_MAX_BITS];
    uint32_t lane[TILE_LANE_BITS];
    uint32_t warp[TILE_LAYOUT_MAX_WARP_BITS];
} tile_layout;

#endif
