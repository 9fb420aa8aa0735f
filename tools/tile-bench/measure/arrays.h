/* A problem's arrays in the memory of a device. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_ARRAYS_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_ARRAYS_H

#include "tools/tile-bench/attention/inputs.h"
#include "tools/tile-bench/common/lab.h"
#include "tools/tile-bench/matmul/operands.h"
#include "tools/tile-bench/measure/problem.h"
#include "tools/tile-bench/rows/check.h"

/* Zero-initialize. */
typedef struct bench_arrays {
    bench_problem problem;
    bench_array arrays[BENCH_MAX_ARRAYS];
    bench_memory memory[BENCH_MAX_ARRAYS];
    unsigned count;
    bench_pattern *pattern;  /* for attention's inputs; NULL: not created yet */
    bench_operands operands; /* for products; kept like the pattern */
    unsigned fill; /* if is_filled, what the operands contain: a bench_fill or bench_inputs */
    bool is_filled;
} bench_arrays;

/* Allocates all arrays of its problem and fills in the constants. If the problem is only being
 * prepared, the arrays get addresses but no memory. */
tile_status bench_arrays_allocate(bench_lab *lab, bench_arrays *arrays);
tile_status bench_arrays_reserve_only(bench_lab *lab, bench_arrays *arrays);
/* Frees the problem's arrays; what they are filled with is kept. */
void bench_arrays_free(bench_lab *lab, bench_arrays *arrays);
/* Frees everything. */
void bench_arrays_destroy(bench_lab *lab, bench_arrays *arrays);

/* Fills the operands unless they already contain this: bench_inputs of attention, else a
 * bench_fill. */
tile_status bench_arrays_fill(bench_lab *lab, bench_arrays *arrays, unsigned fill);
/* Fills the operands with the values that are used in measurements. */
tile_status bench_arrays_fill_random(bench_lab *lab, bench_arrays *arrays);

tile_buffer *bench_arrays_result(const bench_arrays *arrays);
/* Fills the result with values that no correct result contains. */
tile_status bench_arrays_poison(bench_lab *lab, bench_arrays *arrays);

#endif
