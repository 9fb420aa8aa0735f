/* Kernels that take several launches: which ones they are, and the plan that they become. */
#ifndef TILE_PASSES_SPLIT_STEPS_H
#define TILE_PASSES_SPLIT_STEPS_H

#include "passes/pass.h"

/* Of an instantiated function: whether it is a plan, or split-k makes one of it. */
bool tile_takes_steps(const tile_function *f);

/* The kernel that an operation of a plan launches; NULL if it launches none. */
tile_function *tile_launched_kernel(const tile_function *plan, tile_op op);

/* The kernel whose reduction loop is the one that bindings split: itself, or the only one with such
 * a loop of those that a plan launches, and then one of its launches. NULL if there is none, or
 * *count are. */
tile_function *tile_split_owner(const tile_function *f, tile_op *launch, unsigned *count);

/* Runs split-k on the kernel, if it takes steps, or on those kernels of the plan that do: what is
 * left is a plan, under the same name, whose launches are of kernels with one step each. A status
 * other than TILE_OK comes after a diagnostic. */
tile_status tile_make_steps(tile_module *module, const char *name, const tile_target *target);

/* Puts the steps of `plan`, which was a kernel, in the place of the launches of that kernel in all
 * plans of its module that have been instantiated. */
void tile_inline_steps(tile_function *plan, tile_arena *scratch);

#endif
