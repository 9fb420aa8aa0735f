/* Estimates the run time of a plan from the text of its kernels. */
#ifndef TILE_RUNTIME_MODEL_PLAN_MODEL_H
#define TILE_RUNTIME_MODEL_PLAN_MODEL_H

#include "runtime/model/model.h"

/* The model of a plan at these sizes (an integer for each argument). It is allocated in the arena,
 * and uses the plan and the sizes as long as it lives. packing: of its kernels' arguments (the
 * value of TILE_PACK_ARGUMENTS); NULL: none. */
typedef struct tune_plan_model tune_plan_model;
tune_plan_model *tune_plan_model_create(const tile_device *device, const tile_function *plan,
                                        const int64_t *sizes, const char *packing,
                                        tile_arena *arena);
/* Ends the use of the model; what it copied of the plan's module is destroyed. */
void tune_plan_model_close(tune_plan_model *model);

/* The packings of its kernels' arguments that the sizes suggest at this point of the plan,
 * "KERNEL.ARGUMENT+KERNEL.ARGUMENT" of one kernel each, in the arena. Returns their number. */
enum { TUNE_MAX_PLAN_PACKINGS = 16 };
unsigned tune_find_plan_packings(const tile_device *device, const tile_bound_params *point,
                                 const int64_t *sizes, tile_arena *arena,
                                 const char *packings[TUNE_MAX_PLAN_PACKINGS]);

/* The estimated seconds of all launches, those of a loop as often as it runs, with sizes of its
 * middle iteration. Of an `if` the region counts that runs at this point and for these sizes; both
 * count if the condition has no value. point: NULL for a plan without parameters. *why as in
 * tune_model_estimate. */
double tune_plan_estimate(tune_plan_model *model, const tile_bound_params *point, const char **why);

/* Whether the two parameters are values for one kernel, so that the time depends on both of them
 * together. */
bool tune_plan_joins(const tile_function *plan, const char *a, const char *b);

#endif
