/* Reference results for attention: some rows in f64, computed once for all candidates. */
#ifndef TILE_TOOLS_TILE_BENCH_ATTENTION_REFERENCE_H
#define TILE_TOOLS_TILE_BENCH_ATTENTION_REFERENCE_H

#include "tools/tile-bench/attention/inputs.h"

/* How far a result is from the reference, in the rows that the reference has. */
typedef struct bench_error {
    double most;     /* the largest difference */
    double norm;     /* norm of the differences, relative to the norm of the reference */
    double share;    /* the largest difference / error that rounding explains: wrong if above 1 */
    bool all;        /* every row was compared */
    char wrong[160]; /* empty: nothing is wrong */
} bench_error;

typedef struct bench_reference bench_reference;

/* Uses all cores. Computes all rows if there are few, else some rows of each head or of some
 * heads. */
bench_reference *bench_reference_create(const bench_attention *attention,
                                        const bench_pattern *pattern, bench_inputs inputs);
void bench_reference_destroy(bench_reference *reference);
size_t bench_reference_rows(const bench_reference *reference);

/* Compares o, in its memory layout. The whole result is searched for NaN and infinities. */
void bench_reference_compare(const bench_reference *reference, const void *o, bench_error *error);

#endif
