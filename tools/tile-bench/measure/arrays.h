/* A problem's arrays in the memory of a device. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_ARRAYS_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_ARRAYS_H

#include "tools/tile-bench/attention/inputs.h"
#include "tools/tile-bench/common/lab.h"
#include "tools/tile-bench/matmul/operands.h"
#include "tools/tile-bench/measure/problem.h"

/* Start with zeros. */
typedef struct bench_arrays {
    bench_problem problem;
    bench_array arrays[BENCH_MAX_ARRAYS];
    bench_memory memory[BENCH_MAX_ARRAYS];
    unsigned count;
    bench_pattern *pattern; /* of attention's inputs; NULL: not needed yet */
    unsigned fill;          /* what the operands are, if is_filled: bench_fill or bench_inputs */
    bool is_filled;
} bench_arrays;

/* All arrays of its problem, with the constants in them. Those of a problem that is only prepared
 * for have addresses and no memory. */
tile_status bench_arrays_allocate(bench_lab *lab, bench_arrays *arrays);
tile_status bench_arrays_reserve_only(bench_lab *lab, bench_arrays *arrays);
/* The problem has none any more; the pattern stays. */
void bench_arrays_free(bench_lab *lab, bench_arrays *arrays);

/* Fills the operands, if they are not so: bench_fill of a product, bench_inputs of attention. */
tile_status bench_arrays_fill(bench_arrays *arrays, unsigned fill);
/* With what it is measured on. */
tile_status bench_arrays_fill_random(bench_arrays *arrays);

tile_buffer *bench_arrays_result(const bench_arrays *arrays);

#endif
