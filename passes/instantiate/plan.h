/* What instantiating a plan does beside binding its own parameters: it makes the kernels that its
 * launches name with `<..>`. */
#ifndef TILE_PASSES_INSTANTIATE_PLAN_H
#define TILE_PASSES_INSTANTIATE_PLAN_H

#include "lib/ir/function.h"
#include "tile/compile.h"

/* Gives each launch of a plan whose values are constants a kernel without parameters: one copy in
 * the module for each set of values, named after plan and kernel. TILE_INVALID after a diagnostic.
 * Other functions are left as they are. What a launch leaves open of a kernel's space is its first
 * point that fits the target; target: NULL: its first point. */
tile_status tile_instantiate_launches(tile_function *plan, const tile_target *target,
                                      tile_arena *arena);

/* A plan of the module that launches this kernel and has not been instantiated; NULL if there is
 * none. */
tile_function *tile_find_launching_plan(const tile_function *kernel);
/* True if tile_instantiate_launches has made a copy of it. */
bool tile_has_instances(const tile_function *kernel);

#endif
