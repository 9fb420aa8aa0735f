/* Counters of a candidate, from Nsight Compute's ncu. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_PROFILE_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

/* Counters of one launch, which may run several kernels. Ratios are 0 to 1; -1: ncu did not report
 * it. */
typedef struct bench_counters {
    double microseconds; /* sum over all its kernels */
    /* Of the longest kernel. */
    double sm, dram, l2_hit, occupancy;
} bench_counters;

/* Runs a worker with these words under the ncu at that path, on the problem in `product`. The
 * kernel uses the measured point ("a=1 b=2 (best of 9)"; NULL: as the words say). Returns false,
 * with the reason in `why`, if there are no counters. */
bool bench_profile(const char *ncu, const char *const *words, const char *point,
                   const char *product, double answer_timeout, bench_counters *counters, char *why,
                   size_t why_size);

#endif
