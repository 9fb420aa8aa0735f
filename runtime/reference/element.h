/* One element of an elementwise operation at level 1. Threads: any. */
#ifndef TILE_RUNTIME_REFERENCE_ELEMENT_H
#define TILE_RUNTIME_REFERENCE_ELEMENT_H

#include "lib/ir/arith.h"
#include "lib/ops/reduce.h"

/* The element of this type with this value. Its `integer` is set if the type is one. */
tile_number tile_element_number(tile_scalar scalar, double value);
tile_number tile_element_read(tile_scalar scalar, const void *from);

/* Computes up to three operands x. Sets `real`, and `integer` too if `to` is an integer type. from:
 * the type of the first one. An undefined element is 0. Returns false if the operation does not
 * support the type. */
bool tile_element_compute(tile_opcode opcode, tile_scalar from, tile_scalar to,
                          tile_arith_flags arith_flags, const tile_number *x, tile_number *result);

/* The same for values, of which 64-bit integers are rounded to doubles. */
bool tile_element_value(tile_opcode opcode, tile_scalar from, tile_scalar to,
                        tile_arith_flags arith_flags, const double *x, double *result);
double tile_element_cast(tile_scalar from, tile_scalar to, tile_arith_flags arith_flags, double x);

#endif
