/* Launching plans: the steps in order. Each kernel is launched as a single kernel would be. */
#ifndef TILE_RUNTIME_LAUNCH_PLAN_H
#define TILE_RUNTIME_LAUNCH_PLAN_H

#include "runtime/device/device.h"

typedef struct tile_plan tile_plan;

/* Makes the steps and kernels of a plan, or of a kernel that takes several steps
 * (passes/split/steps.h). The plan or kernel is instantiated and belongs to the device's context.
 * The function takes over the module, even if it fails. The caller owns *out, which is NULL after a
 * diagnostic. */
tile_status tile_plan_create(tile_device *device, tile_module *module, const char *name,
                             tile_plan **out);
void tile_plan_destroy(tile_plan *plan); /* NULL is fine */

/* The kernels that have been made for the plan. A kernel that is only a fallback is made when it is
 * first used. NULL past the end. */
tile_kernel *tile_plan_kernel_at(const tile_plan *plan, unsigned index);
/* The instantiated plan, and its device. */
const tile_function *tile_plan_function(const tile_plan *plan);
tile_device *tile_plan_device(const tile_plan *plan);

/* Does for a plan what tile_kernel_launch does; the count of arguments has been checked. prepare:
 * does what tile_kernel_prepare does. */
tile_status tile_plan_run(tile_plan *plan, const tile_argument *arguments, void *stream,
                          bool prepare);
/* Does what tile_measure does. The steps are measured together. */
tile_status tile_plan_measure(tile_plan *plan, const tile_argument *arguments, void *stream,
                              const tile_measure_options *options, tile_measurement *out);

/* kernel.c: a launch as a step of a plan. CHECK only checks that it can be launched and makes what
 * the launch needs. */
typedef enum tile_step_mode { TILE_STEP_CHECK, TILE_STEP_PREPARE, TILE_STEP_RUN } tile_step_mode;
typedef struct tile_step_launch {
    void *stream;
    bool overlaps;   /* it overlaps the preceding launch, if there is one */
    bool overlapped; /* the next launch will overlap it */
    bool resident;   /* all blocks must run at the same time */
    bool launched;   /* set: there are blocks to run */
    bool refused;    /* set: they cannot; nothing was reported or done */
    int64_t room;    /* set if refused: how many blocks can run */
} tile_step_launch;
tile_status tile_kernel_take_step(tile_kernel *kernel, const tile_argument *arguments,
                                  unsigned count, tile_step_launch *step, tile_step_mode mode);

#endif
