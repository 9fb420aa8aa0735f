/* An attention problem to measure: o = softmax(q x k^T / sqrt(d)) x v for each batch and head,
 * where adjacent heads share the keys of a group. All arrays are row-major [batch, heads or groups,
 * rows, d]. With `causal`, a row sees the keys up to its own position, counted from the last
 * key. */
#ifndef TILE_TOOLS_TILE_BENCH_ATTENTION_HEADS_H
#define TILE_TOOLS_TILE_BENCH_ATTENTION_HEADS_H

#include "tools/tile-bench/matmul/product.h"

typedef struct bench_attention {
    int64_t batch, heads, groups, m, n, d;
    bool causal;
    const bench_type *type; /* of q, k and v; o has the type's result */
    int64_t page;           /* keys per page if the candidate needs paged keys; else 0 */
} bench_attention;

/* Indices into checks.def. */
typedef enum bench_inputs {
#define CHECK(name, meaning) BENCH_INPUTS_##name,
#include "tools/tile-bench/attention/checks.def"
#undef CHECK
    BENCH_INPUTS_COUNT
} bench_inputs;

/* Returns NULL past the end. */
const char *bench_inputs_name(unsigned inputs);
/* Returns false if the name is unknown. */
bool bench_inputs_find(const char *name, bench_inputs *inputs);
/* Prints the names and their meanings for --help. */
void bench_inputs_describe(void);

/* Counts 4 d FLOP for each score. Under a causal mask a row counts half of its own key's score, so
 * a square problem has half the FLOP of the unmasked one. */
double bench_attention_flop(const bench_attention *attention);
/* Bytes of q, k and v. */
double bench_attention_read_bytes(const bench_attention *attention);
double bench_attention_write_bytes(const bench_attention *attention);
double bench_attention_scale(const bench_attention *attention);
/* True if v is stored transposed, as [.., d, n], which wgmma requires for 8-bit elements. */
bool bench_attention_stores_v_transposed(const bench_attention *attention);

#endif
