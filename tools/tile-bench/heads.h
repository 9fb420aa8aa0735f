/* Attention to be measured: o = softmax(q x k^T / sqrt(d)) x v for each batch and head, where
 * neighbouring heads share the keys of a group. All arrays are row-major [batch, heads or groups,
 * rows, d]. With `causal` a row sees the keys up to its own, counted from the last ones. */
#ifndef TILE_TOOLS_TILE_BENCH_HEADS_H
#define TILE_TOOLS_TILE_BENCH_HEADS_H

#include "tools/tile-bench/product.h"

typedef struct bench_attention {
    int64_t batch, heads, groups, m, n, d;
    bool causal;
    const bench_type *type; /* of q, k and v; o has its result */
} bench_attention;

/* Numbers of checks.def. */
typedef enum bench_inputs {
#define CHECK(name, meaning) BENCH_INPUTS_##name,
#include "tools/tile-bench/checks.def"
#undef CHECK
    BENCH_INPUTS_COUNT
} bench_inputs;

/* NULL past the end. */
const char *bench_inputs_name(unsigned inputs);
/* False if there is none of this name. */
bool bench_inputs_find(const char *name, bench_inputs *inputs);
/* For --help: the names and what they are. */
void bench_inputs_describe(void);

/* 4 d for each score, of which a row of causal attention has half of its own key's: so a square is
 * half of what it is without. */
double bench_attention_flop(const bench_attention *attention);
/* Of q, k and v. */
double bench_attention_read_bytes(const bench_attention *attention);
double bench_attention_write_bytes(const bench_attention *attention);
double bench_attention_scale(const bench_attention *attention);
/* Whether v has its keys one after the other, [.., d, n], as warpgroups need 8-bit elements. */
bool bench_attention_turns_v(const bench_attention *attention);

/* Random numbers from which all inputs are made, the same everywhere. */
typedef struct bench_pattern bench_pattern;

bench_pattern *bench_pattern_create(void);
void bench_pattern_destroy(bench_pattern *pattern);

/* Writes `count` elements of an array (0: q, 1: k, 2: v), from element `first` on. */
void bench_attention_fill(const bench_attention *attention, const bench_pattern *pattern,
                          bench_inputs inputs, unsigned array, int64_t first, size_t count,
                          void *out);

/* How far a result is from the one in f64, in the rows that were looked at: all if they are few. */
typedef struct bench_error {
    double most; /* the largest difference */
    double norm; /* of the differences, over that of the reference */
    double
        share; /* the largest difference over what rounding explains there: above 1 it is wrong */
    bool all;  /* every row was looked at */
    char wrong[160]; /* empty: nothing is */
} bench_error;

/* Compares o, as it lies in memory. A NaN or an infinity is looked for everywhere. */
void bench_attention_check(const bench_attention *attention, const bench_pattern *pattern,
                           bench_inputs inputs, const void *o, bench_error *error);

#endif
