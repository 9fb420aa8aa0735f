/* The factors of an operand of a product, and how their elements lie in it (factors.c). */
#ifndef TILE_PASSES_SCHEDULE_KERNEL_FACTORS_H
#define TILE_PASSES_SCHEDULE_KERNEL_FACTORS_H

#include "passes/schedule/kernel/schedule.h"

enum { SCHED_MAX_FACTORS = 5 };

/* A value, and the coordinates of its elements in the dims of the analysis. */
typedef struct sched_factor {
    tile_value value;
    sched_map map;
} sched_factor;

typedef struct sched_factors {
    sched_factor items[SCHED_MAX_FACTORS];
    unsigned count;
    bool too_many;
    bool halves; /* set by the caller: products of 16-bit floats are taken apart, too */
} sched_factors;

/* Goes to the operand of an operation that only moves elements. False if there is none. */
bool sched_follow_moves(schedule *s, sched_factor *at);
/* Collects what is multiplied to the value. */
void sched_collect_factors(schedule *s, sched_factors *all, tile_value value, const sched_map *map);
/* Erases operations of the schedule's compute whose results have no use. kept: by value, as if it
 * had one. */
void sched_erase_unused(schedule *s, const bool *kept);

#endif
