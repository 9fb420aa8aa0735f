/* Products and reductions whose results are moved before they are stored: see moved.c. */
#ifndef TILE_PASSES_SCHEDULE_CUT_MOVED_H
#define TILE_PASSES_SCHEDULE_CUT_MOVED_H

#include "passes/schedule/cut/online.h"

/* A group for a product or reduction from which the value's elements are computed one by one, and
 * moved by reshapes and transposes. *map: the value's dims in the group's domain. */
bool sched_take_moved(schedule *s, sched_group *g, tile_value value, bool online, sched_map *map);
/* A value that is computed element by element from one that a group stores, moved by reshapes and
 * transposes: the group stores it as well. */
bool sched_take_beside(schedule *s, sched_group *g, tile_value value, sched_map *map);

#endif
