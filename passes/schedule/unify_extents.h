/* Gives equal extents of a compute one spelling. */
#ifndef TILE_PASSES_SCHEDULE_UNIFY_EXTENTS_H
#define TILE_PASSES_SCHEDULE_UNIFY_EXTENTS_H

#include "lib/ir/function.h"

void sched_unify_extents(tile_arena *arena, tile_function *f);

#endif
