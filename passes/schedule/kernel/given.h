/* What attributes of operations fix of the kernels that they become. */
#ifndef TILE_PASSES_SCHEDULE_KERNEL_GIVEN_H
#define TILE_PASSES_SCHEDULE_KERNEL_GIVEN_H

#include "passes/schedule/kernel/schedule.h"

enum { SCHED_MAX_FIXED = 8 };

/* Parameters of a kernel that have one value. */
typedef struct sched_fixed {
    struct {
        tile_attr_id user_attr; /* the attribute */
        const char *name;       /* the parameter */
        const tile_expr *value; /* a number, or a word */
    } at[SCHED_MAX_FIXED];
    unsigned count;
} sched_fixed;

void sched_fix(sched_fixed *fixed, tile_attr_id user_attr, const char *name,
               const tile_expr *value);
/* NULL: it is open. */
const tile_expr *sched_find_fixed(const sched_fixed *fixed, const char *name);
/* Adds what the operation says of stages, warps, split and strategy. */
void sched_fix_attrs(schedule *s, tile_op op, sched_fixed *fixed);
/* Adds what another operation of the same kernel says; `kind` is what the message calls it. */
void sched_merge_fixed(schedule *s, tile_op op, const char *kind, const sched_fixed *own,
                       sched_fixed *all);
/* What it says of the order of the kernel's tiles. */
void sched_set_raster(schedule *s, tile_op op, tile_function *kernel);
/* Whether points of the space have all of that. */
bool sched_has_point(schedule *s, const tile_function *space, const sched_fixed *fixed);
/* Leaves the kernel's points that have it, or gives it to them; parts also to a kernel that has no
 * parameters for them. */
void sched_fix_points(schedule *s, tile_function *kernel, const sched_fixed *fixed);

#endif
