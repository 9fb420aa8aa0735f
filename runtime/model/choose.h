/* Chooses the point of a kernel that has not been tuned. */
#ifndef TILE_RUNTIME_MODEL_CHOOSE_H
#define TILE_RUNTIME_MODEL_CHOOSE_H

#include "runtime/device/device.h"

/* The bindings, in the arena, of the point that the model predicts to be fastest at these sizes (an
 * integer for each argument). Only points that agree with the given bindings, which are part of the
 * result, are considered. NULL if none fits or the space is too large to search. Nothing is
 * compiled or reported. Call it under the context's lock. */
const tile_binding *tune_choose_point(const tile_device *device, const tile_module *module,
                                      const char *name, const tile_binding *given,
                                      unsigned given_count, const int64_t *sizes, tile_arena *arena,
                                      unsigned *count);

/* The same, if that point does not compile: points that the target cannot run are passed over. */
const tile_binding *tune_choose_fitting_point(const tile_device *device, const tile_module *module,
                                              const char *name, const tile_binding *given,
                                              unsigned given_count, const int64_t *sizes,
                                              tile_arena *arena, unsigned *count);

/* Implements tile_kernel_rank_points. Whether a point can be instantiated is not known. Call it
 * under the context's lock. */
void tune_rank_points(const tile_device *device, const tile_module *module, const char *name,
                      const tile_binding *given, unsigned given_count, const int64_t *sizes,
                      tile_rank_visit visit, void *user);

#endif
