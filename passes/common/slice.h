/* Slices of a tile along one of its dims, computed instead of the whole tile. */
#ifndef TILE_PASSES_COMMON_SLICE_H
#define TILE_PASSES_COMMON_SLICE_H

#include "lib/ops/shape.h"
#include "passes/pass.h"

/* The type of one of `count` equal slices, without a layout. */
const tile_type *slice_type(tile_context *context, const tile_type *type, unsigned dim,
                            int64_t count);

/* Adds `first` to the coordinate along dim of a memory operand. place: the operand's row in the
 * table of operations; rank: the number of dims of the tile. */
void slice_move(tile_function *f, tile_op op, unsigned place, unsigned rank, unsigned dim,
                tile_value first);

/* Clones an iota with another type. */
tile_value slice_iota(tile_builder *b, tile_op iota, const tile_type *to);

/* Builds a slice of an iota, of type `to`, that begins at element first * unit of its axis. The
 * offset of its first number is computed at `early`. Returns 0 if op is not an iota. */
tile_value slice_numbers(tile_builder *early, tile_builder *b, tile_op op, const tile_type *to,
                         tile_value first, int64_t unit);

#endif
