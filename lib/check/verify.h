/* The verifier's parts. */
#ifndef TILE_LIB_CHECK_VERIFY_H
#define TILE_LIB_CHECK_VERIFY_H

#include "lib/ir/function.h"

/* Names, expressions, types, constants and attributes stand for something that can be written.
 * False after a diagnostic; what follows relies on it. */
bool tile_verify_declarations(tile_function *function);

/* An integer expression over the function's parameters and integer arguments, of a size that can be
 * walked. */
bool tile_is_host_expr(const tile_function *f, const tile_expr *expr);
/* The same over parameters alone. */
bool tile_is_param_expr(const tile_function *f, const tile_expr *expr);
/* Of numbers alone, so that instantiating puts nothing in and would not see it. One of the above,
 * or another one that can be walked. */
bool tile_divides_by_zero(const tile_expr *expr);

/* The clause `of` names a compute of the module whose arguments, results and dims the function
 * has. False after a diagnostic. */
bool tile_verify_reference(const tile_function *function);

/* Steps and arguments of a plan whose operations are sound: what the host can evaluate, kernels
 * that are there and take what they are given. False after a diagnostic. */
bool tile_verify_plan(tile_function *function);

/* No shared buffer is used after its free_shared. For functions in which everything else holds.
 * False after a diagnostic. */
bool tile_verify_frees(tile_function *function);

/* Registers and memory that wgmma still works on: an accumulator is pending until a wait covers it.
 * Of a function that is sound otherwise. False after a diagnostic. */
bool tile_verify_pending(tile_function *function);
/* What an operation of a warpgroup's products has beside its types. False after a diagnostic. */
bool tile_verify_wgmma(tile_function *function, tile_op op);

/* Values of attributes, and of operands that are numbers in the code, beyond their forms. False
 * after a diagnostic. */
bool tile_verify_attrs(const tile_function *function, tile_op op);

/* Tensor maps and bulk copies. False after a diagnostic. */
bool tile_verify_tma(const tile_function *function, tile_op op);

/* What an operation of a compute says of its kernel. False after a diagnostic. */
bool tile_verify_schedule(const tile_function *f, tile_op op);

/* What `parallel` holds, and what it gives; and that elements of tiles are read there alone. Of a
 * function that is sound otherwise. False after a diagnostic. */
bool tile_verify_parallel(tile_function *function);

/* Lanes and warps hold a tile's elements bit by bit of their numbers: whether as many execute op,
 * of a kernel. False after a diagnostic. */
bool tile_verify_set(tile_function *f, tile_op op);

/* What depends on who executes: of a function that is sound otherwise. False after a diagnostic. */
bool tile_verify_executors(tile_function *function);

/* Barriers in shared memory: counts, parities, who comes. Of a function that is sound otherwise.
 * False after a diagnostic. */
bool tile_verify_barriers(tile_function *function);

#endif
