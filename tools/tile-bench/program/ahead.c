#include "tools/tile-bench/program/ahead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/clock.h"
#include "tools/common/tool.h"
#include "tools/tile-bench/program/subject.h"

typedef struct ahead {
    const bench_program_plan *plan;
    bench_worker *workers[BENCH_PROGRAM_PEERS];
    int file[BENCH_PROGRAM_PEERS]; /* that the worker compiles; -1: none */
    unsigned next;                 /* file that nobody has taken yet */
    double *seconds;
} ahead;

static bool is_done(const ahead *a, const bench_results *results, const char *device,
                    const char *path) {
    char stem[80], name[80];
    (void)a;
    bench_text_stem(path, stem, sizeof stem);
    bench_text_class(path, name, sizeof name);
    for (unsigned i = 0; i < results->count; i++) {
        const bench_result *r = &results->list[i];
        if (strcmp(bench_result_text(r, BENCH_FIELD_name), stem) == 0 &&
            strcmp(bench_result_text(r, BENCH_FIELD_class), name) == 0 &&
            strcmp(bench_result_text(r, BENCH_FIELD_device), device) == 0)
            return true;
    }
    return false;
}

/* The request; false if the file has no peer or cannot be scheduled, which the measurement
 * reports. */
static bool write_request(const ahead *a, const char *path, tool_text *text) {
    const bench_program_plan *plan = a->plan;
    static bench_subject s;
    bench_text_facts facts;
    char script[700], stem[80], head[1700];
    if (!bench_program_find_peer(plan, path, script) || !bench_text_read(path, &facts))
        return false;
    tile_context *context = tile_context_create();
    bool ok = bench_subject_open(&s, context, NULL, plan->target, path, plan->function,
                                 &plan->settings, &facts.fills) == TILE_OK;
    bench_text_stem(path, stem, sizeof stem);
    int length = snprintf(head, sizeof head, "prepare compiled %s %s %s/numbers %s %s", script,
                          stem, plan->folder, facts.allows_tf32 ? "tf32" : "ieee", plan->flush);
    tool_append(head, (size_t)length < sizeof head ? (size_t)length : sizeof head - 1, text);
    if (ok) bench_subject_describe(&s, tool_append, text);
    for (unsigned i = 0; i < plan->settings.count; i++) {
        const bench_setting *setting = &plan->settings.list[i];
        length = snprintf(head, sizeof head, " %s=%s", setting->name, setting->value);
        tool_append(head, (size_t)length, text);
    }
    bench_subject_close(&s);
    tile_context_destroy(context);
    return ok;
}

/* Gives the worker the next file; false if there is none. */
static bool feed(ahead *a, unsigned worker, const bench_results *results, const char *device) {
    a->file[worker] = -1;
    while (a->next < a->plan->file_count) {
        unsigned file = a->next++;
        tool_text request = {NULL, 0, 0};
        bool ok = !is_done(a, results, device, a->plan->files[file]) &&
                  write_request(a, a->plan->files[file], &request);
        if (ok) {
            bench_worker_send(a->workers[worker], request.data);
            a->file[worker] = (int)file;
        }
        free(request.data);
        if (ok) return true;
    }
    return false;
}

static bool feed_or_stop(ahead *a, unsigned worker, const bench_results *results,
                         const char *device) {
    if (feed(a, worker, results, device)) return true;
    bench_worker_stop(a->workers[worker]);
    a->workers[worker] = NULL;
    return false;
}

static void receive(ahead *a, unsigned worker) {
    double seconds;
    const char *answer = bench_worker_receive(a->workers[worker], 2 * a->plan->timeout);
    if (sscanf(answer, "ready %lg", &seconds) == 1) a->seconds[a->file[worker]] = seconds;
}

double *bench_program_compile_ahead(const bench_program_plan *plan, const bench_results *results,
                                    const char *device) {
    static ahead a;
    const char *words[] = {plan->script, NULL};
    unsigned busy = 0;
    a = (ahead){.plan = plan, .seconds = calloc(plan->file_count + 1u, sizeof *a.seconds)};
    if (!a.seconds) abort();
    for (unsigned i = 0; i < plan->ahead && i < BENCH_PROGRAM_PEERS; i++) {
        a.workers[i] = bench_worker_start(plan->python, words, NULL, NULL);
        busy += feed_or_stop(&a, i, results, device);
    }
    while (busy && !bench_is_stopped()) {
        bench_workers_wait(a.workers, BENCH_PROGRAM_PEERS, 1);
        for (unsigned i = 0; i < BENCH_PROGRAM_PEERS; i++) {
            if (!a.workers[i] || a.file[i] < 0 || !bench_worker_has_answered(a.workers[i]))
                continue;
            receive(&a, i);
            busy -= !feed_or_stop(&a, i, results, device);
        }
    }
    for (unsigned i = 0; i < BENCH_PROGRAM_PEERS; i++) bench_worker_stop(a.workers[i]);
    return a.seconds;
}
