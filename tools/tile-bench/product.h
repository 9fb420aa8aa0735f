/* A product to be measured: c[m, n] = a[m, k] x b[k, n], all row-major, where a letter T says that
 * the operand lies transposed. */
#ifndef TILE_TOOLS_TILE_BENCH_PRODUCT_H
#define TILE_TOOLS_TILE_BENCH_PRODUCT_H

#include "tile/ir.h"
#include "tools/common/tool.h"

typedef struct bench_type {
    const char *name;
    tile_scalar operand, result;
    int cublas_operand, cublas_result, cublas_compute, cublas_scale;
    unsigned peak[4]; /* FLOP in a clock of a multiprocessor of 8.0, 8.6, 8.9, 9.0 */
} bench_type;

typedef struct bench_product {
    int64_t m, n, k;
    const bench_type *type;
    bool transposed_a, transposed_b;
} bench_product;

/* NULL if there is no such name; NULL past the end. */
const bench_type *bench_type_find(const char *name);
const bench_type *bench_type_at(unsigned index);
/* FLOP in a clock of a multiprocessor of this compute capability (90: 9.0), 0: not known. */
unsigned bench_type_peak(const bench_type *type, unsigned capability);

/* "NT"; false if it is none. */
bool bench_read_trans(const char *text, bench_product *product);
const char *bench_trans_name(const bench_product *product);

/* The text with {type}, {result}, {sum}, {depth} (elements of an operand in 128 bytes) and {trans}
 * (nn, nt, ..) as the product has them. False if it is longer than size - 1. */
bool bench_product_fill(const bench_product *product, const char *text, char *filled, size_t size);

double bench_product_flop(const bench_product *product);
/* Of a and b. */
double bench_product_read_bytes(const bench_product *product);

/* Seconds to tune for it: those that are asked for, or below 0 by its size, since each try of a
 * large product takes longer. */
double bench_product_budget(const bench_product *product, double asked);

/* A list of shapes that grows; start with zeros, free shapes. */
typedef struct bench_shapes {
    int64_t (*shapes)[3];
    size_t count;
} bench_shapes;

/* "16,4096,14336" or "16x4096x14336"; false after a message. */
bool bench_shapes_add(bench_shapes *to, const char *text);
/* A list by its name in shapes.def, or else a file: shapes between blanks, `#` to the end of a line
 * is a comment. False after a message. */
bool bench_shapes_add_list(bench_shapes *to, const char *name);
/* For --help: the names and what they are for. */
void bench_shapes_describe(void);

#endif
