/* Divergence analysis: which values may differ between the threads that execute together. These are
 * the threads of a block, or of one group of a role. */
#ifndef TILE_LIB_ANALYSIS_UNIFORM_H
#define TILE_LIB_ANALYSIS_UNIFORM_H

#include "lib/ir/function.h"

/* By value id: true if two threads may have different values. Uniform values are arguments,
 * constants, block_id and what is computed from them. A load is uniform if all threads load from
 * the same address and nothing in the kernel may write there. thread_id and other loads are
 * divergent. */
bool *tile_divergent_values(tile_function *f, tile_arena *arena);
/* The same for the threads of all groups of a role, whose group numbers differ, too. */
bool *tile_group_varying_values(tile_function *f, tile_arena *arena);
/* The same for the blocks of a cluster: true if two blocks that differ only along dim may have
 * different values. `blocks` is the extent of the cluster along dim. Only for values that are
 * uniform in a block. */
bool *tile_cluster_varying_values(tile_function *f, unsigned dim, int64_t blocks,
                                  tile_arena *arena);

/* The origin of a divergent value: the operation that gives threads different values, or the
 * operation with regions that threads leave separately. */
tile_op tile_divergence_source(const tile_function *f, const bool *divergent, tile_value value);

/* The innermost operation around op with regions that threads may enter or leave separately; 0:
 * none. */
tile_op tile_divergent_control(const tile_function *f, const bool *divergent, tile_op op);

#endif
