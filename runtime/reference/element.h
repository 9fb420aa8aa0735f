/* One element of an elementwise operation at level 1. Threads: any. */
#ifndef TILE_RUNTIME_REFERENCE_ELEMENT_H
#define TILE_RUNTIME_REFERENCE_ELEMENT_H

#include "lib/ir/arith.h"

/* Computes up to three operands x as numbers. from: the type of the first one. Returns false if
 * there is no result: a division by zero, or a type that the operation does not support. */
bool tile_element_value(tile_opcode opcode, tile_scalar from, tile_scalar to,
                        tile_arith_flags arith_flags, const double *x, double *result);
double tile_element_cast(tile_scalar from, tile_scalar to, tile_arith_flags arith_flags, double x);

#endif
