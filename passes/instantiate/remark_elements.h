/* What a kernel most likely does not mean: a tile's load without the tile's extents. */
#ifndef TILE_PASSES_INSTANTIATE_REMARK_ELEMENTS_H
#define TILE_PASSES_INSTANTIATE_REMARK_ELEMENTS_H

#include "passes/pass.h"

/* A remark at each load of one element that is stored at a block's coordinates and used nowhere
 * else. Parameters are bound. */
void remark_stored_elements(tile_function *f, tile_arena *scratch);

#endif
