/* Orders in which the tiles of a grid are visited: from a number in that order to coordinates. */
#ifndef TILE_PASSES_TILE_RASTER_H
#define TILE_PASSES_TILE_RASTER_H

#include "passes/pass.h"

/* Builds the x and y of tile `number` of extent[0] x extent[1] (i32, at least 1 each, the product
 * fits an i32, 0 <= number < product). Each pair appears for exactly one number. group: rows or
 * columns of a group, 1 to TILE_MAX_RASTER_GROUP. */
void raster_tile(tile_builder *b, tile_raster raster, int64_t group, tile_value number,
                 const tile_value extent[2], tile_value xy[2]);

#endif
