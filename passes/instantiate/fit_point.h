/* Selects a point of a kernel's tuning space if the user selects none: the first one that the
 * target can run. */
#ifndef TILE_PASSES_INSTANTIATE_FIT_POINT_H
#define TILE_PASSES_INSTANTIATE_FIT_POINT_H

#include "passes/instantiate/bind_params.h"

/* Estimates, from the kernel's text, the bytes of shared memory and the instructions of one thread.
 * No pass runs. bound: NULL for an instantiated kernel. */
typedef struct tile_fit_estimate {
    double shared_bytes, instructions;
} tile_fit_estimate;
tile_fit_estimate tile_estimate_fit(const tile_function *kernel, const tile_bound_params *bound);

/* Instantiates the function in place, like the pass. If target is not NULL, parameters that the
 * options leave open get the first point of `tune` that fits the target. The arena is scratch.
 * Returns TILE_INVALID after a diagnostic. */
tile_status tile_instantiate_function(tile_function *f, const tile_pass_option *options,
                                      unsigned count, const tile_target *target, tile_arena *arena);

/* bound: the first point of the function's space that agrees with the options. If the target cannot
 * run it, replaces bound by the next point that it can run and emits a remark. If there is none, or
 * if the options leave no choice, bound does not change. */
void tile_choose_fitting_point(const tile_function *f, const tile_pass_option *options,
                               unsigned count, const tile_target *target, tile_arena *arena,
                               tile_bound_params *bound);

#endif
