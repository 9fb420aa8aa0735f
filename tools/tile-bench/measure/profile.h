/* Counters of a candidate, from Nsight Compute's ncu. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_PROFILE_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

/* Of one launch; a plan's has several kernels. Shares are 0 to 1; -1: ncu did not say it. */
typedef struct bench_counters {
    double microseconds; /* of all its kernels */
    /* Of the longest one. */
    double sm, dram, l2_hit, occupancy;
} bench_counters;

/* Runs a worker of these words under the ncu at that path, with a product's line, its kernel at the
 * point that was measured ("a=1 b=2 (best of 9)"; NULL: as the words say); false, and why, if there
 * are no counters. */
bool bench_profile(const char *ncu, const char *const *words, const char *point,
                   const char *product, double patience, bench_counters *counters, char *why,
                   size_t why_size);

#endif
