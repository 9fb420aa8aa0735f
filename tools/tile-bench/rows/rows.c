#include "tools/tile-bench/rows/rows.h"

#include <stdio.h>
#include <string.h>

enum { TILE_own = TILE_SCALAR_NONE };

static const bench_rows_op ops[BENCH_ROWS_COUNT] = {
#define OP(name, file, kernel, compute, result, form, weights, exact, meaning) \
    {#name,   file,  kernel, compute, (tile_scalar)TILE_##result, BENCH_FORM_##form, \
     weights, exact, meaning},
#include "tools/tile-bench/rows/ops.def"
#undef OP
};

const bench_rows_op *bench_rows_op_of(bench_rows_id op) {
    return &ops[op];
}

bool bench_rows_find(const char *name, bench_rows_id *op) {
    for (int i = 0; i < BENCH_ROWS_COUNT; i++)
        if (strcmp(ops[i].name, name) == 0) {
            *op = (bench_rows_id)i;
            return true;
        }
    return false;
}

void bench_rows_describe(void) {
    for (int i = 0; i < BENCH_ROWS_COUNT; i++)
        printf("                          %-10s %s\n", ops[i].name, ops[i].meaning);
}

tile_scalar bench_rows_result(const bench_rows *r) {
    tile_scalar result = ops[r->op].result;
    return result == TILE_SCALAR_NONE ? r->type->operand : result;
}

void bench_rows_result_extents(const bench_rows *r, int64_t extents[2]) {
    bench_rows_form form = ops[r->op].form;
    extents[0] = form == BENCH_FORM_turned ? r->n : r->m;
    extents[1] = form == BENCH_FORM_turned ? r->m : form == BENCH_FORM_column ? 1 : r->n;
}

double bench_rows_read_bytes(const bench_rows *r) {
    return (double)tile_scalar_bytes(r->type->operand) * (double)r->n *
           ((double)r->m + ops[r->op].weights);
}

double bench_rows_write_bytes(const bench_rows *r) {
    int64_t extents[2];
    bench_rows_result_extents(r, extents);
    return (double)tile_scalar_bytes(bench_rows_result(r)) * (double)extents[0] *
           (double)extents[1];
}
