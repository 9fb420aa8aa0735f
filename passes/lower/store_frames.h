/* The shapes in which fused operations see the pieces of a stored tile: see store_frames.c. */
#ifndef TILE_PASSES_LOWER_STORE_FRAMES_H
#define TILE_PASSES_LOWER_STORE_FRAMES_H

#include "lib/layout/pieces.h"
#include "passes/lower/lower.h"

/* A shape in which operations of a fused computation see the stored tile. A reshape renames the
 * elements of each piece: [64, 64] of a tile, and [64, 2, 32] of the same tile with groups of 32
 * columns. All frames have the same registers in a piece. */
struct lower_frame {
    tile_layout whole; /* of the tile */
    tile_pieces pieces;
};

/* The frame of the operand of a reshape whose result has the frame `to`. False if the reshape does
 * not rename the elements of each piece. */
bool lower_find_frame(const lower_frame *to, const tile_type *operand, lower_frame *from);
/* Returns whether a piece has whole rows, and the threads of its warps combine them without shared
 * memory. */
bool lower_reduces_pieces(const tile_function *f, tile_op reduce, const lower_frame *frame);
/* Coordinates in `from` of the element at these coordinates in `to`, where a piece begins. */
void lower_move_ahead(lowering *l, const lower_frame *to, const tile_value *ahead,
                      const lower_frame *from, tile_value *moved);

#endif
