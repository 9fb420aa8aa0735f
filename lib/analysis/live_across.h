/* Bytes of product tiles that are live across other operations. */
#ifndef TILE_LIB_ANALYSIS_LIVE_ACROSS_H
#define TILE_LIB_ANALYSIS_LIVE_ACROSS_H

#include "lib/ir/function.h"

/* By operation: bytes of the tiles that are defined before it and used after it, summed over all
 * threads, each element counted once. Only values that loops and branches carry, results of dots,
 * and elementwise functions of these count. Loaded values do not count, because the load can be
 * delayed. Operands whose last use is this operation, and its results, do not count either. */
int64_t *tile_live_across_bytes(tile_function *f, tile_arena *arena);

#endif
