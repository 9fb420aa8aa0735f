/* The parts of the verifier. */
#ifndef TILE_LIB_CHECK_VERIFY_H
#define TILE_LIB_CHECK_VERIFY_H

#include "lib/ir/function.h"

/* Checks that names, expressions, types, constants and attributes can be written as text. Returns
 * false after a diagnostic. The other checks rely on this one. */
bool tile_verify_declarations(tile_function *function);

/* Returns whether it is an integer expression over the function's parameters and integer arguments,
 * and small enough to traverse. */
bool tile_is_host_expr(const tile_function *f, const tile_expr *expr);
/* The same over parameters only. */
bool tile_is_param_expr(const tile_function *f, const tile_expr *expr);
/* Returns whether the expression divides by zero and consists of numbers only, so that
 * instantiation would not evaluate it. It must satisfy one of the functions above, or be small
 * enough to traverse. */
bool tile_divides_by_zero(const tile_expr *expr);

/* Checks the strides of a compute's arguments and results. Returns false after a diagnostic. */
bool tile_verify_strides(const tile_function *f);

/* Checks that the clause `of` names a compute of the module, and that the function has its
 * arguments, results and dims. Returns false after a diagnostic. */
bool tile_verify_reference(const tile_function *function);

/* Checks the steps and arguments of a plan whose operations are valid: the host can evaluate them,
 * and the kernels exist and accept the arguments. Returns false after a diagnostic. */
bool tile_verify_plan(tile_function *function);

/* Checks the function of a reduction or scan, and its identity. Returns false after a diagnostic.
 */
bool tile_verify_combine(const tile_function *f, tile_op op);

/* Checks a func: its declarations, and that it computes scalars without side effects. Returns false
 * after a diagnostic. */
bool tile_verify_func(const tile_function *function);
/* Checks the values that a call gives to the parameters of its func. Returns false after a
 * diagnostic. */
bool tile_verify_call(const tile_function *function, tile_op op);
/* Checks that no func of the module calls itself, directly or through others. Returns false after a
 * diagnostic for each cycle. */
bool tile_verify_recursion(const tile_module *module);

/* Checks that no shared buffer is used after its free_shared. All other rules must hold. Returns
 * false after a diagnostic. */
bool tile_verify_frees(tile_function *function);

/* Checks registers and memory that asynchronous wgmma operations use: an accumulator is pending
 * until a wait covers it. All other rules must hold. Returns false after a diagnostic. */
bool tile_verify_pending(tile_function *function);
/* Checks an operation of a warpgroup's products, except its types. Returns false after a
 * diagnostic. */
bool tile_verify_wgmma(tile_function *function, tile_op op);

/* Checks the values of attributes, and of operands that are constants. Returns false after a
 * diagnostic. */
bool tile_verify_attrs(const tile_function *function, tile_op op);

/* Warns of divisors and shift amounts in a valid function that are numbers for which the result is
 * undefined. */
void tile_warn_of_literals(const tile_function *function);

/* Checks tensor maps and bulk copies. Returns false after a diagnostic. */
bool tile_verify_tma(const tile_function *function, tile_op op);

/* Checks the attributes of a compute's operation that describe the kernel to make. Returns false
 * after a diagnostic. */
bool tile_verify_schedule(const tile_function *f, tile_op op);

/* Checks the contents and results of `parallel`, and that elements of tiles are read only there.
 * All other rules must hold. Returns false after a diagnostic. */
bool tile_verify_parallel(tile_function *function);

/* A tile's elements are distributed over lanes and warps by the bits of their numbers. Checks that
 * the number of warps that execute op, in a kernel, allows that. Returns false after a
 * diagnostic. */
bool tile_verify_set(tile_function *f, tile_op op);

/* Checks the rules that depend on the executing warps. All other rules must hold. Returns false
 * after a diagnostic. */
bool tile_verify_executors(tile_function *function);

/* Checks barriers in shared memory: counts, parities and participants. All other rules must hold.
 * Returns false after a diagnostic. */
bool tile_verify_barriers(tile_function *function);

#endif
