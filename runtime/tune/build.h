/* Threads that compile candidates, the most promising first, while others are measured. */
#ifndef TILE_RUNTIME_TUNE_BUILD_H
#define TILE_RUNTIME_TUNE_BUILD_H

#include "runtime/device/device.h"
#include "runtime/model/space.h"
#include "runtime/tune/task.h"

typedef struct tune_builder tune_builder;

/* Starts the threads. The points (in build order), the task and the device must outlive the
 * builder. If the device does not compile (the CPU), all points count as built and no thread is
 * started. jobs 0: one thread per core. */
tune_builder *tune_builder_start(const tile_device *device, const tune_task *task,
                                 tile_store *store, tune_point *points, size_t count,
                                 unsigned jobs);
/* Returns, once, each point that is ready to be tried or that failed to build; waits for at most a
 * tenth of a second. NULL: none is ready yet, or, with *over set, none remains. */
tune_point *tune_builder_next(tune_builder *builder, bool *over);
/* The number of points that have been built or failed. */
size_t tune_builder_count(tune_builder *builder);
/* Stops the threads after their current points. NULL is fine. */
void tune_builder_stop(tune_builder *builder);

#endif
