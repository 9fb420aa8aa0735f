/* Instantiation of a plan's kernels: creates the kernels that its launches name with `<..>`. */
#ifndef TILE_PASSES_INSTANTIATE_PLAN_H
#define TILE_PASSES_INSTANTIATE_PLAN_H

#include "lib/ir/function.h"
#include "tile/compile.h"

/* Gives each launch with constant values a kernel without parameters: one copy in the module for
 * each set of values, named after plan and kernel. Parameters that a launch leaves open get the
 * first point of `tune` that fits the target (target NULL: the first point). Functions other than
 * plans are not changed. Returns TILE_INVALID after a diagnostic. */
tile_status tile_instantiate_launches(tile_function *plan, const tile_target *target,
                                      tile_arena *arena);

/* A plan of the module that launches this kernel and is not instantiated yet, or NULL. */
tile_function *tile_find_launching_plan(const tile_function *kernel);
/* True if tile_instantiate_launches has copied the kernel. */
bool tile_has_instances(const tile_function *kernel);

#endif
