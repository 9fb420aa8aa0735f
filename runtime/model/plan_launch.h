/* What a plan passes to its kernels, before it is instantiated. */
#ifndef TILE_RUNTIME_MODEL_PLAN_LAUNCH_H
#define TILE_RUNTIME_MODEL_PLAN_LAUNCH_H

#include "passes/passes.h"

/* A plan at a point, for the sizes of a launch (an integer for each argument). It must not move. */
typedef struct tune_plan_values {
    const tile_function *f;
    const int64_t *sizes;
    const tile_bound_params *point; /* NULL: a plan without parameters */
    int64_t loops[TILE_MAX_PLAN_LOOPS];
    tile_bindings bindings;
    tile_arena *arena;
} tune_plan_values;

void tune_plan_values_open(tune_plan_values *values, const tile_function *plan,
                           const int64_t *sizes, unsigned num_sms, tile_arena *arena);
/* The kernel that the launch passes its arguments to, with its parameters. False if they have no
 * values. */
bool tune_plan_bind_kernel(const tune_plan_values *values, tile_op launch,
                           tile_bound_params *bound);
/* The integers that the launch passes, in the array; 0 for others. False if one has no value. */
bool tune_plan_read_sizes(const tune_plan_values *values, tile_op launch, int64_t *sizes);
/* The condition of an `if`; false if it has no value. */
bool tune_plan_read_condition(const tune_plan_values *values, tile_op branch, bool *holds);
/* The begin, end and step of a loop; false if one has no value. */
bool tune_plan_read_bounds(const tune_plan_values *values, tile_op loop, int64_t bounds[3]);

/* Returns whether some kernel in a loop of the plan has a `where`. */
bool tune_plan_has_loop_wheres(const tile_function *plan);
/* Returns whether each `where` of these kernels is true in all iterations, for the point's sizes,
 * which must be known. Launches after the first 65536 are not checked, nor those that depend on
 * num_sms if it is 0. *why: NULL, or which one is false, in the arena. Nothing is reported. */
bool tune_plan_allows(const tile_bound_params *point, unsigned num_sms, tile_arena *arena,
                      const char **why);

#endif
