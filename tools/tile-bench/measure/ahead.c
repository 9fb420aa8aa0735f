/* Compiles kernels, and what a compiling peer compiles, into caches before they are measured.
 *
 * Helpers are workers that exist only for this. Each has every n-th problem of its contender, in
 * the order in which the run measures them, so the run waits for a problem only if the helpers are
 * slower. They compile kernels while other problems are measured: this takes no time of the GPU.
 * Programs of a peer run before the first measurement, because they also launch. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tile-bench/measure/state.h"

enum {
    MAX_HELPERS = 14,     /* of all kernels together, and of a peer, which takes seconds for a
                             problem. Each opens the device, which takes device memory */
    RESERVED_CORES = 2,   /* for the measurement */
    MAX_OUTSTANDING = 64, /* requests of a helper, whose lines must fit a pipe */
};

/* The helpers of one contender, and its problems: helper h of n has the problems h, h + n, .. */
typedef struct helpers {
    bench_worker *workers[MAX_HELPERS];
    size_t sent[MAX_HELPERS], received[MAX_HELPERS];
    size_t *problems;             /* indices in the plan */
    size_t problem_count, waited; /* waited: the first so many problems are compiled */
    unsigned count;
} helpers;

struct bench_ahead {
    const bench_plan *plan;
    helpers all[BENCH_MAX_CANDIDATES];
};

static bool is_kernel(const bench_candidate_spec *c) {
    return strcmp(c->kind, "kernel") == 0 && !c->program;
}

static bool is_compiling_peer(const bench_candidate_spec *c) {
    return strcmp(c->kind, "compiled") == 0;
}

static void send(const bench_plan *plan, bench_worker *worker, const bench_problem *problem) {
    char line[BENCH_PROBLEM_LINE], points[BENCH_PROBLEM_LINE];
    char request[2 * BENCH_PROBLEM_LINE + 16];
    bench_problem_write(problem, "none", line);
    bench_points_write(plan, problem, points);
    snprintf(request, sizeof request, "prepare %s%s%s", points, *points ? " " : "", line);
    bench_worker_send(worker, request);
}

/* Sends the helper its next problems. */
static void refill(const bench_plan *plan, helpers *all, unsigned h) {
    for (; all->sent[h] - all->received[h] < MAX_OUTSTANDING; all->sent[h]++) {
        size_t next = h + all->sent[h] * all->count;
        if (next >= all->problem_count) return;
        send(plan, all->workers[h], &plan->problems[all->problems[next]]);
    }
}

/* Waits until the first `count` problems of a contender are compiled. Compile errors are ignored:
 * they are reported in the candidate's row. */
static void wait_for(const bench_plan *plan, helpers *all, size_t count) {
    for (; all->waited < count; all->waited++) {
        unsigned h = (unsigned)(all->waited % all->count);
        if (!bench_worker_is_alive(all->workers[h])) continue;
        refill(plan, all, h);
        bench_worker_receive(all->workers[h], plan->answer_timeout * (1 + plan->points));
        all->received[h]++;
    }
}

static void list_problems(const bench_plan *plan, const bench_candidate_spec *c, helpers *all) {
    all->problems = calloc(plan->problem_count, sizeof *all->problems);
    if (!all->problems) abort();
    for (size_t i = 0; i < plan->problem_count; i++)
        if (bench_takes_part(c, &plan->problems[i])) all->problems[all->problem_count++] = i;
}

static void start(const bench_plan *plan, const bench_candidate_spec *c, size_t most,
                  helpers *all) {
    all->count = (unsigned)(most < all->problem_count ? most : all->problem_count);
    for (unsigned h = 0; h < all->count; h++) {
        all->workers[h] = bench_worker_start(c->program, c->words, NULL, NULL);
        refill(plan, all, h);
    }
}

/* Kernels share the cores by their numbers of problems. */
static size_t share_of(size_t problems, size_t all) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN) - RESERVED_CORES;
    size_t most = cores < 1 ? 1 : cores > MAX_HELPERS ? MAX_HELPERS : (size_t)cores;
    size_t share = (most * problems + all / 2) / (all ? all : 1);
    return share ? share : 1;
}

bench_ahead *bench_ahead_start(const bench_plan *plan) {
    size_t problems = 0; /* of all kernels */
    if (!plan->compiles_ahead || plan->problem_count < 2) return NULL;
    bench_ahead *a = calloc(1, sizeof *a);
    if (!a) abort();
    a->plan = plan;
    for (unsigned c = 0; c < plan->contender_count; c++) {
        const bench_candidate_spec *spec = &plan->contenders[c];
        if (!is_kernel(spec) && !is_compiling_peer(spec)) continue;
        list_problems(plan, spec, &a->all[c]);
        if (is_kernel(spec)) problems += a->all[c].problem_count;
    }
    for (unsigned c = 0; c < plan->contender_count; c++) {
        const bench_candidate_spec *spec = &plan->contenders[c];
        helpers *all = &a->all[c];
        start(plan, spec, is_kernel(spec) ? share_of(all->problem_count, problems) : MAX_HELPERS,
              all);
    }
    for (unsigned c = 0; c < plan->contender_count; c++)
        if (is_compiling_peer(&plan->contenders[c]))
            wait_for(plan, &a->all[c], a->all[c].problem_count);
    return a;
}

void bench_ahead_wait(bench_ahead *a, size_t problem) {
    for (unsigned c = 0; a && c < a->plan->contender_count; c++) {
        helpers *all = &a->all[c];
        size_t count = all->waited;
        while (count < all->problem_count && all->problems[count] <= problem) count++;
        wait_for(a->plan, all, count);
    }
}

void bench_ahead_stop(bench_ahead *a) {
    for (unsigned c = 0; a && c < a->plan->contender_count; c++) {
        for (unsigned h = 0; h < a->all[c].count; h++) bench_worker_stop(a->all[c].workers[h]);
        free(a->all[c].problems);
    }
    free(a);
}
