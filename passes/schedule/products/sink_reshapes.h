/* Reshapes of products follow element-wise operations (sink_reshapes.c). */
#ifndef TILE_PASSES_SCHEDULE_PRODUCTS_SINK_RESHAPES_H
#define TILE_PASSES_SCHEDULE_PRODUCTS_SINK_RESHAPES_H

#include "passes/schedule/kernel/schedule.h"

/* Replaces a reshape of a reshape by the first value or by one reshape. The schedule's compute must
 * be a copy. */
void sched_fold_reshapes(schedule *s);
/* Computes element-wise operations on reshaped slices of products before the reshape. The
 * schedule's compute is a copy afterwards if anything changed. */
void sched_sink_reshapes(schedule *s);

#endif
