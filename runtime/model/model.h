/* What a candidate will roughly take, before any code is made of it (model.c says how that is
 * known). */
#ifndef TILE_RUNTIME_MODEL_MODEL_H
#define TILE_RUNTIME_MODEL_MODEL_H

#include "passes/passes.h"
#include "runtime/device/device.h"
#include "runtime/model/space.h"
#include "tile/split.h"

/* A kernel, which is no plan, at these sizes (an integer for each argument). It lives in the arena,
 * and looks at the function and the sizes while it is used. */
typedef struct tune_model tune_model;
tune_model *tune_model_create(const tile_device *device, const tile_function *kernel,
                              const int64_t *sizes, tile_arena *arena);

/* Seconds at a point, about; nothing is instantiated. split: NULL for what the kernel's clause
 * says. *why: NULL, or why it cannot fit, in the model's arena; whether it can be compiled is not
 * known. */
double tune_model_estimate(tune_model *model, const tile_bound_params *point,
                           const tile_split_point *split, const char **why);

/* Whether the kernel can be instantiated there, and its sums split; reports why not. */
bool tune_is_legal(const tile_device *device, const tile_module *module, const char *name,
                   const tile_binding *bindings, unsigned count);

/* Instantiates each point's kernel, and fills c.estimate, or c.state and c.why for what is dropped.
 * sizes: an integer for each argument. Nothing is reported. Where the watch (NULL: none) ends it,
 * the remaining points keep the estimate 0, which stands for "not known". */
void tune_estimate_points(const tile_device *device, const tile_module *module, const char *name,
                          const int64_t *sizes, const tune_watch *watch, tune_point *points,
                          size_t count);

#endif
