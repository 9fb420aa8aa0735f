/* What the runtime asks of the passes, beside running them (tile/pass.h): the parameters of a
 * kernel and the points of its tuning space, whether a point becomes several launches, and which
 * passes come last. Everything else under passes/ is private to it. */
#ifndef TILE_PASSES_PASSES_H
#define TILE_PASSES_PASSES_H

#include "lib/ir/function.h"
#include "tile/compile.h"

/* Parameters and points ------------------------------------------------------------------------ */

typedef struct tile_pass_option {
    const char *key;
    const char *value; /* "" for a key alone */
} tile_pass_option;

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
bool tile_needs_sizes(const tile_function *f);
/* Whether a `tune` clause names the parameter. */
bool tile_is_tuned(const tile_function *f, const char *param);

/* Whether every binding of the caller has a name and a value. False after a diagnostic. */
bool tile_bindings_are_complete(tile_context *context, const tile_binding *bindings,
                                unsigned count);

/* The parameter of this name; NULL if there is none. */
const tile_bound_param *tile_find_bound(const tile_bound_params *bound, const char *name);

/* tile_instantiate for a target: what the bindings leave open is the first point of `tune` that
 * fits. The same arguments give the same point. */
tile_status tile_instantiate_for(tile_module *module, const char *kernel,
                                 const tile_binding *bindings, unsigned binding_count,
                                 const tile_target *target);

/* A remark at each load of one element that is stored at a block's coordinates and used nowhere
 * else: a tile's load without the tile's extents. Parameters are bound. */
void tile_remark_stored_elements(tile_function *kernel);

/* Launches ------------------------------------------------------------------------------------- */

/* Of an instantiated function: whether it is a plan, or split-k makes one of it. */
bool tile_becomes_plan(const tile_function *f);

/* The kernel whose reduction loop is the one that bindings split: itself, or the only one with such
 * a loop of those that a plan launches, and then one of its launches. NULL if there is none, or
 * *count are. */
tile_function *tile_split_owner(const tile_function *f, tile_op *launch, unsigned *count);

/* Runs split-k on the kernel, if it takes steps, or on those kernels of the plan that do: what is
 * left is a plan, under the same name, whose launches are of kernels with one step each. A status
 * other than TILE_OK comes after a diagnostic. */
tile_status tile_make_steps(tile_module *module, const char *name, const tile_target *target);

/* Pipelines ------------------------------------------------------------------------------------ */

/* The end of the default pipeline, for kernels at level 3, however they came there. */
const char *tile_last_passes(void);

#endif
