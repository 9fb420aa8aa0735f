/* Operands of operations on rows, and the check of a result on the host. */
#ifndef TILE_TOOLS_TILE_BENCH_ROWS_CHECK_H
#define TILE_TOOLS_TILE_BENCH_ROWS_CHECK_H

#include "tools/tile-bench/matmul/operands.h"
#include "tools/tile-bench/rows/rows.h"

/* Writes x, w and b. BENCH_WHOLE: what the check expects; x has integers from -8 to 8, with many
 * equal ones, if the operation is exact on these. */
tile_status bench_rows_fill(const bench_rows *rows, bench_fill fill, tile_buffer *x, tile_buffer *w,
                            tile_buffer *b);

/* Compares y with f64 on BENCH_WHOLE operands: for equality if the operation is exact, else with
 * the rounding of the result's type and a few steps of f32. If there are many rows, the first, the
 * last and random ones are compared; then verdict->by_elements is false. */
tile_status bench_rows_check(const bench_rows *rows, const tile_buffer *y, bench_verdict *verdict);

#endif
