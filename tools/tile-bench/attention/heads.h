/* Attention to be measured: o = softmax(q x k^T / sqrt(d)) x v for each batch and head, where
 * neighbouring heads share the keys of a group. All arrays are row-major [batch, heads or groups,
 * rows, d]. With `causal` a row sees the keys up to its own, counted from the last ones. */
#ifndef TILE_TOOLS_TILE_BENCH_ATTENTION_HEADS_H
#define TILE_TOOLS_TILE_BENCH_ATTENTION_HEADS_H

#include "tools/tile-bench/matmul/product.h"

typedef struct bench_attention {
    int64_t batch, heads, groups, m, n, d;
    bool causal;
    const bench_type *type; /* of q, k and v; o has its result */
    int64_t page;           /* keys in one, where a candidate wants them in pages; else 0 */
} bench_attention;

/* Numbers of checks.def. */
typedef enum bench_inputs {
#define CHECK(name, meaning) BENCH_INPUTS_##name,
#include "tools/tile-bench/attention/checks.def"
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

#endif
