/* Checks attention: each candidate, kernel or other program, writes its result to a file in the
 * plan's folder. All results are compared with the same reference. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/measure/state.h"

bool bench_is_peer(const bench_entry *e) {
    return e->contender->program != NULL;
}

static bool has_peers(const bench_state *r) {
    bool any = false;
    for (unsigned i = 0; i < r->count; i++) any |= bench_is_peer(&r->entries[i]);
    return any;
}

/* Inputs --------------------------------------------------------------------------------------- */

static void take_pattern(bench_state *r) {
    const bench_type *type = r->problem.attention.type;
    if (r->pattern && bench_pattern_type(r->pattern) == type) return;
    bench_pattern_destroy(r->pattern);
    r->pattern = bench_pattern_create(type);
}

static bool write_numbers(const bench_state *r) {
    const size_t count = BENCH_PATTERN_COUNT;
    char path[300];
    float *all = malloc(3 * count * sizeof *all);
    if (!all) abort();
    for (unsigned array = 0; array < 3; array++)
        memcpy(all + array * count, bench_pattern_numbers(r->pattern, array), count * sizeof *all);
    snprintf(path, sizeof path, "%s/numbers", r->plan->folder);
    bool ok = tool_write_file(path, (char *)all, 3 * count * sizeof *all);
    free(all);
    return ok;
}

/* Writes the factors of q's rows, then of k's. */
static bool write_factors(const bench_state *r, bench_inputs inputs) {
    const bench_attention *a = &r->problem.attention;
    char path[300];
    size_t bytes = (size_t)(a->m + a->n) * sizeof(float);
    float *factors = malloc(bytes);
    if (!factors) abort();
    for (int64_t i = 0; i < a->m; i++) factors[i] = bench_attention_factor(a, inputs, 0, i);
    for (int64_t i = 0; i < a->n; i++) factors[a->m + i] = bench_attention_factor(a, inputs, 1, i);
    snprintf(path, sizeof path, "%s/factors", r->plan->folder);
    bool ok = tool_write_file(path, (char *)factors, bytes);
    free(factors);
    return ok;
}

bool bench_inputs_write(bench_state *r, bench_inputs inputs) {
    if (!r->problem.is_attention) return true;
    take_pattern(r);
    if (!has_peers(r)) return true;
    bool ok = r->has_numbers || write_numbers(r);
    r->has_numbers = ok;
    return ok && write_factors(r, inputs);
}

static void request_inputs(const bench_entry *e, bench_inputs inputs) {
    char line[40];
    snprintf(line, sizeof line, "inputs %s",
             !bench_is_peer(e)                    ? bench_inputs_name(inputs)
             : bench_attention_repeats(inputs, 1) ? "first"
                                                  : "own");
    bench_send(e, line);
}

/* References ----------------------------------------------------------------------------------- */

void bench_references_make(bench_state *r) {
    bench_references_free(r);
    for (unsigned c = 0; r->problem.is_attention && c < r->plan->check_count; c++)
        r->references[c] =
            bench_reference_create(&r->problem.attention, r->pattern, r->plan->checks[c]);
}

void bench_references_free(bench_state *r) {
    for (unsigned c = 0; c < BENCH_INPUTS_COUNT; c++) {
        bench_reference_destroy(r->references[c]);
        r->references[c] = NULL;
    }
}

/* Results -------------------------------------------------------------------------------------- */

static void result_path(const bench_state *r, const bench_entry *e, char path[300]) {
    snprintf(path, 300, "%s/o%u", r->plan->folder, (unsigned)(e - r->entries));
}

/* Reads and removes the result file. NULL if it does not have the expected size. */
static char *read_result(const bench_state *r, const bench_entry *e) {
    bench_array arrays[BENCH_MAX_ARRAYS];
    bench_problem_arrays(&r->problem, arrays);
    const bench_array *o = &arrays[bench_problem_result(&r->problem)];
    size_t bytes = (size_t)bench_array_elements(o) * tile_scalar_bytes(o->scalar);
    char path[300], *data = malloc(bytes);
    result_path(r, e, path);
    FILE *file = fopen(path, "rb");
    bool ok = data && file && fread(data, 1, bytes, file) == bytes;
    if (file) fclose(file);
    remove(path);
    if (ok) return data;
    free(data);
    return NULL;
}

static void compare(bench_state *r, bench_entry *e, unsigned check) {
    bench_error *error = &e->errors[check];
    char *o = read_result(r, e);
    if (!o) {
        bench_mark_wrong(e, "it left no result");
        return;
    }
    bench_reference_compare(r->references[check], o, error);
    free(o);
    e->how = error->all ? "right" : "right in some rows";
    e->error_count = check + 1;
    if (*error->wrong) bench_mark_wrong(e, error->wrong);
}

static bool computes(const bench_entry *e) {
    return e->is_ready && !bench_is_floor(e);
}

/* All candidates compute at the same time, because nothing is being measured. */
static void check_inputs(bench_state *r, unsigned check) {
    char path[300], line[320];
    for (unsigned i = 0; i < r->count; i++) {
        bench_entry *e = &r->entries[i];
        if (!computes(e)) continue;
        request_inputs(e, r->plan->checks[check]);
        result_path(r, e, path);
        snprintf(line, sizeof line, "compute %s", path);
        bench_send(e, line);
    }
    for (unsigned i = 0; i < r->count; i++) {
        bench_entry *e = &r->entries[i];
        if (computes(e) && bench_receive(r, e, "loaded") && bench_receive(r, e, "computed"))
            compare(r, e, check);
    }
}

void bench_attention_check(bench_state *r) {
    const bench_plan *plan = r->plan;
    bool ok = r->problem.is_attention;
    if (!ok) return;
    for (unsigned c = 0; ok && c < plan->check_count && !bench_is_stopped(); c++) {
        ok = bench_inputs_write(r, plan->checks[c]);
        if (ok) check_inputs(r, c);
    }
    if (!ok || plan->checks[plan->check_count - 1] == BENCH_INPUTS_random) return;
    ok = bench_inputs_write(r, BENCH_INPUTS_random);
    for (unsigned i = 0; ok && i < r->count; i++)
        if (computes(&r->entries[i])) request_inputs(&r->entries[i], BENCH_INPUTS_random);
    for (unsigned i = 0; ok && i < r->count; i++)
        if (computes(&r->entries[i])) bench_receive(r, &r->entries[i], "loaded");
}
