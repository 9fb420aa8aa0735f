/* The attributes of `convolve` as numbers, for code that checks, computes or lowers it.
 * Threads: any. */
#ifndef TILE_LIB_OPS_CONVOLUTION_H
#define TILE_LIB_OPS_CONVOLUTION_H

#include "lib/ir/function.h"

enum { TILE_MAX_SPATIAL = 3 };

/* Positions of the letters of `dims` in one array. */
typedef struct tile_convolution_order {
    unsigned outer;   /* n of lhs and of the result; c of rhs */
    unsigned channel; /* c of lhs; k of rhs and of the result */
    unsigned spatial[TILE_MAX_SPATIAL];
} tile_convolution_order;

/* A convolution. Lists are by spatial dim. */
typedef struct tile_convolution {
    unsigned spatial; /* how many dims are spatial */
    tile_convolution_order lhs, rhs, result;
    int64_t strides[TILE_MAX_SPATIAL], dilations[TILE_MAX_SPATIAL],
        input_dilations[TILE_MAX_SPATIAL];
    int64_t pads[TILE_MAX_SPATIAL][2]; /* before the first element, after the last one */
    bool reversed[TILE_MAX_SPATIAL];
    const tile_expr *groups, *batch_groups; /* NULL: 1 */
} tile_convolution;

/* Reads the attributes of an operation. Returns NULL, or what is wrong with them, in the arena. */
const char *tile_convolution_read(const tile_attr *attrs, unsigned count, tile_arena *arena,
                                  tile_convolution *convolution);
/* Reads those of a verified operation. */
tile_convolution tile_convolution_of(const tile_function *f, tile_op op);

/* The number of windows along spatial dim `i` of arrays with these extents: 0 if the filter does
 * not fit. An expression of them. */
const tile_expr *tile_convolution_extent(tile_context *context, const tile_convolution *convolution,
                                         unsigned i, const tile_expr *input,
                                         const tile_expr *filter);

#endif
