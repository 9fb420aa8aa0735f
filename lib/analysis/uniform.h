/* Which values may differ between the threads of a block. */
#ifndef TILE_LIB_ANALYSIS_UNIFORM_H
#define TILE_LIB_ANALYSIS_UNIFORM_H

#include "lib/ir/function.h"

/* By value id: true if two threads may have different values. Arguments, constants, block_id and
 * what is computed from them are uniform; thread_id and what a thread loads for itself are not. */
bool *tile_divergent_values(tile_function *f, tile_arena *arena);

/* The innermost operation with regions around op that threads may leave or enter separately; 0:
 * there is none. */
tile_op tile_divergent_control(const tile_function *f, const bool *divergent, tile_op op);

#endif
