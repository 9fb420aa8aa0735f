/* Casts of elements, with their attributes. Threads: any. */
#ifndef TILE_LIB_OPS_CAST_H
#define TILE_LIB_OPS_CAST_H

#include "lib/ir/arith.h"

/* Casts an element in memory, like `cast`. */
void tile_cast_element(tile_scalar from, tile_scalar to, tile_arith_flags arith_flags,
                       const void *src, void *dst);
/* The same for a number that such an element can have or, for a float, that still must be rounded.
 */
void tile_cast_integer(tile_scalar from, tile_scalar to, tile_arith_flags arith_flags,
                       int64_t value, void *dst);
void tile_cast_float(tile_scalar to, tile_arith_flags arith_flags, double value, void *dst);
/* The type as which the cast reads, or writes, an integer: with `unsigned` an i8 is a u8. */
tile_scalar tile_cast_scalar(tile_scalar scalar, tile_arith_flags arith_flags);
/* The largest finite number of a float type. */
double tile_scalar_largest(tile_scalar scalar);
/* Checks that a cast's attributes fit its types. False after a diagnostic. */
bool tile_verify_cast(const tile_function *f, tile_op op);

#endif
