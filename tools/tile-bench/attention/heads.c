/* Problem sizes of attention, and the kinds of its inputs. */
#include "tools/tile-bench/attention/heads.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *meaning;
} checks[BENCH_INPUTS_COUNT] = {
#define CHECK(name, meaning) {#name, meaning},
#include "tools/tile-bench/attention/checks.def"
#undef CHECK
};

const char *bench_inputs_name(unsigned inputs) {
    return inputs < BENCH_INPUTS_COUNT ? checks[inputs].name : NULL;
}

bool bench_inputs_find(const char *name, bench_inputs *inputs) {
    for (unsigned i = 0; i < BENCH_INPUTS_COUNT; i++)
        if (strcmp(checks[i].name, name) == 0) {
            *inputs = (bench_inputs)i;
            return true;
        }
    return false;
}

void bench_inputs_describe(void) {
    for (unsigned i = 0; i < BENCH_INPUTS_COUNT; i++)
        printf("                          %-8s %s\n", checks[i].name, checks[i].meaning);
}

/* Sizes --------------------------------------------------------------------------------------- */

double bench_attention_flop(const bench_attention *a) {
    double m = (double)a->m, n = (double)a->n, own = m < n ? m : n;
    double scores = a->causal ? own * (n - own) + own * own / 2 : m * n;
    return 4 * (double)a->batch * (double)a->heads * (double)a->d * scores;
}

double bench_attention_read_bytes(const bench_attention *a) {
    double q = (double)a->heads * (double)a->m, keys = 2 * (double)a->groups * (double)a->n;
    return tile_scalar_bytes(a->type->operand) * (double)a->batch * (double)a->d * (q + keys);
}

double bench_attention_write_bytes(const bench_attention *a) {
    return tile_scalar_bytes(a->type->result) * (double)a->batch * (double)a->heads * (double)a->m *
           (double)a->d;
}

double bench_attention_scale(const bench_attention *a) {
    return (float)(1 / sqrt((double)a->d));
}

bool bench_attention_stores_v_transposed(const bench_attention *a) {
    return tile_scalar_bytes(a->type->operand) == 1;
}
