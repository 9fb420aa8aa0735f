/* Launching plans: the steps in order, each kernel through the launch that single kernels have. */
#ifndef TILE_RUNTIME_LAUNCH_PLAN_H
#define TILE_RUNTIME_LAUNCH_PLAN_H

#include "runtime/device/device.h"

typedef struct tile_plan tile_plan;

/* Makes the steps of a plan, or of a kernel that takes several (passes/split/steps.h), and their
 * kernels; it is instantiated, and of the device's context. The module is taken over, also by a
 * call that fails. *out is the caller's, NULL after a diagnostic. */
tile_status tile_plan_create(tile_device *device, tile_module *module, const char *name,
                             tile_plan **out);
void tile_plan_destroy(tile_plan *plan); /* NULL is fine */

/* The kernels that have been made of those that it launches: one that only takes the place of
 * others is made when it first does. NULL past the end. */
tile_kernel *tile_plan_kernel_at(const tile_plan *plan, unsigned index);

/* What tile_kernel_launch does with a plan, on as many arguments as it has; prepare: what
 * tile_kernel_prepare does. */
tile_status tile_plan_run(tile_plan *plan, const tile_argument *arguments, void *stream,
                          bool prepare);
/* What tile_measure does: the steps are measured together. */
tile_status tile_plan_measure(tile_plan *plan, const tile_argument *arguments, void *stream,
                              const tile_measure_options *options, tile_measurement *out);

/* kernel.c: a launch as a step of a plan. check: only whether it could be launched, and what is
 * needed for that is made. */
typedef enum tile_step_mode { TILE_STEP_CHECK, TILE_STEP_PREPARE, TILE_STEP_RUN } tile_step_mode;
typedef struct tile_step_launch {
    void *stream;
    bool overlaps;   /* the launch before it, if there was one */
    bool overlapped; /* the next launch will */
    bool resident;   /* all blocks at once */
    bool launched;   /* set: there are blocks to run */
    bool refused;    /* set: they cannot all run at once; nothing was reported or done */
    int64_t room;    /* set if refused: how many can */
} tile_step_launch;
tile_status tile_kernel_take_step(tile_kernel *kernel, const tile_argument *arguments,
                                  unsigned count, tile_step_launch *step, tile_step_mode mode);

#endif
