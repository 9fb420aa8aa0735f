/* Summary statistics of many times. */
#ifndef TILE_TOOLS_TILE_BENCH_COMMON_STATISTICS_H
#define TILE_TOOLS_TILE_BENCH_COMMON_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

typedef struct bench_summary {
    size_t count;
    double least, median, most;
    double spread; /* half of the interquartile range */
} bench_summary;

/* Sorts the times. All results are zero if there are none. */
bench_summary bench_summarize(double *times, size_t count);

/* Fills order[] with a random permutation of 0 .. count - 1. Advances the state, whose initial
 * value is arbitrary. */
void bench_shuffle(unsigned *order, unsigned count, uint64_t *state);
/* Returns a random integer below limit, which must be above 0. */
uint64_t bench_random(uint64_t *state, uint64_t limit);
/* Returns the index-th number, of 64 random bits, of the sequence that begins with this state:
 * bench_random returns it modulo the limit. */
uint64_t bench_random_at(uint64_t state, uint64_t index);

#endif
