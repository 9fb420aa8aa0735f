/* Integer range and divisor analysis: the bounds of a value and a number that divides it.
 *
 * Everything here is sound for the wrapping arithmetic of ops.def: a range that exceeds its type
 * becomes the whole type, and its divisor is reduced to its power of two. Assumptions: extents are
 * not negative for view arguments and for views that the body always makes, and a loop's steps do
 * not overflow. */
#ifndef TILE_LIB_ANALYSIS_RANGE_H
#define TILE_LIB_ANALYSIS_RANGE_H

#include "lib/ir/function.h"

/* For arrays, the range of every element. */
typedef struct tile_range {
    int64_t min, max;
    int64_t divisor; /* divides the value. 1: nothing is known, 0: the value is 0. For pointers and
                        views the address in bytes */
    /* Bits that are known to be 0 in addition to those that follow from the other fields. In 64
     * bits with the value's sign. 0: none. */
    uint64_t zeros;
} tile_range;

/* One entry per value id of the function; values that are not integers have divisor 1. */
const tile_range *tile_range_analyse(const tile_function *f, tile_arena *arena);

/* Range of a host expression over the function's arguments, evaluated in i64. ranges: by value id;
 * NULL: the range of each argument's type. */
tile_range tile_range_of_expr(const tile_function *f, const tile_range *ranges,
                              const tile_expr *expr);

/* All values of an integer type. */
tile_range tile_range_of_scalar(tile_scalar scalar);
/* Returns whether a range of this type may contain u64 numbers from 2^63, which are negative in a
 * tile_range: tile_range_apply does not take such a range. */
static inline bool tile_range_is_large(tile_scalar scalar, tile_range range) {
    return scalar == TILE_u64 && range.min < 0;
}
tile_range tile_range_of_int(int64_t value);
/* Range of one arithmetic operation on operands of type `scalar`, or the whole range of the
 * result's type if nothing is known. For casts, scalar is the type of the result. */
tile_range tile_range_apply(tile_opcode opcode, tile_scalar scalar, const tile_range *operands);

/* Wraps an integer to a type: truncates to its bits and extends the sign, or zeros if the type is
 * unsigned (a u64 keeps its bits); i1 is 0 or 1. Unchanged
 * if the type is a parameter (TILE_SCALAR_NONE). */
int64_t tile_wrap_int(tile_scalar scalar, int64_t value);

#endif
