/* A product to measure: c[m, n] = a[m, k] x b[k, n], all row-major. A letter T means that the
 * operand is stored transposed. */
#ifndef TILE_TOOLS_TILE_BENCH_MATMUL_PRODUCT_H
#define TILE_TOOLS_TILE_BENCH_MATMUL_PRODUCT_H

#include "tile/ir.h"
#include "tools/common/tool.h"

enum { BENCH_PEAKS = 6 /* GPU generations whose peaks are in types.def */ };

typedef struct bench_type {
    const char *name;
    tile_scalar operand, result;
    const char *precision; /* of a compute's `matmul` */
    int cublas_operand, cublas_result, cublas_compute, cublas_scale;
    unsigned peak[BENCH_PEAKS]; /* FLOP per clock and SM: types.def */
} bench_type;

typedef struct bench_product {
    int64_t m, n, k;
    const bench_type *type;
    bool transposed_a, transposed_b;
} bench_product;

/* Returns NULL for an unknown name. */
const bench_type *bench_type_find(const char *name);
/* FLOP per clock and SM at this compute capability (90: 9.0); 0: unknown. */
unsigned bench_type_peak(const bench_type *type, unsigned capability);

/* Parses "NT"; false if invalid. */
bool bench_read_trans(const char *text, bench_product *product);
const char *bench_trans_name(const bench_product *product);

/* Products of other types are not computed by kernels, only by computes. */
bool bench_type_is_ieee(const bench_type *type);

/* The accumulator type of products of this type. */
tile_scalar bench_type_sum(const bench_type *type);

double bench_product_flop(const bench_product *product);
/* Bytes of a and b. */
double bench_product_read_bytes(const bench_product *product);
double bench_product_write_bytes(const bench_product *product);

#endif
