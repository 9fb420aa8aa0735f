/* The inputs of attention: all of them from the same random numbers, whoever makes them.
 *
 * Element e of an array, counted as it lies in memory, is number e modulo their count of the
 * array's own numbers, times the factor of its row, in f32, rounded to the operand's type. */
#ifndef TILE_TOOLS_TILE_BENCH_ATTENTION_INPUTS_H
#define TILE_TOOLS_TILE_BENCH_ATTENTION_INPUTS_H

#include "tools/tile-bench/attention/heads.h"

enum { BENCH_PATTERN_COUNT = 1048573 }; /* the largest prime below 2^20 */

/* The numbers, and what they are in one type. */
typedef struct bench_pattern bench_pattern;

bench_pattern *bench_pattern_create(const bench_type *type);
void bench_pattern_destroy(bench_pattern *pattern);
const bench_type *bench_pattern_type(const bench_pattern *pattern);
/* BENCH_PATTERN_COUNT of them; 0: q, 1: k, 2: v. */
const float *bench_pattern_numbers(const bench_pattern *pattern, unsigned array);

/* Whether an array is another one with these inputs than with random ones. */
bool bench_attention_changes(bench_inputs inputs, unsigned array);
/* What a row of an array is multiplied by. */
float bench_attention_factor(const bench_attention *attention, bench_inputs inputs, unsigned array,
                             int64_t row);
/* Whether all rows of an array have the numbers of the first one, for each head. */
bool bench_attention_repeats(bench_inputs inputs, unsigned array);

/* Writes `count` elements of an array, from element `first` on, on all cores if they are many. The
 * pattern is of the attention's type. */
void bench_attention_fill(const bench_attention *attention, const bench_pattern *pattern,
                          bench_inputs inputs, unsigned array, int64_t first, size_t count,
                          void *out);
/* The same as floats, on this thread alone. */
void bench_attention_expand(const bench_attention *attention, const bench_pattern *pattern,
                            bench_inputs inputs, unsigned array, int64_t first, size_t count,
                            float *out);

#endif
