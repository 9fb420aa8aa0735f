/* Measures further points of kernels, each in turn with the others, in the worker of the kernel. A
 * point that hangs or faults costs its row: the worker is started again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-bench/common/statistics.h"
#include "tools/tile-bench/measure/candidate.h"
#include "tools/tile-bench/measure/state.h"

enum { MAX_RESTARTS = 3 };

/* After the first round, points that are slower than the fastest one by this factor are left out.
 */
static const double slow_factor = 3;

void bench_free_points(bench_entry *e) {
    for (unsigned i = 0; i < e->point_count; i++) free(e->points[i].samples);
    free(e->points);
    e->points = NULL;
    e->point_count = 0;
}

/* A worker that is started again gets the same points. */
void bench_points_write(const bench_plan *plan, const bench_problem *problem,
                        char line[BENCH_PROBLEM_LINE]) {
    unsigned seed = (unsigned)plan->seed;
    *line = 0;
    if (!plan->points || problem->is_attention || problem->is_rows) return;
    bench_problem_write(problem, "", line);
    for (const char *at = line; *at; at++) seed = 31 * seed + (unsigned char)*at;
    snprintf(line, BENCH_PROBLEM_LINE, "points %u %u", plan->points, seed);
}

/* Returns the number of points; 0 if there are none or if it fails. */
static unsigned list_points(bench_state *r, bench_entry *e) {
    char line[BENCH_PROBLEM_LINE];
    unsigned count = 0;
    bench_points_write(r->plan, &r->problem, line);
    const char *answer = bench_request(r, e, line, "points");
    return answer && sscanf(answer, "%u", &count) == 1 ? count : 0;
}

/* Keeps the reason for which the point failed. Makes the entry ready again; false if it cannot. */
static bool recover(bench_state *r, bench_entry *e, bench_point_entry *point, unsigned *restarts) {
    snprintf(point->note, sizeof point->note, "%s", e->note);
    point->is_wrong = e->is_wrong;
    point->is_right = false;
    e->is_wrong = false;
    *e->note = 0;
    e->is_ready = e->worker != NULL;
    if (e->worker) return true;
    if (++*restarts > MAX_RESTARTS) return false;
    const size_t count = e->count; /* the samples of the pick are kept */
    bench_begin_entry(r, e);
    bench_end_entry(r, e);
    e->count = count;
    return e->is_ready && list_points(r, e) == e->point_count;
}

static const char *take_point(bench_state *r, bench_entry *e, unsigned index) {
    char line[32];
    snprintf(line, sizeof line, "point %u", index);
    return bench_request(r, e, line, "point");
}

/* Compiles the point, and compares its result with that of the pick. */
static bool check_point(bench_state *r, bench_entry *e, unsigned index) {
    bench_point_entry *point = &e->points[index];
    const char *answer = take_point(r, e, index);
    int at = 0;
    if (!answer || sscanf(answer, "%15s %lf %n", point->origin, &point->estimate, &at) < 2)
        return false;
    snprintf(point->point, sizeof point->point, "%s", answer + at);
    return point->is_right = bench_request(r, e, "same", "right") != NULL;
}

static bool time_point(bench_state *r, bench_entry *e, unsigned index) {
    char line[64];
    bench_point_entry *point = &e->points[index];
    snprintf(line, sizeof line, "turn %u %u", r->plan->cuda ? 2 : 0, r->plan->turn);
    if (!take_point(r, e, index)) return false;
    const char *answer = bench_request(r, e, line, "times");
    if (answer) bench_take_samples(r, answer, &point->samples, &point->count);
    return answer != NULL;
}

/* Leaves out the slow ones. */
static void drop_slow(bench_entry *e) {
    double best = 0;
    for (unsigned i = 0; i < e->point_count; i++) {
        const bench_point_entry *point = &e->points[i];
        double median = bench_summarize(point->samples, point->count).median;
        if (point->is_right && median > 0 && (best == 0 || median < best)) best = median;
    }
    for (unsigned i = 0; i < e->point_count; i++)
        e->points[i].is_slow =
            bench_summarize(e->points[i].samples, e->points[i].count).median > slow_factor * best;
}

static bool time_points(bench_state *r, bench_entry *e, unsigned *restarts) {
    unsigned order[BENCH_MAX_POINTS];
    for (unsigned round = 0; round < r->plan->rounds && !bench_is_stopped(); round++) {
        bench_shuffle(order, e->point_count, &r->chance);
        for (unsigned i = 0; i < e->point_count; i++) {
            bench_point_entry *point = &e->points[order[i]];
            if (point->is_right && !point->is_slow && !time_point(r, e, order[i]) &&
                !recover(r, e, point, restarts))
                return false;
        }
        if (round == 0) drop_slow(e);
    }
    return true;
}

static void measure(bench_state *r, bench_entry *e) {
    unsigned restarts = 0, count = list_points(r, e);
    e->points = calloc(count + 1u, sizeof *e->points);
    if (!e->points) abort();
    e->point_count = count;
    bool keep_going = true;
    for (unsigned i = 0; i < count && keep_going && !bench_is_stopped(); i++)
        keep_going = check_point(r, e, i) || recover(r, e, &e->points[i], &restarts);
    keep_going = keep_going && time_points(r, e, &restarts);
    if (count && keep_going) take_point(r, e, 0);
}

/* The pick has been measured already: what fails here leaves its row as it is. */
void bench_measure_points(bench_state *r) {
    for (unsigned i = 0; i < r->count; i++) {
        bench_entry *e = &r->entries[i];
        char point[sizeof e->point];
        const char *how = e->how;
        bench_free_points(e);
        if (!e->is_ready || strcmp(e->contender->kind, "kernel") != 0) continue;
        memcpy(point, e->point, sizeof point);
        measure(r, e);
        if (*e->note) fprintf(stderr, "remark: points of %s: %s\n", e->contender->name, e->note);
        memcpy(e->point, point, sizeof point);
        *e->note = 0;
        e->how = how;
        e->is_ready = true;
    }
}
