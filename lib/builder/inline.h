/* Inlining of funcs: the only place that replaces calls by code.
 *
 * The pass `instantiate`, the scheduler of computes and level 1 inline the calls of a function
 * before they look at its operations. Operations that apply a func themselves, such as a reduction,
 * use tile_inline_func. */
#ifndef TILE_LIB_BUILDER_INLINE_H
#define TILE_LIB_BUILDER_INLINE_H

#include "lib/ir/function.h"

/* Builds the body of `callee`, a func of the builder's module, at the builder's place:
 *
 *     tile_value sum;
 *     tile_value both[] = {a, b};
 *     if (!tile_inline_func(&builder, callee, NULL, 0, both, 2, &sum)) return false;
 *
 * - values are those of the func's parameters; types that the arguments determine may be missing.
 * - Each argument is a scalar, tensor, tile or vector of the builder's function. The operations are
 *   built for the shapes of the arguments, with the broadcasting of all element-wise operations.
 * - results has room for callee->result_count values. Each gets the common shape of the arguments.
 * - Operations keep their locations in the func. Diagnostics at them get a note at builder->loc,
 *   where the func is called.
 *
 * Calls in the body are inlined, too. Returns false after a diagnostic: the arguments do not fit,
 * an operation does not accept their types, or the func calls itself. */
bool tile_inline_func(tile_builder *builder, const tile_function *callee,
                      const tile_param_value *values, unsigned value_count,
                      const tile_value *arguments, unsigned argument_count, tile_value *results);

/* Replaces all calls in the function's body, and gives its reductions and scans funcs without calls
 * (combine_func.h). Returns false after a diagnostic. */
bool tile_inline_calls(tile_function *f);

/* A call that is being inlined, or followed by the verifier. The outermost link is the function in
 * which the first call is. */
typedef struct tile_call_chain {
    const tile_function *callee;
    tile_loc call;
    const struct tile_call_chain *outer; /* the call in whose body this one is; NULL: none */
} tile_call_chain;

/* Checks that the call of `callee` at this location, in the body of the chain's innermost func,
 * neither closes a cycle nor nests too deeply. Returns false after a diagnostic that lists the
 * calls of the cycle. */
bool tile_check_call_chain(tile_context *context, const tile_call_chain *chain,
                           const tile_function *callee, tile_loc call);

#endif
