/* Kernels that take several launches, beside what passes/passes.h has of them. */
#ifndef TILE_PASSES_SPLIT_STEPS_H
#define TILE_PASSES_SPLIT_STEPS_H

#include "passes/passes.h"

/* The kernel that an operation of a plan launches; NULL if it launches none. */
tile_function *tile_launched_kernel(const tile_function *plan, tile_op op);

/* Puts the steps of `plan`, which was a kernel, in place of the launches of that kernel in all
 * plans of its module that have been instantiated. */
void tile_inline_steps(tile_function *plan, tile_arena *scratch);

#endif
