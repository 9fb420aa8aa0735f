/* What the operations on shapes and coordinates say, for whoever computes or lowers them. */
#ifndef TILE_LIB_OPS_SHAPE_H
#define TILE_LIB_OPS_SHAPE_H

#include "lib/ops/dims.h"

/* Extents that are numbers, as layouts take them. */
void tile_type_dims(const tile_type *type, uint32_t dims[TILE_MAX_RANK]);

/* Whether a tile or tensor of these extents becomes one of those by broadcast: from the last dim
 * on, its extents are the same or 1. */
bool tile_type_stretches(const tile_type *from, const tile_type *to);
/* The layout of a broadcast's operand whose result has this one: what a thread repeats it holds. */
tile_layout tile_broadcast_layout(const tile_type *from, const tile_layout *to);
/* The layout of index tiles that give the first dims of a tile of this layout: each thread holds
 * the points of its elements. With `whole` it has an extent of 1 for each of the tile's other dims,
 * as tile_layout_narrow_register takes it. */
tile_layout tile_points_layout(const tile_type *points, const tile_layout *tile, bool whole);
/* What splats and broadcasts, also several in a row, make the value of: a scalar or a tile; the
 * value itself if none does. */
tile_value tile_repeated_value(const tile_function *f, tile_value value);

/* An iota's elements are start + step * their coordinate along the axis, in i64 that wraps,
 * converted to the element type: cut to an integer's bits, or rounded to a float. */
typedef struct tile_iota {
    unsigned axis;
    int64_t start, step;
} tile_iota;

/* False while a parameter has no value yet, or the axis is not one of the result's dims. */
bool tile_iota_of(const tile_function *f, tile_op op, tile_iota *iota);
/* Writes one element of the type. */
void tile_iota_write(const tile_iota *iota, int64_t coordinate, tile_scalar scalar, void *at);

#endif
