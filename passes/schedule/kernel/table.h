/* Integers of tensors that are known when a compute is scheduled: indices and masks (table.c). */
#ifndef TILE_PASSES_SCHEDULE_KERNEL_TABLE_H
#define TILE_PASSES_SCHEDULE_KERNEL_TABLE_H

#include "passes/schedule/kernel/schedule.h"

/* Elements of a tensor. Along a dim with stride 0 all of them are equal. */
typedef struct sched_table {
    unsigned rank;
    int64_t extents[TILE_MAX_RANK], strides[TILE_MAX_RANK];
    const int32_t *at;
} sched_table;

/* Zero-initialized except for s: nothing is computed yet. */
typedef struct sched_tables {
    schedule *s;
    unsigned char *found;        /* by value */
    const sched_table **results; /* by value; NULL: not known */
} sched_tables;

/* The elements of an integer tensor that depends on no argument; NULL if they are not known, or if
 * there are more than SCHED_MOST_IN_TABLE different positions. */
enum { SCHED_MOST_IN_TABLE = 1 << 22 };
const sched_table *sched_find_table(sched_tables *all, tile_value value);
/* The elements along one dim, of which there are extents[dim]; NULL if they depend on another dim,
 * too. */
const int32_t *sched_table_along(sched_tables *all, tile_value value, unsigned dim);

#endif
