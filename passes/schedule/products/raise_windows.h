/* Products of windows become convolutions (raise_windows.c). */
#ifndef TILE_PASSES_SCHEDULE_PRODUCTS_RAISE_WINDOWS_H
#define TILE_PASSES_SCHEDULE_PRODUCTS_RAISE_WINDOWS_H

#include "passes/schedule/kernel/schedule.h"

/* Replaces them, and expands the convolutions in the form that reads least. The schedule's compute
 * is a copy afterwards if anything changed. False after a diagnostic. */
bool sched_raise_windows(schedule *s);

#endif
