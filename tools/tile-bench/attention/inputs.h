/* The inputs of attention. They are derived from the same random numbers in every process.
 *
 * Element e of an array, in memory order, is number e modulo BENCH_PATTERN_COUNT of the array's own
 * numbers. It is multiplied by the factor of its row in f32 and rounded to the operand's type. */
#ifndef TILE_TOOLS_TILE_BENCH_ATTENTION_INPUTS_H
#define TILE_TOOLS_TILE_BENCH_ATTENTION_INPUTS_H

#include "tools/tile-bench/attention/heads.h"

enum { BENCH_PATTERN_COUNT = 1048573 }; /* the largest prime below 2^20 */

/* The random numbers, and their values in one type. */
typedef struct bench_pattern bench_pattern;

bench_pattern *bench_pattern_create(const bench_type *type);
void bench_pattern_destroy(bench_pattern *pattern);
const bench_type *bench_pattern_type(const bench_pattern *pattern);
/* Returns BENCH_PATTERN_COUNT numbers; 0: q, 1: k, 2: v. */
const float *bench_pattern_numbers(const bench_pattern *pattern, unsigned array);

/* True if an array differs between these inputs and the random ones. */
bool bench_attention_changes(bench_inputs inputs, unsigned array);
/* Returns the factor of a row of an array. */
float bench_attention_factor(const bench_attention *attention, bench_inputs inputs, unsigned array,
                             int64_t row);
/* True if, for each head, all rows of an array repeat the numbers of its first row. */
bool bench_attention_repeats(bench_inputs inputs, unsigned array);

/* Writes `count` elements of an array, starting at element `first`, on all cores if there are many.
 * The pattern must be of the attention's type. */
void bench_attention_fill(const bench_attention *attention, const bench_pattern *pattern,
                          bench_inputs inputs, unsigned array, int64_t first, size_t count,
                          void *out);
/* Same, as floats and on the calling thread only. */
void bench_attention_expand(const bench_attention *attention, const bench_pattern *pattern,
                            bench_inputs inputs, unsigned array, int64_t first, size_t count,
                            float *out);

#endif
