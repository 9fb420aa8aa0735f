/* Which parameters of a plan can be chosen without the others. */
#ifndef TILE_RUNTIME_MODEL_GROUPS_H
#define TILE_RUNTIME_MODEL_GROUPS_H

#include "lib/ir/function.h"

/* By parameter of the plan, in the arena: the first parameter of its group. Two parameters are in
 * one group if a clause of `tune` names both, or if a launch passes both to its kernel.
 * independent: also if the points of one depend on the other one (`where`, numbers of `tune`,
 * defaults), or if a kernel's arguments or launches depend on both, as through the extents of
 * scratch. Points of different groups can then be measured one after another. */
size_t *tune_group_params(const tile_function *plan, bool independent, tile_arena *arena);

#endif
