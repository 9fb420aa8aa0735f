/* Which values may differ between the threads that execute together: those of a block, or of one
 * group of a role. */
#ifndef TILE_LIB_ANALYSIS_UNIFORM_H
#define TILE_LIB_ANALYSIS_UNIFORM_H

#include "lib/ir/function.h"

/* By value id: true if two threads may have different values. Arguments, constants, block_id and
 * what is computed from them are uniform, and what all threads load from one place that nothing
 * in the kernel may write; thread_id and what a thread loads for itself are not. */
bool *tile_divergent_values(tile_function *f, tile_arena *arena);
/* The same, between the threads of all groups of a role: their numbers differ, too. */
bool *tile_group_varying_values(tile_function *f, tile_arena *arena);
/* The same, of what is one value for a block, between the blocks of a cluster that differ along dim
 * alone, where it has so many: true where two of them may have different ones. */
bool *tile_cluster_varying_values(tile_function *f, unsigned dim, int64_t blocks,
                                  tile_arena *arena);

/* Where a divergent value becomes so: the operation that gives each thread its own, or the one with
 * regions that threads leave separately. */
tile_op tile_divergence_source(const tile_function *f, const bool *divergent, tile_value value);

/* The innermost operation with regions around op that threads may leave or enter separately; 0:
 * there is none. */
tile_op tile_divergent_control(const tile_function *f, const bool *divergent, tile_op op);

#endif
