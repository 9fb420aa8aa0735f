/* Summaries of the ratios of many problems to a peer. */
#ifndef TILE_TOOLS_TILE_BENCH_RANDOM_DISTRIBUTION_H
#define TILE_TOOLS_TILE_BENCH_RANDOM_DISTRIBUTION_H

#include "tools/tile-bench/report/report.h"

typedef struct bench_distribution {
    size_t count;
    double mean; /* geometric */
    double least, most;
    double equal, near_equal; /* shares of ratios of at least 1.00 and 0.95 */
} bench_distribution;

/* All results are zero if there are no ratios. */
bench_distribution bench_distribute(const double *ratios, size_t count);

/* Writes a summary for each candidate, type and layout, of the rows that are not `other`: the
 * distribution of the ratios to the peer, the ten lowest with their points, and what failed. If
 * further points were measured, the fastest one follows. */
void bench_write_distributions(const bench_report *report, tile_writer writer, void *user);
/* "bf16 NT L2 dirty, kernel, 16 x 32 x 64" */
void bench_write_name(const bench_row *row, tile_writer writer, void *user);
/* Writes one line for each kernel among the rows from `first` on. */
void bench_write_ratios(const bench_report *report, size_t first, tile_writer writer, void *user);

#endif
