/* The order in which products of windows add up: see order.c. */
#ifndef TILE_PASSES_SCHEDULE_PRODUCTS_ORDER_H
#define TILE_PASSES_SCHEDULE_PRODUCTS_ORDER_H

#include "passes/schedule/kernel/schedule.h"

/* Reorders the summed dims of products of windows. The schedule's compute is a copy afterwards if
 * anything changed. */
void sched_order_sums(schedule *s);

#endif
