/* Tiles in pieces: boxes of which each group of four warps has its own, to be moved one after the
 * other through a small buffer. Pure functions on values. */
#ifndef TILE_LIB_LAYOUT_PIECES_H
#define TILE_LIB_LAYOUT_PIECES_H

#include "lib/layout/layout.h"

enum { TILE_PIECE_WARPS = 4 }; /* of a group; a smaller set is one */

/* How a tile's layout is cut. Piece p of group g begins at the sum of what the group's first warp
 * and the piece's first register add to the coordinates. */
typedef struct tile_pieces {
    tile_layout piece;   /* of one, over a group's warps */
    unsigned group_bits; /* log2 of these */
    uint32_t groups;     /* in the set */
    uint32_t count;      /* pieces of a group */
    unsigned inside;     /* register bits of the tile's layout that stay in a piece .. */
    uint8_t bits[TILE_LAYOUT_MAX_BITS]; /* .. come first here, then the others */
} tile_pieces;

/* False if a group does not hold whole pieces of these extents, or not each element once. */
bool tile_pieces_cut(const tile_layout *tile, const uint32_t *extents, tile_pieces *pieces);
/* The tile's register that is this one of the piece's. */
uint32_t tile_pieces_register(const tile_pieces *pieces, const tile_layout *tile, uint32_t piece,
                              uint32_t register_);
/* A layout of these dims that can be cut into pieces of these extents, if any can. */
tile_layout tile_pieces_layout(const uint32_t *dims, const uint32_t *extents, unsigned rank,
                               unsigned num_warps);

#endif
