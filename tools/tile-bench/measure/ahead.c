/* Compiles kernels into the cache before measuring starts. */
#include <stdio.h>
#include <string.h>

#include "tools/tile-bench/measure/state.h"

/* In total; each helper opens the device, which takes time and device memory. */
enum { MAX_HELPERS = 8 };

static bool takes_part(const bench_candidate_spec *c, const bench_problem *p) {
    return strcmp(c->kind, "kernel") == 0 && !c->program && bench_takes_part(c, p);
}

/* Distributes the problems over new workers for the contender. The workers exist only for this. */
static unsigned start(const bench_plan *plan, const bench_candidate_spec *c, unsigned most,
                      bench_worker *helpers[MAX_HELPERS], unsigned requests[MAX_HELPERS]) {
    unsigned count = 0, dealt = 0;
    for (size_t i = 0; i < plan->problem_count; i++) {
        char line[BENCH_PROBLEM_LINE], points[BENCH_PROBLEM_LINE] = "";
        char request[2 * BENCH_PROBLEM_LINE];
        if (!takes_part(c, &plan->problems[i])) continue;
        unsigned helper = dealt++ % most;
        if (helper == count) {
            helpers[count] = bench_worker_start(c->program, c->words, NULL, NULL);
            requests[count++] = 0;
        }
        bench_problem_write(&plan->problems[i], "none", line);
        if (plan->points && !plan->problems[i].is_attention && !plan->problems[i].is_rows)
            bench_points_write(plan, &plan->problems[i], points);
        snprintf(request, sizeof request, "prepare %s%s%s", points, *points ? " " : "", line);
        bench_worker_send(helpers[helper], request);
        requests[helper]++;
    }
    return count;
}

/* Compile errors are ignored here: they are reported in the candidate's row. */
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
                bench_worker_receive(helpers[c][h], plan->answer_timeout);
            bench_worker_stop(helpers[c][h]);
        }
}
