/* Freivalds' test, which checks a product without computing it. */
#include <stdlib.h>
#include <string.h>

#include "lib/support/memory.h"
#include "tile/compute.h"

enum { ROUNDS = TILE_FREIVALDS_ROUNDS };

/* All values of a type of up to two bytes, as floats; NULL for wider ones. */
static float *make_table(tile_scalar scalar) {
    size_t size = tile_scalar_bytes(scalar), count = size == 1 ? 256 : 65536;
    if (size > 2) return NULL;
    float *table = tile_malloc(count * sizeof *table);
    for (size_t i = 0; i < count; i++) {
        uint16_t bits = (uint16_t)i;
        table[i] = (float)tile_scalar_read(scalar, &bits);
    }
    return table;
}

static double element(const unsigned char *data, size_t index, tile_scalar scalar, size_t size,
                      const float *table) {
    uint16_t bits = 0;
    if (!table) return tile_scalar_read(scalar, data + index * size);
    memcpy(&bits, data + index * size, size);
    return (double)table[bits];
}

/* y = A x for all vectors at the same time; x[j][r], y[i][r]. Exact while |y| < 2^53. The elements
 * are read in storage order. */
static void multiply(const tile_matrix *a, const double *x, double *y) {
    size_t size = tile_scalar_bytes(a->scalar), at = 0;
    float *table = make_table(a->scalar);
    int64_t length = a->transposed ? a->columns : a->rows;
    for (int64_t i = 0; i < length * ROUNDS; i++) y[i] = 0;
    for (int64_t row = 0; row < a->rows; row++)
        for (int64_t column = 0; column < a->columns; column++, at++) {
            double value = element(a->data, at, a->scalar, size, table);
            const double *from = x + (a->transposed ? row : column) * ROUNDS;
            double *to = y + (a->transposed ? column : row) * ROUNDS;
            for (unsigned r = 0; r < ROUNDS; r++) to[r] += value * from[r];
        }
    free(table);
}

void tile_product_vectors(const tile_matrix *lhs, const tile_matrix *rhs, uint64_t seed,
                          double *vectors) {
    if (!lhs || !rhs || !vectors) return;
    int64_t n = rhs->transposed ? rhs->rows : rhs->columns;
    int64_t k = rhs->transposed ? rhs->columns : rhs->rows;
    double *product = tile_malloc(sizeof *product * ROUNDS * (size_t)(k + 1));
    for (int64_t j = 0; j < n * ROUNDS; j++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        vectors[j] = (double)(int64_t)(seed >> 54) - 512;
    }
    multiply(rhs, vectors, product);
    multiply(lhs, product, vectors + n * ROUNDS);
    free(product);
}

int64_t tile_product_wrong_rows(const tile_matrix *product, const double *vectors, int64_t *first) {
    if (!product || !vectors) return 0;
    int64_t m = product->rows, wrong = 0;
    const double *right = vectors + product->columns * ROUNDS;
    double *have = tile_malloc(sizeof *have * ROUNDS * (size_t)(m + 1));
    multiply(product, vectors, have);
    for (int64_t i = 0; i < m; i++) {
        bool same = true;
        for (int64_t r = i * ROUNDS; r < (i + 1) * ROUNDS; r++) same &= have[r] == right[r];
        if (!same && wrong++ == 0 && first) *first = i;
    }
    free(have);
    return wrong;
}
