/* Tuning points of the kernels that a plan launches. */
#ifndef TILE_LIB_CHECK_TAKE_POINTS_H
#define TILE_LIB_CHECK_TAKE_POINTS_H

#include "lib/ir/function.h"

/* tile_plan_take_points for the launches of these kernels only, in a plan that need not be verified
 * yet. kernels: NULL for all. */
void tile_plan_take_points_of(tile_function *plan, const tile_function *const *kernels,
                              unsigned kernel_count);

#endif
