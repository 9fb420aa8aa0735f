/* Products of matrices at level 1, which take most of a reference's time. */
#include "runtime/reference/product.h"

#include <string.h>

/* Adds `count` products to each sum, one after the other. Rows of b are n elements apart. */
static void add_products(const double *restrict factors, const double *restrict b, size_t n,
                         size_t count, double *restrict sum, size_t columns) {
    size_t l = 0;
    for (; l + 4 <= count; l += 4) {
        const double *restrict x = b + l * n, *restrict y = x + n;
        const double *restrict z = y + n, *restrict w = z + n;
        double p = factors[l], q = factors[l + 1], r = factors[l + 2], s = factors[l + 3];
        for (size_t j = 0; j < columns; j++)
            sum[j] = sum[j] + p * x[j] + q * y[j] + r * z[j] + s * w[j];
    }
    for (; l < count; l++)
        for (size_t j = 0; j < columns; j++) sum[j] += factors[l] * b[l * n + j];
}

/* Computes with blocks of rows of b that stay in the cache. */
void tile_multiply_reals(const double *a, const double *b, double *c, size_t m, size_t n,
                         size_t k) {
    enum { K_BLOCK = 64, N_BLOCK = 512 };
    memset(c, 0, sizeof *c * m * n);
    for (size_t n0 = 0; n0 < n; n0 += N_BLOCK)
        for (size_t k0 = 0; k0 < k; k0 += K_BLOCK) {
            size_t columns = n - n0 < N_BLOCK ? n - n0 : N_BLOCK,
                   count = k - k0 < K_BLOCK ? k - k0 : K_BLOCK;
            for (size_t i = 0; i < m; i++)
                add_products(a + i * k + k0, b + k0 * n + n0, n, count, c + i * n + n0, columns);
        }
}

int64_t tile_multiply_rows(const int64_t *a, const int64_t *b, size_t count) {
    uint64_t sum = 0;
    for (size_t l = 0; l < count; l++) sum += (uint64_t)a[l] * (uint64_t)b[l];
    return (int64_t)sum;
}
