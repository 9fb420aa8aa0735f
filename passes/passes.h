/* What the runtime needs from the passes besides running them (tile/pass.h): a kernel's parameters
 * and tuning points, whether a point becomes several launches, and the final passes of the
 * pipeline. Everything else under passes/ is private to it. */
#ifndef TILE_PASSES_PASSES_H
#define TILE_PASSES_PASSES_H

#include "lib/ops/formula.h"
#include "lib/ir/function.h"
#include "tile/compile.h"

/* Parameters and points ------------------------------------------------------------------------ */

typedef struct tile_pass_option {
    const char *key;
    const char *value; /* "" for a flag */
} tile_pass_option;

/* What a function's parameters are bound to: entry i belongs to f->params[i]. */
typedef struct tile_bound_params {
    const tile_function *f;
    tile_bound_param *params;
    const int64_t *sizes; /* integer arguments of the launch, by argument index; NULL without a
                             launch */
} tile_bound_params;

/* Binds every parameter to its given value, else its default, else its value in the first tuning
 * point that agrees with the other bindings and satisfies every `where`. If options contradict all
 * such points, `where` is left to the caller, as are options that name no parameter. False after a
 * diagnostic. */
bool tile_bind_params(const tile_function *f, const tile_pass_option *options,
                      unsigned option_count, tile_arena *arena, tile_bound_params *out);

/* Formats the value of a parameter ("128", "true", "f16"). The text is allocated in the arena. */
const char *tile_bound_value(const tile_bound_params *bound, size_t param, tile_arena *arena);

/* Calls visit for each tuning point that agrees with the options and satisfies every `where`. The
 * last clause varies fastest. A `tune` clause overrides the parameter's default. Stops when visit
 * returns false. False after a diagnostic if the options are wrong.
 *
 * sizes: an integer for each argument. Clauses that name arguments see sizes rounded up to their
 * bucket, so all launches of a bucket have the same points. NULL: there is no launch; a `where`
 * that names arguments then holds, and points contain no values that depend on them. */
typedef bool (*tile_point_visit)(const tile_bound_params *point, void *user);
bool tile_visit_points(const tile_function *f, const tile_pass_option *options,
                       unsigned option_count, const int64_t *sizes, tile_arena *arena,
                       tile_point_visit visit, void *user);
/* The same for all points that agree with the options, also those at which a `where` is false.
 * Sizes are not rounded. */
bool tile_visit_all_points(const tile_function *f, const tile_pass_option *options,
                           unsigned option_count, const int64_t *sizes, tile_arena *arena,
                           tile_point_visit visit, void *user);
/* Returns whether f->wheres[index] is true at the point, or names arguments and there are no sizes.
 */
bool tile_where_holds(const tile_bound_params *point, size_t index);
/* The largest sizes of the bucket: one integer for each argument, in the arena. */
const int64_t *tile_bucket_sizes(const tile_function *f, const int64_t *sizes, tile_arena *arena);
/* "n=300 k=64": the arguments that the `where` names (NULL: any of them), in the arena. */
const char *tile_sizes_text(const tile_function *f, const tile_expr *where, const int64_t *sizes,
                            tile_arena *arena);
/* Returns whether a `where` names arguments, so that the set of points depends on the launch. */
bool tile_needs_sizes(const tile_function *f);
/* Returns whether a `tune` clause names the parameter. */
bool tile_is_tuned(const tile_function *f, const char *param);

/* Returns whether every binding of the caller has a name and a value. False after a diagnostic. */
bool tile_bindings_are_complete(tile_context *context, const tile_binding *bindings,
                                unsigned count);

/* Finds the parameter with this name; NULL if there is none. */
const tile_bound_param *tile_find_bound(const tile_bound_params *bound, const char *name);

/* Returns the element type that a type's parameter, or `acc` of it, has; TILE_SCALAR_NONE if it has
 * none. */
tile_scalar tile_find_bound_scalar(const tile_bound_params *bound, const char *name);

/* tile_instantiate for a target. The `where` clauses that name arguments stay in the function, for
 * launches to check. Parameters without a binding take their values from the first
 * tuning point that fits. The result is deterministic: equal arguments select the same point. */
tile_status tile_instantiate_for(tile_module *module, const char *kernel,
                                 const tile_binding *bindings, unsigned binding_count,
                                 const tile_target *target);

/* Why the target cannot run the function with these values of its parameters, in the arena. NULL if
 * it can. */
const char *tile_point_fault(const tile_function *f, const tile_pass_option *options,
                             unsigned count, const tile_target *target, tile_arena *arena);

/* Emits a remark at each load of a single element at the block's coordinates that is only stored
 * again: probably a tile load whose extents were forgotten. Parameters must be bound. */
void tile_remark_stored_elements(tile_function *kernel);

/* Launches ------------------------------------------------------------------------------------- */

/* Returns whether an instantiated function is a plan, or becomes one in split-k. */
bool tile_becomes_plan(const tile_function *f);

/* Finds the kernel whose reduction loop the bindings split. This is f itself, or the only kernel
 * with such a loop among those that the plan f launches; then *launch is one of its launches. NULL
 * if *count, the number of such kernels, is not 1. */
tile_function *tile_split_owner(const tile_function *f, tile_op *launch, unsigned *count);

/* Runs split-k on the kernel if it takes several steps, or on those kernels of a plan that do. The
 * result is a plan with the same name, whose launches run kernels of one step each. Returns a
 * status other than TILE_OK after a diagnostic. */
tile_status tile_make_steps(tile_module *module, const char *name, const tile_target *target);

/* tile_pack_arguments (tile/pack.h) of a kernel whose type parameters will have the given values.
 */
tile_status tile_pack_arguments_for(tile_function *kernel, const char *arguments,
                                    const tile_binding *given, unsigned given_count);

/* What a plan's packing, "KERNEL.ARGUMENT+KERNEL.ARGUMENT:transposed", names of the kernel, as
 * tile_pack_arguments takes it; NULL: nothing. */
const char *tile_packing_of_kernel(const char *text, const char *kernel, tile_arena *arena);

/* The arguments that tile_pack_arguments takes and whose rows do not begin at multiples of 16 bytes
 * at the sizes of the point's launch: names separated by `+`, in the arena. NULL if there are
 * none. */
const char *tile_find_unaligned(const tile_bound_params *point, tile_arena *arena);

/* The same together with the operands that wgmma reads only if they are transposed or split into
 * parts, "a+b:transposed". If both operands can be transposed, one copy suffices, because wgmma
 * takes the other one from registers: the texts are then for either of them, and for both. Returns
 * their number; 0 if there are no such operands. */
enum { TILE_MAX_OPERAND_PACKINGS = 3 };
unsigned tile_find_packed_operands(const tile_bound_params *point, const tile_target *target,
                                   tile_arena *arena,
                                   const char *packings[TILE_MAX_OPERAND_PACKINGS]);

/* Pipelines ------------------------------------------------------------------------------------ */

/* The final passes of the default pipeline, for kernels at level 3 of any origin. */
const char *tile_last_passes(void);

#endif
