/* Windows of an array with contiguous channels as a view: the operation `im2col` at level 2, and
 * tensor maps in im2col mode at level 3. Threads: any. */
#ifndef TILE_LIB_OPS_IM2COL_H
#define TILE_LIB_OPS_IM2COL_H

#include "lib/ir/function.h"
#include "lib/ops/convolution.h"

/* The dims of the view. */
enum { TILE_IM2COL_POSITION, TILE_IM2COL_PLACE, TILE_IM2COL_CHANNEL, TILE_IM2COL_RANK };

/* The attributes of `im2col` and `tensor_map`. Lists are by spatial dim. */
typedef struct tile_im2col {
    unsigned spatial;                 /* 0: no windows */
    int64_t filter[TILE_MAX_SPATIAL]; /* positions */
    int64_t strides[TILE_MAX_SPATIAL], dilations[TILE_MAX_SPATIAL];
    int64_t pads[TILE_MAX_SPATIAL][2]; /* before the first element, after the last one */
} tile_im2col;

/* Reads the attributes for this number of spatial dims. Returns NULL, or what is wrong with them,
 * in the arena. */
const char *tile_im2col_read(const tile_attr *attrs, unsigned count, unsigned spatial,
                             tile_arena *arena, tile_im2col *out);
/* Reads those of a verified operation; spatial is 0 if it has no `filter`. */
tile_im2col tile_im2col_of(const tile_function *f, tile_op op);
/* The operation that makes the view, or no operation if it is not made by `im2col`. */
tile_op tile_im2col_maker(const tile_function *f, tile_value view);

/* The number of positions of the filter. */
int64_t tile_im2col_positions(const tile_im2col *windows);
/* The number of places along spatial dim i of an array with this extent; less than 1: none. */
int64_t tile_im2col_places(const tile_im2col *windows, unsigned i, int64_t extent);
/* The constant c of which the places are (extent + c) / stride + 1. */
int64_t tile_im2col_slack(const tile_im2col *windows, unsigned i);
/* The corners of the bounding box of the window's first elements, relative to the array's corners,
 * as cuTensorMapEncodeIm2col takes them. */
int64_t tile_im2col_lower(const tile_im2col *windows, unsigned i);
int64_t tile_im2col_upper(const tile_im2col *windows, unsigned i);

#endif
