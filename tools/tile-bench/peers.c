/* Attention by other programs: what they read and write. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/state.h"

bool bench_is_peer(const bench_entry *e) {
    return e->contender->program != NULL;
}

static bool has_peers(const bench_state *r) {
    bool any = false;
    for (unsigned i = 0; i < r->count; i++) any |= bench_is_peer(&r->entries[i]);
    return any && r->problem.is_attention;
}

static size_t bytes_of(const bench_array *array) {
    return (size_t)bench_array_elements(array) * tile_scalar_bytes(array->scalar);
}

bool bench_peers_write(bench_state *r, bench_inputs inputs) {
    bench_array arrays[BENCH_MAX_ARRAYS];
    char path[300];
    bool ok = true;
    if (!has_peers(r)) return true;
    bench_problem_arrays(&r->problem, arrays);
    if (!r->pattern) r->pattern = bench_pattern_create();
    for (unsigned i = 0; ok && arrays[i].role == BENCH_OPERAND; i++) {
        size_t bytes = bytes_of(&arrays[i]);
        char *data = malloc(bytes);
        if (!data) abort();
        bench_attention_fill(&r->problem.attention, r->pattern, inputs, i, 0,
                             (size_t)bench_array_elements(&arrays[i]), data);
        snprintf(path, sizeof path, "%s/%s", r->plan->folder, arrays[i].name);
        ok = tool_write_file(path, data, bytes);
        free(data);
    }
    return ok;
}

/* Its result, of the size that it has to have. */
static char *read_result(const bench_state *r) {
    bench_array arrays[BENCH_MAX_ARRAYS];
    bench_problem_arrays(&r->problem, arrays);
    const bench_array *o = &arrays[bench_problem_result(&r->problem)];
    size_t bytes = bytes_of(o);
    char path[300], *data = malloc(bytes);
    snprintf(path, sizeof path, "%s/%s", r->plan->folder, o->name);
    FILE *file = fopen(path, "rb");
    bool ok = data && file && fread(data, 1, bytes, file) == bytes;
    if (file) fclose(file);
    if (ok) return data;
    free(data);
    return NULL;
}

static void check(bench_state *r, bench_entry *e, bench_inputs inputs) {
    bench_error *error = &e->errors[e->error_count];
    if (!bench_ask(r, e, "inputs", "loaded") || !bench_ask(r, e, "compute", "computed")) return;
    char *o = read_result(r);
    if (!o) {
        bench_find_wrong(e, "it left no result");
        return;
    }
    bench_attention_check(&r->problem.attention, r->pattern, inputs, o, error);
    free(o);
    e->how = error->all ? "right" : "right in some rows";
    e->error_count++;
    if (*error->wrong) bench_find_wrong(e, error->wrong);
}

void bench_peers_check(bench_state *r) {
    const bench_plan *plan = r->plan;
    bool ok = has_peers(r);
    if (!ok) return;
    for (unsigned c = 0; ok && c < plan->check_count && !bench_is_stopped(); c++) {
        ok = bench_peers_write(r, plan->checks[c]);
        for (unsigned i = 0; ok && i < r->count; i++)
            if (bench_is_peer(&r->entries[i]) && r->entries[i].is_ready)
                check(r, &r->entries[i], plan->checks[c]);
    }
    ok = ok && bench_peers_write(r, BENCH_INPUTS_random);
    for (unsigned i = 0; ok && i < r->count; i++)
        if (bench_is_peer(&r->entries[i]) && r->entries[i].is_ready)
            bench_ask(r, &r->entries[i], "inputs", "loaded");
}
