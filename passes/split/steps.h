/* Kernels that become several launches: additions to passes/passes.h. */
#ifndef TILE_PASSES_SPLIT_STEPS_H
#define TILE_PASSES_SPLIT_STEPS_H

#include "passes/passes.h"

/* The kernel that an operation of a plan launches; NULL if it launches none. */
tile_function *tile_launched_kernel(const tile_function *plan, tile_op op);

/* Replaces the launches of the kernel that became `plan` by the plan's steps, in all instantiated
 * plans of its module. Returns TILE_INVALID after a diagnostic. */
tile_status tile_inline_steps(tile_function *plan, tile_arena *scratch);

#endif
