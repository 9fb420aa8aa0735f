/* Maps a tile's number in a raster order to its coordinates in the grid. */
#ifndef TILE_PASSES_GRID_RASTER_H
#define TILE_PASSES_GRID_RASTER_H

#include "passes/pass.h"

/* A divisor and its reciprocal for division by multiplication; reciprocal 0: a plain division. */
typedef struct raster_divisor {
    tile_value value, reciprocal;
} raster_divisor;

/* before_loop: the divisor is used in a loop, and b is placed before that loop, so the reciprocal
 * is computed once. */
raster_divisor raster_divide_by(tile_builder *b, tile_value value, bool before_loop);
/* Builds n / d for n >= 0, d >= 1. */
tile_value raster_quotient(tile_builder *b, tile_value n, const raster_divisor *d);

typedef struct raster_order {
    tile_raster raster;
    int64_t group;
    tile_value extent[2];
    raster_divisor slow; /* the extent that tile numbers are divided by first */
    raster_divisor last; /* rows or columns of the incomplete last group, or 1 */
} raster_order;

/* Plans an order of extent[0] x extent[1] tiles (i32, each at least 1; the product fits an i32).
 * group: rows or columns of a group, 1 to TILE_MAX_RASTER_GROUP. before_loop: as above. */
raster_order raster_plan(tile_builder *b, tile_raster raster, int64_t group,
                         const tile_value extent[2], bool before_loop);

/* Builds the x and y of tile `number`, 0 <= number < number of tiles. The map is one to one. */
void raster_tile(tile_builder *b, const raster_order *order, tile_value number, tile_value xy[2]);

#endif
