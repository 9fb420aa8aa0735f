/* The semantics of operations on shapes and coordinates, for code that computes or lowers them. */
#ifndef TILE_LIB_OPS_SHAPE_H
#define TILE_LIB_OPS_SHAPE_H

#include "lib/ops/dims.h"

/* Constant extents, as layouts take them. */
void tile_type_dims(const tile_type *type, uint32_t dims[TILE_MAX_RANK]);

/* Returns whether a tile or tensor with these extents can be broadcast to those: aligned at the
 * last dim, its extents are equal or 1. */
bool tile_type_stretches(tile_context *context, const tile_type *from, const tile_type *to);
/* The layout of a broadcast's operand, from the result's layout: each thread holds the elements
 * that it repeats. */
tile_layout tile_broadcast_layout(const tile_type *from, const tile_layout *to);
/* The layout of index tiles that address the first dims of a tile with this layout: each thread
 * holds the points of its elements. whole: with an extent of 1 for each of the tile's other dims,
 * as tile_layout_narrow_register requires. */
tile_layout tile_points_layout(const tile_type *points, const tile_layout *tile, bool whole);
/* The source of a value through splats and broadcasts, also several in a row: a scalar or a tile;
 * the value itself if there are none. */
tile_value tile_repeated_value(const tile_function *f, tile_value value);

/* The elements of an iota are start + step * coordinate along the axis, computed in i64 with
 * wrapping, then converted to the element type: truncated to an integer's bits, or rounded to a
 * float. */
typedef struct tile_iota {
    unsigned axis;
    int64_t start, step;
} tile_iota;

/* Returns false while a parameter has no value yet, or if the axis is not a dim of the result. */
bool tile_iota_of(const tile_function *f, tile_op op, tile_iota *iota);
/* Writes one element of the type. */
void tile_iota_write(const tile_iota *iota, int64_t coordinate, tile_scalar scalar, void *at);

#endif
