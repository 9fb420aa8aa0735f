/* What a candidate will roughly take, before any code is made of it (model.c says how that is
 * known). */
#ifndef TILE_RUNTIME_TUNE_MODEL_H
#define TILE_RUNTIME_TUNE_MODEL_H

#include "runtime/device.h"
#include "runtime/tune/space.h"

/* Instantiates each point's kernel, and fills c.estimate, or c.state and c.why for what is dropped.
 * sizes: an integer for each argument. Nothing is reported. */
void tune_estimate_points(const tile_device *device, const tile_module *module, const char *name,
                          const int64_t *sizes, tune_point *points, size_t count);

#endif
