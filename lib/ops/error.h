/* Error bounds of element-wise operations against the exact results: the column `error` of ops.def
 * as numbers. Threads: any. */
#ifndef TILE_LIB_OPS_ERROR_H
#define TILE_LIB_OPS_ERROR_H

#include <stddef.h>

#include "lib/support/out.h"
#include "tile/ir.h"

/* The error of a result r is at most the larger one of `absolute` and (relative + per_src * |src|)
 * * max(|r|, least), where src is the first operand. */
typedef struct tile_error {
    double relative, absolute, per_src;
    double least; /* the smallest normal number of the type */
    bool flushes; /* results below `least` may be 0 */
    bool turns;   /* holds from -pi to pi; outside, the result is any number from -1 to 1 */
} tile_error;

/* The error of an element-wise operation whose result has this floating-point type; fast: with the
 * attribute `fast`. All zeros if it is exact. */
tile_error tile_op_error_of(tile_opcode opcode, tile_scalar scalar, bool fast);

/* Returns whether the operation approximates floats: the error of an f32 exceeds rounding. */
bool tile_op_is_approximate(tile_opcode opcode);

/* The error of a sum of n numbers, relative to the sum of their magnitudes. Sums of f16 and bf16
 * are computed in f32. */
double tile_sum_error(tile_scalar scalar, size_t n);
/* The same for n products of elements of these types, computed by matrix instructions. */
double tile_product_error(tile_scalar lhs, tile_scalar rhs, tile_scalar sum, size_t n);

/* Half a unit in the last place, relative: 2^-24 of f32. */
double tile_scalar_rounding(tile_scalar scalar);
/* The smallest normal number. */
double tile_scalar_least(tile_scalar scalar);

/* Prints "; relative error 2^-21, with `fast` 2^-22 + |src| 2^-23"; nothing if the row has no
 * bound. */
void tile_op_error_print(tile_opcode opcode, const tile_out *out);

#endif
