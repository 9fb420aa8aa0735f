#include "tools/tile-bench/random/regret.h"

#include <stdlib.h>
#include <string.h>

static bool is_measured(const bench_row *row) {
    return row->cells[BENCH_origin].known && bench_number_of(row, BENCH_latency_us) > 0;
}

static bool has_text(const bench_row *row, bench_column column, const char *text) {
    const char *own = bench_text_of(row, column);
    return strcmp(own ? own : "", text ? text : "") == 0;
}

static bool is_same_space(const bench_row *a, const bench_row *b) {
    return a->group == b->group && has_text(a, BENCH_name, bench_text_of(b, BENCH_name)) &&
           has_text(a, BENCH_source, bench_text_of(b, BENCH_source));
}

void bench_set_regret(bench_space *s) {
    double least_estimate = 0, least_us = 0;
    s->known = 0;
    s->first = s->best = NULL;
    for (size_t i = 0; i < s->count; i++) {
        double us = bench_number_of(s->rows[i], BENCH_latency_us);
        if (s->estimates[i] <= 0) continue;
        s->known++;
        if (!s->first || s->estimates[i] < least_estimate) {
            s->first = s->rows[i];
            least_estimate = s->estimates[i];
        }
        if (!s->best || us < least_us) {
            s->best = s->rows[i];
            least_us = us;
        }
    }
    s->regret = s->first ? bench_number_of(s->first, BENCH_latency_us) / least_us - 1 : 0;
}

static void *need(void *memory) {
    if (!memory) abort();
    return memory;
}

bench_space *bench_find_spaces(const bench_report *r, size_t *count) {
    bench_space *spaces = need(calloc(r->count + 1, sizeof *spaces));
    bool *taken = need(calloc(r->count + 1, sizeof *taken));
    *count = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (taken[i] || !is_measured(&r->rows[i])) continue;
        bench_space *s = &spaces[(*count)++];
        size_t end = i;
        while (end < r->count && r->rows[end].group == r->rows[i].group) end++;
        s->rows = need(calloc(end - i, sizeof *s->rows));
        s->estimates = need(calloc(end - i, sizeof *s->estimates));
        for (size_t k = i; k < end; k++) {
            const bench_row *row = &r->rows[k];
            if (!is_measured(row) || !is_same_space(&r->rows[i], row)) continue;
            taken[k] = true;
            s->rows[s->count] = row;
            s->estimates[s->count++] = bench_number_of(row, BENCH_estimate_us);
        }
        bench_set_regret(s);
    }
    free(taken);
    return spaces;
}

void bench_free_spaces(bench_space *spaces, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free(spaces[i].rows);
        free(spaces[i].estimates);
    }
    free(spaces);
}
