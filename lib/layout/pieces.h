/* Splits tiles into pieces: boxes that each group of four warps moves one after the other through a
 * small buffer. Pure functions on values. */
#ifndef TILE_LIB_LAYOUT_PIECES_H
#define TILE_LIB_LAYOUT_PIECES_H

#include "lib/layout/layout.h"

enum { TILE_PIECE_WARPS = 4 }; /* of a group; a smaller set of warps is one group */

/* How a tile's layout is split. The coordinates of piece p of group g are the sum of those of the
 * group's first warp and of the piece's first register. */
typedef struct tile_pieces {
    tile_layout piece;                  /* layout of one piece in a group's warps */
    unsigned group_bits;                /* log2 of the warps of a group */
    uint32_t groups;                    /* number in the set of warps */
    uint32_t count;                     /* number of pieces of a group */
    unsigned inside;                    /* register bits of the tile's layout inside a piece .. */
    uint8_t bits[TILE_LAYOUT_MAX_BITS]; /* .. come first here, then the others */
} tile_pieces;

/* Returns false if a group does not hold whole pieces of these extents, or holds an element twice.
 */
bool tile_pieces_cut(const tile_layout *tile, const uint32_t *extents, tile_pieces *pieces);
/* The register of the tile for this register of a piece. */
uint32_t tile_pieces_register(const tile_pieces *pieces, const tile_layout *tile, uint32_t piece,
                              uint32_t register_);
/* A layout of these dims that can be split into pieces of these extents, if there is one. */
tile_layout tile_pieces_layout(const uint32_t *dims, const uint32_t *extents, unsigned rank,
                               unsigned num_warps);

#endif
