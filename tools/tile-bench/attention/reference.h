/* What attention has to be: some of its rows in f64, computed once for all candidates. */
#ifndef TILE_TOOLS_TILE_BENCH_ATTENTION_REFERENCE_H
#define TILE_TOOLS_TILE_BENCH_ATTENTION_REFERENCE_H

#include "tools/tile-bench/attention/inputs.h"

/* How far a result is from the reference, in the rows that this has. */
typedef struct bench_error {
    double most; /* the largest difference */
    double norm; /* of the differences, over that of the reference */
    double
        share; /* the largest difference over what rounding explains there: above 1 it is wrong */
    bool all;  /* every row was looked at */
    char wrong[160]; /* empty: nothing is */
} bench_error;

typedef struct bench_reference bench_reference;

/* On all cores. All rows if they are few, else some of each head, or of some heads. */
bench_reference *bench_reference_create(const bench_attention *attention,
                                        const bench_pattern *pattern, bench_inputs inputs);
void bench_reference_destroy(bench_reference *reference);
size_t bench_reference_rows(const bench_reference *reference);

/* Compares o, as it lies in memory. A NaN or an infinity is looked for everywhere. */
void bench_reference_compare(const bench_reference *reference, const void *o, bench_error *error);

#endif
