/* A part of a tile along one of its dims, in place of the whole. */
#ifndef TILE_PASSES_COMMON_SLICE_H
#define TILE_PASSES_COMMON_SLICE_H

#include "lib/ops/shape.h"
#include "passes/pass.h"

/* The type of one of `count` parts, in no layout. */
const tile_type *slice_type(tile_context *context, const tile_type *type, unsigned dim,
                            int64_t count);

/* The place in memory that the row's operand `place` is begins `first` elements further on along
 * dim, of a tile of `rank` dims. */
void slice_move(tile_function *f, tile_op op, unsigned place, unsigned rank, unsigned dim,
                tile_value first);

/* The same numbers of another type. */
tile_value slice_iota(tile_builder *b, tile_op iota, const tile_type *to);

/* What a part of the iota has, of the type `to`, which begins at the element first * unit of its
 * axis. What comes before the part is computed at `early`. */
tile_value slice_numbers(tile_builder *early, tile_builder *b, tile_op op, const tile_type *to,
                         tile_value first, int64_t unit);

#endif
