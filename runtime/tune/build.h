/* Threads that compile candidates, the likely ones first, while others are measured. */
#ifndef TILE_RUNTIME_TUNE_BUILD_H
#define TILE_RUNTIME_TUNE_BUILD_H

#include "runtime/device/device.h"
#include "runtime/model/space.h"
#include "runtime/tune/task.h"

typedef struct tune_builder tune_builder;

/* Starts them. The points, in the order in which they are built, the task and the device must live
 * longer. Where the device compiles nothing (the CPU's), all are built at once and no thread is
 * started. jobs 0: one for each core. */
tune_builder *tune_builder_start(const tile_device *device, const tune_task *task,
                                 tile_store *store, tune_point *points, size_t count,
                                 unsigned jobs);
/* The next point that is ready to be tried, or that failed to build, each once; waits for at most a
 * tenth of a second. NULL: none is ready yet, or, with *over set, none is left. */
tune_point *tune_builder_next(tune_builder *builder, bool *over);
/* How many have been built, well or not. */
size_t tune_builder_count(tune_builder *builder);
/* Ends the threads, each with the point that it is at. NULL is fine. */
void tune_builder_stop(tune_builder *builder);

#endif
