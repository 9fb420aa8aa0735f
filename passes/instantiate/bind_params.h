/* The values of a function's compile-time parameters, beside what passes/passes.h has of them. */
#ifndef TILE_PASSES_INSTANTIATE_BIND_PARAMS_H
#define TILE_PASSES_INSTANTIATE_BIND_PARAMS_H

#include "passes/passes.h"

/* For expressions; the object must stay where it is. */
tile_bindings tile_param_bindings(tile_bound_params *bound);

/* "block_m = 128, T = f16": those parameters that the expression names, or all if it is NULL. */
const char *tile_bound_text(const tile_bound_params *bound, const tile_expr *expr,
                            tile_arena *arena);

/* False after a diagnostic that names the clause that does not hold, and the values. */
bool tile_check_wheres(tile_bound_params *bound, tile_arena *arena);

#endif
