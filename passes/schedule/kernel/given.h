/* Kernel parameters that attributes of operations fix. */
#ifndef TILE_PASSES_SCHEDULE_KERNEL_GIVEN_H
#define TILE_PASSES_SCHEDULE_KERNEL_GIVEN_H

#include "passes/schedule/kernel/schedule.h"

enum { SCHED_MAX_FIXED = 8 };

/* Parameters of a kernel that have a fixed value. */
typedef struct sched_fixed {
    struct {
        tile_attr_id attr;      /* the attribute */
        const char *name;       /* the parameter */
        const tile_expr *value; /* a number or a word */
    } at[SCHED_MAX_FIXED];
    unsigned count;
} sched_fixed;

void sched_fix(sched_fixed *fixed, tile_attr_id attr, const char *name, const tile_expr *value);
/* Returns the fixed value; NULL if the parameter is not fixed. */
const tile_expr *sched_find_fixed(const sched_fixed *fixed, const char *name);
/* Adds the stages, warps, split and strategy that the operation's attributes fix. */
void sched_fix_attrs(schedule *s, tile_op op, sched_fixed *fixed);
/* Adds those of another operation of the same kernel. kind: its name in the diagnostic for a
 * conflict. */
void sched_merge_fixed(schedule *s, tile_op op, const char *kind, const sched_fixed *own,
                       sched_fixed *all);
/* Sets the raster order of the kernel's tiles from the operation's attribute. */
void sched_set_raster(schedule *s, tile_op op, tile_function *kernel);
/* Returns whether a point of the space agrees with all fixed values. */
bool sched_has_point(schedule *s, const tile_function *space, const sched_fixed *fixed);
/* Keeps the kernel's points that agree with the fixed values, or sets the values in all points.
 * Adds parameters for parts to a kernel that has none. */
void sched_fix_points(schedule *s, tile_function *kernel, const sched_fixed *fixed);

#endif
