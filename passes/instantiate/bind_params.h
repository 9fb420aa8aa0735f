/* Values of a function's compile-time parameters: additions to passes/passes.h. */
#ifndef TILE_PASSES_INSTANTIATE_BIND_PARAMS_H
#define TILE_PASSES_INSTANTIATE_BIND_PARAMS_H

#include "passes/passes.h"

/* Bindings for expressions. They point to `bound`, which must not move. */
tile_bindings tile_param_bindings(tile_bound_params *bound);

/* "block_m = 128, T = f16": the parameters in the expression, or all of them if it is NULL. */
const char *tile_bound_text(const tile_bound_params *bound, const tile_expr *expr,
                            tile_arena *arena);

/* The same, and the {const} arguments that have a value: "block = 64, %k = 100". */
const char *tile_where_text(const tile_bound_params *bound, const tile_expr *where,
                            tile_arena *arena);

/* Returns false after a diagnostic with the clause that does not hold and the values. */
bool tile_check_wheres(tile_bound_params *bound, tile_arena *arena);

/* Reads the option's value if it names a parameter. False after a diagnostic. */
bool tile_bind_given(tile_bound_params *bound, const tile_pass_option *option);
/* Evaluates a default or a value of a `tune` point. False if a parameter in it has no value yet. */
bool tile_evaluate_param(tile_bound_params *bound, tile_param_kind kind, const tile_expr *expr,
                         tile_bound_param *param);
/* Gives parameters without a value their defaults, which may use other parameters. */
void tile_bind_defaults(tile_bound_params *bound);
/* Whether the `where` depends on sizes, which are not known. */
bool tile_is_open_where(const tile_bound_params *bound, const tile_expr *where);

/* Keys that name arguments instead of parameters. */
#define TILE_DIVISIBLE_SUFFIX ".divisible"
/* The index of the argument in "n.divisible", or arg_count if the key has another form. */
size_t tile_divisible_argument(const tile_function *f, const char *key);
/* The index of the {const} argument for "%n", or for "n" if no parameter has that name; arg_count
 * if there is none. */
size_t tile_constant_argument(const tile_function *f, const char *key);
/* Whether the key may be meant for another function of the module, including a function that was
 * instantiated earlier and has no parameters any more. */
bool tile_is_for_another_target(const tile_function *f, const char *key);

#endif
