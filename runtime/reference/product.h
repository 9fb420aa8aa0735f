/* Products of matrices at level 1. */
#ifndef TILE_RUNTIME_REFERENCE_PRODUCT_H
#define TILE_RUNTIME_REFERENCE_PRODUCT_H

#include "tile/ir.h"

/* c[m, n] = a[m, k] x b[k, n]. The terms of an element are added in the order of k. */
void tile_multiply_reals(const double *a, const double *b, double *c, size_t m, size_t n, size_t k);
/* The sum of the products of two rows, mod 2^64. */
int64_t tile_multiply_rows(const int64_t *a, const int64_t *b, size_t count);

#endif
