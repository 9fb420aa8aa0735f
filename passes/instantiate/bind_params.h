/* The values of a function's compile-time parameters: given ones, defaults, the tuning space. */
#ifndef TILE_PASSES_INSTANTIATE_BIND_PARAMS_H
#define TILE_PASSES_INSTANTIATE_BIND_PARAMS_H

#include "passes/pass.h"
#include "tile/compile.h"

typedef struct tile_bound_param {
    bool bound;
    int64_t value;      /* int, bool, dim; of type and word: tile_word_value */
    tile_scalar scalar; /* type */
    const char *word;   /* word */
} tile_bound_param;

/* What a function's parameters are bound to: entry i belongs to f->params[i]. */
typedef struct tile_bound_params {
    const tile_function *f;
    tile_bound_param *params;
    const int64_t *sizes; /* by argument: the integers of a launch; NULL: nobody launches it yet */
} tile_bound_params;

/* Binds every parameter: a given value, else the default, else the value in the first tune point
 * that agrees with what is bound. Options that name no parameter are left to the caller. False
 * after a diagnostic. */
bool tile_bind_params(const tile_function *f, const tile_pass_option *options,
                      unsigned option_count, tile_arena *arena, tile_bound_params *out);

/* What a parameter is bound to as text ("128", "true", "f16"); in the arena. */
const char *tile_bound_value(const tile_bound_params *bound, size_t param, tile_arena *arena);

/* Calls visit for each point of the tuning space that agrees with the options and for which every
 * `where` holds, the last clause varying fastest; what `tune` gives a value is bound by it, even if
 * it has a default. Ends when visit returns false. False after a diagnostic if the options are
 * wrong.
 *
 * sizes: an integer for each argument, for clauses that name arguments, which take sizes rounded up
 * to their bucket, so that all launches of a bucket have the same points. NULL: without a launch a
 * `where` that names arguments holds, and no point has a value that does. */
typedef bool (*tile_point_visit)(const tile_bound_params *point, void *user);
bool tile_visit_points(const tile_function *f, const tile_pass_option *options,
                       unsigned option_count, const int64_t *sizes, tile_arena *arena,
                       tile_point_visit visit, void *user);
/* Whether a `where` names arguments, so that which points there are depends on the launch. */
bool tile_asks_sizes(const tile_function *f);
/* Whether a `tune` clause names the parameter. */
bool tile_is_tuned(const tile_function *f, const char *param);

/* Whether every binding of the caller has a name and a value. False after a diagnostic. */
bool tile_bindings_are_complete(tile_context *context, const tile_binding *bindings,
                                unsigned count);

/* For expressions; the object must stay where it is. */
tile_bindings tile_param_bindings(tile_bound_params *bound);
const tile_bound_param *tile_find_bound(const tile_bound_params *bound, const char *name);

/* "block_m = 128, T = f16": those parameters that the expression names, or all if it is NULL. */
const char *tile_bound_text(const tile_bound_params *bound, const tile_expr *expr,
                            tile_arena *arena);

/* False after a diagnostic that names the clause that does not hold, and the values. */
bool tile_check_wheres(tile_bound_params *bound, tile_arena *arena);

#endif
