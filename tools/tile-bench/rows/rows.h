/* An operation on rows to measure: y = op(x[m, n]), row-major. */
#ifndef TILE_TOOLS_TILE_BENCH_ROWS_ROWS_H
#define TILE_TOOLS_TILE_BENCH_ROWS_ROWS_H

#include "tools/tile-bench/matmul/product.h"

typedef enum bench_rows_id {
#define OP(name, file, kernel, compute, result, form, weights, exact, meaning) BENCH_ROWS_##name,
#include "tools/tile-bench/rows/ops.def"
#undef OP
    BENCH_ROWS_COUNT
} bench_rows_id;

typedef enum bench_rows_form {
    BENCH_FORM_same,
    BENCH_FORM_column,
    BENCH_FORM_turned
} bench_rows_form;

typedef struct bench_rows_op {
    const char *name, *file, *kernel, *compute; /* ops.def */
    tile_scalar result;                         /* TILE_SCALAR_NONE: the operand's type */
    bench_rows_form form;
    unsigned weights;
    bool exact;
    const char *meaning;
} bench_rows_op;

typedef struct bench_rows {
    bench_rows_id op;
    int64_t m, n;
    const bench_type *type; /* of x and the weights */
} bench_rows;

const bench_rows_op *bench_rows_op_of(bench_rows_id op);
/* False if there is no such operation. */
bool bench_rows_find(const char *name, bench_rows_id *op);
/* Prints the names and their meanings for --help. */
void bench_rows_describe(void);

tile_scalar bench_rows_result(const bench_rows *rows);
/* Rows and columns of y. */
void bench_rows_result_extents(const bench_rows *rows, int64_t extents[2]);
double bench_rows_read_bytes(const bench_rows *rows);
double bench_rows_write_bytes(const bench_rows *rows);

/* The constant that norms add to the variance. */
#define BENCH_ROWS_EPSILON 1e-5

#endif
