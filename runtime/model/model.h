/* Estimates the run time of a candidate before any code is generated for it (see model.c). */
#ifndef TILE_RUNTIME_MODEL_MODEL_H
#define TILE_RUNTIME_MODEL_MODEL_H

#include "passes/passes.h"
#include "runtime/device/device.h"
#include "runtime/model/space.h"
#include "tile/split.h"

/* The model of a kernel (not a plan) at these sizes (an integer for each argument). It is allocated
 * in the arena, and uses the function and the sizes as long as it lives. */
typedef struct tune_model tune_model;
tune_model *tune_model_create(const tile_device *device, const tile_function *kernel,
                              const int64_t *sizes, tile_arena *arena);

/* From now on, *why of an estimate is any text if the point cannot fit. */
void tune_model_omit_reasons(tune_model *model);

/* The estimated seconds at a point; nothing is instantiated. split: NULL for the split of the
 * kernel's clause. *why: NULL, or why the point cannot fit, in the model's arena. It is not known
 * whether the point compiles. */
double tune_model_estimate(tune_model *model, const tile_bound_params *point,
                           const tile_split_point *split, const char **why);

/* The share of each estimate, in seconds, that passes before any block does its work. */
double tune_model_start_time(void);

/* Returns whether the kernel can be instantiated there and its sums split; reports why not. */
bool tune_is_legal(const tile_device *device, const tile_module *module, const char *name,
                   const tile_binding *bindings, unsigned count);

/* Instantiates each point's kernel and sets c.estimate, or c.state and c.why if the point is
 * dropped. sizes: an integer for each argument. Nothing is reported. If the watch (NULL: none)
 * stops the work, the remaining points keep the estimate 0, which means "unknown". */
void tune_estimate_points(const tile_device *device, const tile_module *module, const char *name,
                          const int64_t *sizes, const tune_watch *watch, tune_point *points,
                          size_t count);

#endif
