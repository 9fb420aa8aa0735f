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

/* Keys that name arguments instead of parameters. */
#define TILE_DIVISIBLE_SUFFIX ".divisible"
/* The argument of "n.divisible", or arg_count if the key is of another sort. */
size_t tile_divisible_argument(const tile_function *f, const char *key);
/* The {const} argument of "%n", or of "n" if no parameter is called so; arg_count if there is none.
 */
size_t tile_constant_argument(const tile_function *f, const char *key);
/* Whether the key may be meant for another function of the module, also for one that was
 * instantiated before this one and has no parameters any more. */
bool tile_is_for_another_target(const tile_function *f, const char *key);

#endif
