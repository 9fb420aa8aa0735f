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

#include "lib/support/clock.h"
#include "tools/tile-bench/measure/state.h"

enum {
    LEAST_WORKERS = 2,  /* of all kernels together, where each has at least one; also if there are
                           few cores */
    MAX_WORKERS = 14,   /* likewise, and of a peer. Each opens the device */
    RESERVED_CORES = 2, /* for the measurement */
    MOST_SKIPPED = 2 * MAX_WORKERS, /* problems: kernels that compile fast do not run ahead */
};

/* A worker, and the problem that it prepares or has prepared. */
typedef struct assignment {
    bench_worker *worker; /* NULL: it is the entry's, or has ended */
    size_t problem;       /* index in the plan; NO_PROBLEM: none */
    bool is_ready;
    double deadline; /* until then it must be */
} assignment;

#define NO_PROBLEM SIZE_MAX

/* The workers of one contender, and its problems. */
typedef struct pool {
    assignment assignments[MAX_WORKERS];
    unsigned count;             /* 0: nothing is prepared */
    size_t *problems;           /* indices in the plan */
    size_t problem_count, next; /* next: the first that no worker has */
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

/* Has the assignment's worker prepare the contender's next problem, if there is one. */
static void prepare(const bench_plan *plan, const bench_candidate_spec *c, pool *p,
                    assignment *at) {
    char line[BENCH_PROBLEM_LINE], points[BENCH_PROBLEM_LINE];
    char request[2 * BENCH_PROBLEM_LINE + 16];
    at->problem = NO_PROBLEM;
    at->is_ready = false;
    if (p->next == p->problem_count) return;
    at->problem = p->problems[p->next++];
    at->deadline = tile_seconds_now() + plan->answer_timeout * (1 + plan->points);
    const bench_problem *problem = &plan->problems[at->problem];
    bench_problem_write(problem, "none", line);
    bench_points_write(plan, problem, points);
    snprintf(request, sizeof request, "prepare %s%s%s", points, *points ? " " : "", line);
    if (!at->worker) at->worker = bench_worker_start(c->program, c->words, NULL, NULL);
    bench_worker_send(at->worker, request);
}

/* Takes the answer if there is one. Errors are ignored: they are reported in the candidate's row. A
 * worker that has ended, or is late, is started again by its next request. */
static bool is_ready(assignment *at) {
    const double left = at->deadline - tile_seconds_now();
    if (at->is_ready || at->problem == NO_PROBLEM) return at->is_ready;
    if (at->worker && left > 0 && !bench_worker_has_answered(at->worker)) return false;
    if (at->worker) bench_worker_receive(at->worker, left > 0 ? left : 0);
    if (at->worker && !bench_worker_is_alive(at->worker)) {
        bench_worker_stop(at->worker);
        at->worker = NULL;
    }
    return at->is_ready = true;
}

/* Waits at most a moment until one of the workers has answered. */
static void wait_a_moment(const pool *pools, unsigned count) {
    bench_worker *busy[MAX_WORKERS * 4];
    unsigned busy_count = 0;
    for (unsigned c = 0; c < count; c++)
        for (unsigned w = 0; w < pools[c].count && busy_count < MAX_WORKERS * 4; w++)
            if (pools[c].assignments[w].problem != NO_PROBLEM && !pools[c].assignments[w].is_ready)
                busy[busy_count++] = pools[c].assignments[w].worker;
    bench_workers_wait(busy, busy_count, 0.05);
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
    for (unsigned w = 0; w < p->count; w++) prepare(plan, c, p, &p->assignments[w]);
}

/* Has the peer's programs compile all problems. They end afterwards. */
static void fill_cache(const bench_plan *plan, const bench_candidate_spec *c) {
    pool p = {.count = 0};
    list_problems(plan, c, &p);
    start(plan, c, MAX_WORKERS, &p);
    for (size_t done = 0; done < p.problem_count && !bench_is_stopped();) {
        wait_a_moment(&p, 1);
        for (unsigned w = 0; w < p.count; w++)
            if (is_ready(&p.assignments[w])) {
                prepare(plan, c, &p, &p.assignments[w]);
                done++;
            }
    }
    for (unsigned w = 0; w < p.count; w++) bench_worker_stop(p.assignments[w].worker);
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
        if (is_compiling_peer(spec)) fill_cache(plan, spec);
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

/* The assignment of the contender that has the problem; NULL: none. */
static assignment *find_assignment(pool *p, size_t problem) {
    for (unsigned w = 0; w < p->count; w++)
        if (p->assignments[w].problem == problem) return &p->assignments[w];
    return NULL;
}

static bool are_ready(bench_ahead *a, size_t problem) {
    bool ready = true;
    for (unsigned c = 0; c < a->plan->contender_count && ready; c++) {
        pool *p = &a->pools[c];
        assignment *at = find_assignment(p, problem);
        if (p->count && bench_takes_part(&a->plan->contenders[c], &a->plan->problems[problem]))
            ready = at && is_ready(at);
    }
    return ready;
}

/* The first of the problems that are ready; in the order of the plan only the first problem that is
 * left. NO_PROBLEM: none is ready. */
static size_t find_ready(bench_ahead *a, const bool *measured) {
    unsigned left = 0;
    for (size_t i = 0; i < a->plan->problem_count; i++) {
        if (measured[i]) continue;
        if (are_ready(a, i)) return i;
        if (!a->plan->any_order || ++left == MOST_SKIPPED) break;
    }
    return NO_PROBLEM;
}

size_t bench_ahead_lend(bench_ahead *a, const bool *measured, bench_entry *entries) {
    size_t problem = 0;
    while (!a && measured[problem]) problem++;
    if (!a) return problem;
    while ((problem = find_ready(a, measured)) == NO_PROBLEM)
        wait_a_moment(a->pools, a->plan->contender_count);
    for (unsigned c = 0; c < a->plan->contender_count; c++) {
        assignment *at = find_assignment(&a->pools[c], problem);
        if (!at) continue;
        entries[c].worker = at->worker;
        at->worker = NULL;
    }
    return problem;
}

void bench_ahead_take_back(bench_ahead *a, size_t problem, bench_entry *entries) {
    for (unsigned c = 0; a && c < a->plan->contender_count; c++) {
        assignment *at = find_assignment(&a->pools[c], problem);
        if (!at) continue;
        at->worker = entries[c].worker;
        entries[c].worker = NULL;
        prepare(a->plan, &a->plan->contenders[c], &a->pools[c], at);
    }
}

void bench_ahead_stop(bench_ahead *a) {
    for (unsigned c = 0; a && c < a->plan->contender_count; c++) {
        for (unsigned w = 0; w < a->pools[c].count; w++)
            bench_worker_stop(a->pools[c].assignments[w].worker);
        free(a->pools[c].problems);
    }
    free(a);
}
