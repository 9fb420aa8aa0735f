/* What threads hold of products while others run. */
#ifndef TILE_LIB_ANALYSIS_LIVE_ACROSS_H
#define TILE_LIB_ANALYSIS_LIVE_ACROSS_H

#include "lib/ir/function.h"

/* By operation: bytes of the tiles that are wanted behind it and were there before it: what loops
 * and branches carry, what dots give, and what is computed of these element by element. Its own
 * operands that nobody wants any more, and its results, are none of them; nor is what is loaded,
 * which can wait. All threads together; a tile counts as often as each element is held once. */
int64_t *tile_live_across_bytes(tile_function *f, tile_arena *arena);

#endif
