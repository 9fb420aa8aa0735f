/* Regret: how much slower the model's first choice is than the fastest of the measured points. */
#ifndef TILE_TOOLS_TILE_BENCH_RANDOM_REGRET_H
#define TILE_TOOLS_TILE_BENCH_RANDOM_REGRET_H

#include "tools/tile-bench/report/report.h"

/* One kernel at one problem: rows whose origin is known and that have a time. */
typedef struct bench_space {
    const bench_row **rows;
    double *estimates; /* the model's, in any unit; 0: the point is not in the space any more */
    size_t count, known;
    const bench_row *first, *best; /* by estimate, by time, of those that are known */
    double regret;                 /* 0.03: first takes 3 % longer than best */
} bench_space;

/* Finds the spaces of a report, with estimates from the column estimate_us. */
bench_space *bench_find_spaces(const bench_report *report, size_t *count);
void bench_free_spaces(bench_space *spaces, size_t count);
/* Computes the other fields from the rows and the estimates. */
void bench_set_regret(bench_space *space);

#endif
