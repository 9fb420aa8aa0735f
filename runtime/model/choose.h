/* The point that a kernel takes where none has been tuned. */
#ifndef TILE_RUNTIME_MODEL_CHOOSE_H
#define TILE_RUNTIME_MODEL_CHOOSE_H

#include "runtime/device/device.h"

/* The bindings, in the arena, of the point that the model takes for the fastest at these sizes (an
 * integer for each argument) of those that agree with what is given, which they repeat; NULL if
 * there is none that fits, or the space is too large to look at. Nothing is compiled, and nothing
 * reported. Under the context's lock. */
const tile_binding *tune_choose_point(const tile_device *device, const tile_module *module,
                                      const char *name, const tile_binding *given,
                                      unsigned given_count, const int64_t *sizes, tile_arena *arena,
                                      unsigned *count);

#endif
