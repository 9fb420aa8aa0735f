/* What is said of many times. */
#ifndef TILE_TOOLS_TILE_BENCH_COMMON_STATISTICS_H
#define TILE_TOOLS_TILE_BENCH_COMMON_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

typedef struct bench_summary {
    size_t count;
    double least, median, most;
    double spread; /* half of what lies between the first quartile and the third */
} bench_summary;

/* Sorts the times. All zero where there are none. */
bench_summary bench_summarize(double *times, size_t count);

/* Puts 0 .. count - 1 into order[] as chance has it; the state goes on, and may start anywhere. */
void bench_shuffle(unsigned *order, unsigned count, uint64_t *state);
/* A whole number below limit, which is above 0. */
uint64_t bench_random(uint64_t *state, uint64_t limit);

#endif
