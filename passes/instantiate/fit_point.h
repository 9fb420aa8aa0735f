/* The point of a tuning space that a kernel gets where nobody names one: the first that the target
 * can run. */
#ifndef TILE_PASSES_INSTANTIATE_FIT_POINT_H
#define TILE_PASSES_INSTANTIATE_FIT_POINT_H

#include "passes/instantiate/bind_params.h"

/* Bytes of shared memory and instructions of one thread, each an estimate from the kernel's text:
 * no pass runs. bound: NULL for an instantiated kernel. */
typedef struct tile_fit_estimate {
    double shared_bytes, instructions;
} tile_fit_estimate;
tile_fit_estimate tile_estimate_fit(const tile_function *kernel, const tile_bound_params *bound);

/* Instantiates the function in place, as the pass does. target: not NULL: what the options leave
 * open is the first point of `tune` that fits the target. The arena is scratch. TILE_INVALID after
 * a diagnostic. */
tile_status tile_instantiate_function(tile_function *f, const tile_pass_option *options,
                                      unsigned count, const tile_target *target, tile_arena *arena);

/* bound: the first point of the function's space that agrees with the options. If the target cannot
 * run it, bound becomes the next point that it can run, with a remark; if there is none, it stays.
 * Nothing happens where the options leave `tune` no choice. */
void tile_choose_fitting_point(const tile_function *f, const tile_pass_option *options,
                               unsigned count, const tile_target *target, tile_arena *arena,
                               tile_bound_params *bound);

#endif
