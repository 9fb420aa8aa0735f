/* Plans of the kernels of a compute. */
#ifndef TILE_PASSES_SCHEDULE_PLAN_H
#define TILE_PASSES_SCHEDULE_PLAN_H

#include "passes/schedule/sections/sections.h"

/* plan.c */

/* References the compute, for a kernel or plan with its interface. */
void sched_set_reference(schedule *s, tile_function *f);
/* The kernels are those of s->groups. sections: where they are launched; NULL: one after the
 * other. */
const tile_function *sched_make_plan(schedule *s, const sched_sections *sections);
/* Builds an expression over arguments of the plan. */
tile_value sched_plan_number(tile_builder *b, const tile_expr *expr);
/* Creates the scratch that kernels of `s` pass to each other. arrays: by array. */
void sched_make_scratch(schedule *s, tile_builder *b, tile_value *arrays);
/* Launches the kernel of a group of s->groups. */
void sched_launch(schedule *s, tile_builder *b, size_t group, const tile_value *arguments);

/* steps.c: launches the kernels of all sections, in loops. arrays: the plan's views, by array. */
void sched_launch_sections(schedule *s, tile_builder *b, const tile_value *arrays,
                           const sched_sections *sections);

#endif
