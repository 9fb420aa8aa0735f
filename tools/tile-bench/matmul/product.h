/* A product to be measured: c[m, n] = a[m, k] x b[k, n], all row-major, where a letter T says that
 * the operand lies transposed. */
#ifndef TILE_TOOLS_TILE_BENCH_MATMUL_PRODUCT_H
#define TILE_TOOLS_TILE_BENCH_MATMUL_PRODUCT_H

#include "tile/ir.h"
#include "tools/common/tool.h"

enum { BENCH_PEAKS = 6 /* generations of which types.def has the peaks */ };

typedef struct bench_type {
    const char *name;
    tile_scalar operand, result;
    int cublas_operand, cublas_result, cublas_compute, cublas_scale;
    unsigned peak[BENCH_PEAKS]; /* FLOP in a clock of a multiprocessor: types.def */
} bench_type;

typedef struct bench_product {
    int64_t m, n, k;
    const bench_type *type;
    bool transposed_a, transposed_b;
} bench_product;

/* NULL if there is no such name; NULL past the end. */
const bench_type *bench_type_find(const char *name);
/* FLOP in a clock of a multiprocessor of this compute capability (90: 9.0), 0: not known. */
unsigned bench_type_peak(const bench_type *type, unsigned capability);

/* "NT"; false if it is none. */
bool bench_read_trans(const char *text, bench_product *product);
const char *bench_trans_name(const bench_product *product);

/* What products of this type are summed in. */
tile_scalar bench_type_sum(const bench_type *type);

double bench_product_flop(const bench_product *product);
/* Of a and b. */
double bench_product_read_bytes(const bench_product *product);
double bench_product_write_bytes(const bench_product *product);

#endif
