/* Slices of operands and results of products, moved to where a product reads or skips them
 * (slices.c). */
#ifndef TILE_PASSES_SCHEDULE_PRODUCTS_SLICES_H
#define TILE_PASSES_SCHEDULE_PRODUCTS_SLICES_H

#include "passes/schedule/kernel/schedule.h"

/* Moves slices before reshapes and products, and transposes before products. The schedule's compute
 * is a copy afterwards if anything changed. */
void sched_move_slices(schedule *s);

#endif
