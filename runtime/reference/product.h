/* Products of matrices at level 1. */
#ifndef TILE_RUNTIME_REFERENCE_PRODUCT_H
#define TILE_RUNTIME_REFERENCE_PRODUCT_H

#include "tile/ir.h"

/* c[m, n] = a[m, k] x b[k, n]. The terms of an element are added in the order of k. */
void tile_multiply_reals(const double *a, const double *b, double *c, size_t m, size_t n, size_t k);
/* The same with b transposed, [n, k]. Sums wrap to the width of the type, as those of a dot do. */
void tile_multiply_integers(const int64_t *a, const int64_t *b, double *c, size_t m, size_t n,
                            size_t k, tile_scalar type);

#endif
