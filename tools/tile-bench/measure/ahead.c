/* Compiling before anything is measured. */
#include <stdio.h>
#include <string.h>

#include "tools/tile-bench/measure/state.h"

/* In all: each has the device open, which takes time and memory there. */
enum { MAX_HELPERS = 8 };

static bool takes_part(const bench_contender *c, const bench_problem *p) {
    return strcmp(c->kind, "kernel") == 0 && !c->program && bench_takes_part(c, p);
}

/* Deals the problems out to workers of the contender that live no longer. */
static unsigned start(const bench_plan *plan, const bench_contender *c, unsigned most,
                      bench_worker *helpers[MAX_HELPERS], unsigned requests[MAX_HELPERS]) {
    unsigned count = 0, dealt = 0;
    for (size_t i = 0; i < plan->problem_count; i++) {
        char line[BENCH_PROBLEM_LINE], request[BENCH_PROBLEM_LINE + 10];
        if (!takes_part(c, &plan->problems[i])) continue;
        unsigned helper = dealt++ % most;
        if (helper == count) {
            helpers[count] = bench_worker_start(c->program, c->words, NULL, NULL);
            requests[count++] = 0;
        }
        bench_problem_write(&plan->problems[i], "none", line);
        snprintf(request, sizeof request, "prepare %s", line);
        bench_worker_send(helpers[helper], request);
        requests[helper]++;
    }
    return count;
}

/* What cannot be compiled will say so in its row. */
void bench_compile_ahead(const bench_plan *plan) {
    bench_worker *helpers[BENCH_MAX_CANDIDATES][MAX_HELPERS];
    unsigned requests[BENCH_MAX_CANDIDATES][MAX_HELPERS], counts[BENCH_MAX_CANDIDATES];
    unsigned kernels = 0;
    for (unsigned c = 0; c < plan->contender_count; c++)
        kernels += strcmp(plan->contenders[c].kind, "kernel") == 0;
    if (!plan->compiles_ahead || plan->problem_count < 2 || !kernels || kernels > MAX_HELPERS)
        return;
    for (unsigned c = 0; c < plan->contender_count; c++)
        counts[c] =
            start(plan, &plan->contenders[c], MAX_HELPERS / kernels, helpers[c], requests[c]);
    for (unsigned c = 0; c < plan->contender_count; c++)
        for (unsigned h = 0; h < counts[c]; h++) {
            while (requests[c][h]-- && bench_worker_is_alive(helpers[c][h]))
                bench_worker_receive(helpers[c][h], plan->patience);
            bench_worker_stop(helpers[c][h]);
        }
}
