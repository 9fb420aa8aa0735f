/* Loads of shared buffers that a dot can read in place. */
#ifndef TILE_PASSES_WARPS_UNDISTURBED_H
#define TILE_PASSES_WARPS_UNDISTURBED_H

#include "lib/ir/function.h"

/* Whether the dot is in the region of the load, and nothing between the two can change what was
 * read of the buffer. */
bool undisturbed_load(const tile_function *f, tile_op load, tile_value buffer, tile_op dot);

#endif
