/* Paged keys and values. */
#include "tools/tile-bench/attention/pages.h"

#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/common/threads.h"

int64_t bench_pages_each(const bench_attention *a) {
    return (a->n + a->page - 1) / a->page;
}

int64_t bench_pages_count(const bench_attention *a) {
    return a->batch * bench_pages_each(a);
}

static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Returns a step that is coprime with the number of pages, so that its multiples visit every page
 * once, in a scattered order. */
static int64_t step_of(int64_t pages) {
    int64_t step = pages * 5 / 8 + 1;
    while (greatest_divisor(step, pages) != 1) step++;
    return step;
}

int32_t *bench_pages_table(const bench_attention *a) {
    int64_t pages = bench_pages_count(a), step = step_of(pages), page = pages / 3;
    int32_t *table = malloc((size_t)pages * sizeof *table);
    if (!table) abort();
    for (int64_t place = 0; place < pages; place++, page = (page + step) % pages)
        table[place] = (int32_t)page;
    return table;
}

typedef struct filling {
    const bench_attention *a;
    const bench_pattern *pattern;
    bench_inputs inputs;
    unsigned array;
    int64_t first;
    const int64_t *places; /* position of each page in the table */
    char *out;
} filling;

static void fill_page(size_t index, void *user) {
    const filling *f = user;
    const bench_attention *a = f->a;
    const size_t row = (size_t)a->d * tile_scalar_bytes(a->type->operand);
    int64_t place = f->places[f->first + (int64_t)index], each = bench_pages_each(a);
    int64_t batch = place / each, key = place % each * a->page;
    char *to = f->out + index * (size_t)(a->page * a->groups) * row;
    for (int64_t j = 0; j < a->page; j++)
        for (int64_t g = 0; g < a->groups; g++, to += row) {
            int64_t from = ((batch * a->groups + g) * a->n + key + j) * a->d;
            if (key + j < a->n)
                bench_attention_fill(a, f->pattern, f->inputs, f->array, from, (size_t)a->d, to);
            else
                memset(to, 0xff, row);
        }
}

void bench_pages_fill(const bench_attention *a, const bench_pattern *pattern, bench_inputs inputs,
                      unsigned array, int64_t first, int64_t count, void *out) {
    int64_t pages = bench_pages_count(a), *places = malloc((size_t)pages * sizeof *places);
    int32_t *table = bench_pages_table(a);
    if (!places) abort();
    for (int64_t place = 0; place < pages; place++) places[table[place]] = place;
    filling f = {a, pattern, inputs, array, first, places, out};
    bench_share((size_t)count, fill_page, &f);
    free(places);
    free(table);
}
