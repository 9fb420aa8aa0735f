/* Calls of funcs: the values of the func's parameters and the types of its arguments. */
#ifndef TILE_LIB_BUILDER_CALL_H
#define TILE_LIB_BUILDER_CALL_H

#include "lib/ir/function.h"

/* A func with a value for each of its parameters, in their order: a type, or an expression over the
 * parameters of the caller. */
typedef struct tile_call {
    const tile_function *callee;
    tile_param_value *values;
} tile_call;

/* The func of that name in the caller's module; NULL after a diagnostic at loc. */
const tile_function *tile_call_find(const tile_function *caller, tile_loc loc, const char *name);

/* Binds the parameters of `callee`: to the given values, else to the element types of arguments,
 * else to their defaults. Checks the number and the element types of the arguments, which are
 * values of the caller. Reports errors at loc. call->values is in the arena. */
bool tile_call_bind(const tile_function *caller, tile_loc loc, const tile_function *callee,
                    const tile_param_value *given, unsigned given_count,
                    const tile_value *arguments, unsigned argument_count, tile_arena *arena,
                    tile_call *call);

/* A scalar type or an expression of the func with the parameters' values. */
const tile_type *tile_call_type(const tile_call *call, const tile_type *type);
const tile_expr *tile_call_expr(const tile_call *call, const tile_expr *expr);

#endif
