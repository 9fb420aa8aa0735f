/* Compiles kernels, and what a compiling peer compiles, into caches before measuring starts. */
#include <stdio.h>
#include <string.h>

#include "tools/tile-bench/measure/state.h"

/* Each helper opens the device, which takes time and device memory. Those of all kernels together,
 * and those of a peer, which takes seconds for a problem. */
enum { MAX_HELPERS = 8, MAX_PEER_HELPERS = 14 };

static bool is_kernel(const bench_candidate_spec *c) {
    return strcmp(c->kind, "kernel") == 0 && !c->program;
}

static bool is_compiling_peer(const bench_candidate_spec *c) {
    return strcmp(c->kind, "compiled") == 0;
}

/* The helpers of one contender. */
typedef struct helpers {
    bench_worker *workers[MAX_PEER_HELPERS];
    unsigned requests[MAX_PEER_HELPERS], count;
} helpers;

/* Distributes the problems over new workers for the contender. The workers exist only for this. */
static void start(const bench_plan *plan, const bench_candidate_spec *c, unsigned most,
                  helpers *h) {
    unsigned dealt = 0;
    h->count = 0;
    for (size_t i = 0; i < plan->problem_count && most; i++) {
        char line[BENCH_PROBLEM_LINE], points[BENCH_PROBLEM_LINE] = "";
        char request[2 * BENCH_PROBLEM_LINE];
        if (!bench_takes_part(c, &plan->problems[i])) continue;
        unsigned helper = dealt++ % most;
        if (helper == h->count) {
            h->workers[h->count] = bench_worker_start(c->program, c->words, NULL, NULL);
            h->requests[h->count++] = 0;
        }
        bench_problem_write(&plan->problems[i], "none", line);
        if (plan->points && !plan->problems[i].is_attention && !plan->problems[i].is_rows)
            bench_points_write(plan, &plan->problems[i], points);
        snprintf(request, sizeof request, "prepare %s%s%s", points, *points ? " " : "", line);
        bench_worker_send(h->workers[helper], request);
        h->requests[helper]++;
    }
}

/* Compile errors are ignored here: they are reported in the candidate's row. */
void bench_compile_ahead(const bench_plan *plan) {
    static helpers all[BENCH_MAX_CANDIDATES];
    unsigned kernels = 0;
    for (unsigned c = 0; c < plan->contender_count; c++) kernels += is_kernel(&plan->contenders[c]);
    if (!plan->compiles_ahead || plan->problem_count < 2) return;
    for (unsigned c = 0; c < plan->contender_count; c++) {
        const bench_candidate_spec *spec = &plan->contenders[c];
        start(plan, spec,
              is_compiling_peer(spec) ? MAX_PEER_HELPERS
              : is_kernel(spec)       ? MAX_HELPERS / kernels
                                      : 0,
              &all[c]);
    }
    for (unsigned c = 0; c < plan->contender_count; c++)
        for (unsigned h = 0; h < all[c].count; h++) {
            bench_worker *worker = all[c].workers[h];
            while (all[c].requests[h]-- && bench_worker_is_alive(worker))
                bench_worker_receive(worker, plan->answer_timeout);
            bench_worker_stop(worker);
        }
}
