/* Integer ranges and divisors: between which bounds a value lies, and what it is a multiple of.
 *
 * Everything here is sound for the wrapping arithmetic of ops.def: a range that would leave its
 * type becomes the whole type, and of its divisor only the power of two survives. What is assumed:
 * extents of views that are arguments or that the body always makes are not negative, a loop's
 * steps do not wrap around.
 */
#ifndef TILE_LIB_ANALYSIS_RANGE_H
#define TILE_LIB_ANALYSIS_RANGE_H

#include "lib/ir/function.h"

/* For arrays: what holds for each element. */
typedef struct tile_range {
    int64_t min, max;
    int64_t divisor; /* the value is a multiple of it. 1: nothing is known, 0: the value is 0.
                        Pointers and views: bytes of the address */
    uint64_t zeros;  /* bits that are 0 for sure, beyond what the rest says; in 64 bits with the
                        value's sign. 0: none */
} tile_range;

/* One entry for each value id of the function; what is not an integer has divisor 1. */
const tile_range *tile_range_analyse(const tile_function *f, tile_arena *arena);

/* A host expression over the function's arguments, evaluated in i64; ranges: by value id; NULL:
 * what the types of arguments hold. */
tile_range tile_range_of_expr(const tile_function *f, const tile_range *ranges,
                              const tile_expr *expr);

/* All values of an integer type. */
tile_range tile_range_of_scalar(tile_scalar scalar);
tile_range tile_range_of_int(int64_t value);
/* The range of one arithmetic operation on operands of type `scalar`; that of the result's type
 * where nothing is known. Casts: scalar is the result's. */
tile_range tile_range_apply(tile_opcode opcode, tile_scalar scalar, const tile_range *operands);

/* An integer as it is stored in a type: cut to its bits, with its sign; i1 is 0 or 1. As it is
 * while the type is a parameter (TILE_SCALAR_NONE). */
int64_t tile_wrap_int(tile_scalar scalar, int64_t value);

#endif
