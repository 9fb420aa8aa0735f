/* Prepares kernels for the next problems, in other processes, while a problem is measured.
 *
 * A kernel has several workers. Each prepares one problem: it compiles and loads what the problem
 * needs, and launches nothing. The run measures the problem in the worker that has prepared it;
 * then this worker prepares another one. So nothing is compiled twice, and no cache is needed.
 *
 * A peer that compiles takes seconds for a problem, and launches. So programs that exist only for
 * this fill its own cache before the first measurement. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/tile-bench/measure/state.h"

enum {
    LEAST_WORKERS = 2,  /* of all kernels together, where each has at least one; also if there are
                           few cores */
    MAX_WORKERS = 14,   /* likewise, and of a peer. Each opens the device */
    RESERVED_CORES = 2, /* for the measurement */
};

/* The workers of one contender, and its problems: worker w of n has the problems w, w + n, .. */
typedef struct pool {
    bench_worker *workers[MAX_WORKERS]; /* NULL: it is the entry's, or has ended */
    unsigned count;                     /* 0: nothing is prepared */
    size_t *problems;                   /* indices in the plan */
    size_t problem_count, next;         /* next: the first that has not been measured */
} pool;

struct bench_ahead {
    const bench_plan *plan;
    pool pools[BENCH_MAX_CANDIDATES];
};

static bool is_compiling_peer(const bench_candidate_spec *c) {
    return strcmp(c->kind, "compiled") == 0;
}

/* A kernel that is tuned measures in order to choose. */
static bool is_prepared(const bench_plan *plan, const bench_candidate_spec *c) {
    return strcmp(c->kind, "kernel") == 0 && !c->program && plan->budget == 0;
}

static void list_problems(const bench_plan *plan, const bench_candidate_spec *c, pool *p) {
    p->problems = calloc(plan->problem_count, sizeof *p->problems);
    if (!p->problems) abort();
    for (size_t i = 0; i < plan->problem_count; i++)
        if (bench_takes_part(c, &plan->problems[i])) p->problems[p->problem_count++] = i;
}

/* Has a worker prepare the contender's problem of this number, if there is one. */
static void prepare(const bench_plan *plan, const bench_candidate_spec *c, pool *p, size_t number) {
    char line[BENCH_PROBLEM_LINE], points[BENCH_PROBLEM_LINE];
    char request[2 * BENCH_PROBLEM_LINE + 16];
    bench_worker **worker = &p->workers[number % p->count];
    if (number >= p->problem_count) return;
    const bench_problem *problem = &plan->problems[p->problems[number]];
    bench_problem_write(problem, "none", line);
    bench_points_write(plan, problem, points);
    snprintf(request, sizeof request, "prepare %s%s%s", points, *points ? " " : "", line);
    if (!*worker) *worker = bench_worker_start(c->program, c->words, NULL, NULL);
    bench_worker_send(*worker, request);
}

/* Errors are ignored: they are reported in the candidate's row. A worker that has ended is started
 * again by its next request. */
static void wait_for(const bench_plan *plan, pool *p, size_t number) {
    bench_worker **worker = &p->workers[number % p->count];
    if (!*worker) return;
    bench_worker_receive(*worker, plan->answer_timeout * (1 + plan->points));
    if (bench_worker_is_alive(*worker)) return;
    bench_worker_stop(*worker);
    *worker = NULL;
}

/* Kernels share the cores by their numbers of problems. */
static size_t share_of(size_t problems, size_t all) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN) - RESERVED_CORES;
    size_t most = cores < LEAST_WORKERS ? LEAST_WORKERS
                  : cores > MAX_WORKERS ? MAX_WORKERS
                                        : (size_t)cores;
    size_t share = (most * problems + all / 2) / all;
    return share ? share : 1;
}

static void start(const bench_plan *plan, const bench_candidate_spec *c, size_t most, pool *p) {
    p->count = (unsigned)(most < p->problem_count ? most : p->problem_count);
    for (unsigned w = 0; w < p->count; w++) prepare(plan, c, p, w);
}

/* Has the peer's programs compile all problems. They end afterwards. */
static void fill_cache(const bench_plan *plan, const bench_candidate_spec *c) {
    pool p = {.count = 0};
    list_problems(plan, c, &p);
    start(plan, c, MAX_WORKERS, &p);
    for (size_t i = 0; i < p.problem_count; i++) {
        wait_for(plan, &p, i);
        prepare(plan, c, &p, i + p.count);
    }
    for (unsigned w = 0; w < p.count; w++) bench_worker_stop(p.workers[w]);
    free(p.problems);
}

bench_ahead *bench_ahead_start(const bench_plan *plan) {
    size_t problems = 0; /* of all kernels */
    if (plan->problem_count < 2) return NULL;
    bench_ahead *a = calloc(1, sizeof *a);
    if (!a) abort();
    a->plan = plan;
    for (unsigned c = 0; c < plan->contender_count; c++) {
        const bench_candidate_spec *spec = &plan->contenders[c];
        if (is_compiling_peer(spec) && plan->cuda) fill_cache(plan, spec);
        if (!is_prepared(plan, spec)) continue;
        list_problems(plan, spec, &a->pools[c]);
        problems += a->pools[c].problem_count;
    }
    for (unsigned c = 0; c < plan->contender_count; c++) {
        pool *p = &a->pools[c];
        if (p->problem_count)
            start(plan, &plan->contenders[c], share_of(p->problem_count, problems), p);
    }
    return a;
}

/* True if the contender's next problem is this one. */
static bool is_next(const pool *p, size_t problem) {
    return p->next < p->problem_count && p->problems[p->next] == problem;
}

void bench_ahead_lend(bench_ahead *a, size_t problem, bench_entry *entries) {
    for (unsigned c = 0; a && c < a->plan->contender_count; c++) {
        pool *p = &a->pools[c];
        if (!is_next(p, problem)) continue;
        bench_worker **worker = &p->workers[p->next % p->count];
        wait_for(a->plan, p, p->next);
        entries[c].worker = *worker;
        *worker = NULL;
    }
}

void bench_ahead_take_back(bench_ahead *a, size_t problem, bench_entry *entries) {
    for (unsigned c = 0; a && c < a->plan->contender_count; c++) {
        pool *p = &a->pools[c];
        if (!is_next(p, problem)) continue;
        p->workers[p->next % p->count] = entries[c].worker;
        entries[c].worker = NULL;
        prepare(a->plan, &a->plan->contenders[c], p, p->next + p->count);
        p->next++;
    }
}

void bench_ahead_stop(bench_ahead *a) {
    for (unsigned c = 0; a && c < a->plan->contender_count; c++) {
        for (unsigned w = 0; w < a->pools[c].count; w++) bench_worker_stop(a->pools[c].workers[w]);
        free(a->pools[c].problems);
    }
    free(a);
}
