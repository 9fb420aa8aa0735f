/* Generates the inputs of attention. */
#include "tools/tile-bench/attention/inputs.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/common/floats.h"
#include "tools/tile-bench/common/statistics.h"
#include "tools/tile-bench/common/threads.h"

enum { PERIOD = BENCH_PATTERN_COUNT, ARRAYS = 3 };

struct bench_pattern {
    const bench_type *type;
    float numbers[ARRAYS][PERIOD];
    float rounded[ARRAYS][PERIOD];             /* their values after rounding to the type */
    uint64_t stored[ARRAYS][(PERIOD + 1) / 2]; /* as stored in memory, up to 4 bytes each */
};

/* The pattern ---------------------------------------------------------------------------------- */

/* Fills an array with sums of four uniform numbers, scaled to standard deviation 1. */
static void make_numbers(size_t array, void *user) {
    const double words = 65536, mean = 2 * (words - 1), deviation = words / sqrt(3);
    bench_pattern *p = user;
    tile_scalar scalar = p->type->operand;
    uint64_t state = 7 + array;
    for (unsigned i = 0; i < PERIOD; i++) {
        uint64_t r = bench_random(&state, UINT64_MAX), sum = 0;
        for (; r; r >>= 16) sum += r & 0xffff;
        p->numbers[array][i] = (float)(((double)sum - mean) / deviation);
    }
    bench_store_floats(scalar, p->numbers[array], PERIOD, p->stored[array]);
    bench_load_floats(scalar, p->stored[array], PERIOD, p->rounded[array]);
}

bench_pattern *bench_pattern_create(const bench_type *type) {
    bench_pattern *p = malloc(sizeof *p);
    assert(tile_scalar_bytes(type->operand) <= 4);
    if (!p) {
        fputs("error: out of memory\n", stderr);
        exit(1);
    }
    p->type = type;
    bench_share(ARRAYS, make_numbers, p);
    return p;
}

void bench_pattern_destroy(bench_pattern *pattern) {
    free(pattern);
}

const bench_type *bench_pattern_type(const bench_pattern *pattern) {
    return pattern->type;
}

const float *bench_pattern_numbers(const bench_pattern *pattern, unsigned array) {
    return pattern->numbers[array];
}

/* Elements ------------------------------------------------------------------------------------- */

bool bench_attention_repeats(bench_inputs inputs, unsigned array) {
    return array == 1 && inputs == BENCH_INPUTS_equal;
}

bool bench_attention_changes(bench_inputs inputs, unsigned array) {
    if (inputs == BENCH_INPUTS_large) return array == 0;
    return array == 1 && inputs != BENCH_INPUTS_random;
}

float bench_attention_factor(const bench_attention *a, bench_inputs inputs, unsigned array,
                             int64_t row) {
    double place = (double)row / (double)a->n;
    if (!bench_attention_changes(inputs, array)) return 1;
    switch (inputs) {
    case BENCH_INPUTS_large: return 6;
    case BENCH_INPUTS_late: return (float)(0.2 + 12 * place);
    case BENCH_INPUTS_early: return (float)(12.2 - 12 * place);
    case BENCH_INPUTS_spiky: return row % 97 == 31 ? 8 : 1;
    case BENCH_INPUTS_random:
    case BENCH_INPUTS_equal:
    case BENCH_INPUTS_COUNT: break;
    }
    return 1;
}

/* The elements to write, and their destination. */
typedef struct filling {
    const bench_attention *a;
    const bench_pattern *pattern;
    bench_inputs inputs;
    unsigned array;
    int64_t first;
    size_t count;
    char *out;     /* in the operand's type, or */
    float *floats; /* as floats */
} filling;

/* Copies unscaled numbers, starting at one index of the pattern. */
static void copy_numbers(const filling *f, size_t number, size_t from, size_t count) {
    size_t width = tile_scalar_bytes(f->a->type->operand);
    if (f->floats)
        memcpy(f->floats + from, f->pattern->rounded[f->array] + number, count * sizeof(float));
    else
        memcpy(f->out + from * width, (const char *)f->pattern->stored[f->array] + number * width,
               count * width);
}

static void scale_numbers(const filling *f, size_t number, size_t from, size_t count,
                          float factor) {
    enum { PIECE = 256 };
    tile_scalar scalar = f->a->type->operand;
    const float *numbers = f->pattern->numbers[f->array] + number;
    for (size_t at = 0; at < count; at += PIECE) {
        float rescaled_value[PIECE];
        uint32_t stored[PIECE];
        size_t now = count - at < PIECE ? count - at : PIECE;
        void *to = f->floats ? (void *)stored : f->out + (from + at) * tile_scalar_bytes(scalar);
        for (size_t i = 0; i < now; i++) rescaled_value[i] = factor * numbers[at + i];
        bench_store_floats(scalar, rescaled_value, now, to);
        if (f->floats) bench_load_floats(scalar, stored, now, f->floats + from + at);
    }
}

/* Fills elements of one row, or of several rows without a factor. */
static void fill_run(const filling *f, int64_t number, size_t from, size_t count, float factor) {
    while (count) {
        size_t at = (size_t)(number % PERIOD), now = PERIOD - at < count ? PERIOD - at : count;
        if (factor == 1)
            copy_numbers(f, at, from, now);
        else
            scale_numbers(f, at, from, now, factor);
        number += (int64_t)now;
        from += now;
        count -= now;
    }
}

static void fill(const filling *f, size_t begin, size_t end) {
    const int64_t d = f->a->d, rows = f->array == 0 ? f->a->m : f->a->n;
    if (!bench_attention_changes(f->inputs, f->array)) {
        fill_run(f, f->first + (int64_t)begin, begin, end - begin, 1);
        return;
    }
    for (size_t i = begin, count; i < end; i += count) {
        int64_t element = f->first + (int64_t)i, row = element / d % rows;
        count = (size_t)(d - element % d);
        if (count > end - i) count = end - i;
        if (bench_attention_repeats(f->inputs, f->array)) element -= row * d;
        fill_run(f, element, i, count, bench_attention_factor(f->a, f->inputs, f->array, row));
    }
}

enum { SHARE = 1 << 18 }; /* elements */

static void fill_share(size_t index, void *user) {
    const filling *f = user;
    size_t begin = index * SHARE;
    fill(f, begin, f->count - begin < SHARE ? f->count : begin + SHARE);
}

void bench_attention_fill(const bench_attention *a, const bench_pattern *pattern,
                          bench_inputs inputs, unsigned array, int64_t first, size_t count,
                          void *out) {
    filling f = {a, pattern, inputs, array, first, count, out, NULL};
    assert(pattern->type == a->type);
    bench_share((count + SHARE - 1) / SHARE, fill_share, &f);
}

void bench_attention_expand(const bench_attention *a, const bench_pattern *pattern,
                            bench_inputs inputs, unsigned array, int64_t first, size_t count,
                            float *out) {
    const filling f = {a, pattern, inputs, array, first, count, NULL, out};
    assert(pattern->type == a->type);
    fill(&f, 0, count);
}
