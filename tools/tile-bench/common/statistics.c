/* Medians, quartiles and random orders. */
#include "tools/tile-bench/common/statistics.h"

#include <math.h>
#include <stdlib.h>

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns a quantile of sorted numbers, interpolated between neighbors (type 7 of Hyndman and Fan,
 * "Sample quantiles in statistical packages", 1996). */
static double quantile(const double *sorted, size_t count, double share) {
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    double above = below + 1 < count ? sorted[below + 1] : sorted[below];
    return sorted[below] + (place - floor(place)) * (above - sorted[below]);
}

bench_summary bench_summarize(double *times, size_t count) {
    if (!count) return (bench_summary){0};
    qsort(times, count, sizeof *times, by_size);
    return (bench_summary){
        .count = count,
        .least = times[0],
        .median = quantile(times, count, 0.5),
        .most = times[count - 1],
        .spread = (quantile(times, count, 0.75) - quantile(times, count, 0.25)) / 2,
    };
}

/* SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). */
static const uint64_t step = UINT64_C(0x9E3779B97F4A7C15);

uint64_t bench_random_at(uint64_t state, uint64_t index) {
    uint64_t z = state + (index + 1) * step;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

uint64_t bench_random(uint64_t *state, uint64_t limit) {
    uint64_t number = bench_random_at(*state, 0);
    *state += step;
    return number % limit;
}

void bench_shuffle(unsigned *order, unsigned count, uint64_t *state) {
    for (unsigned i = 0; i < count; i++) {
        unsigned place = (unsigned)bench_random(state, i + 1);
        order[i] = order[place];
        order[place] = i;
    }
}
