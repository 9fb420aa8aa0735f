/* The state of a run: the candidates on the current problem. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_STATE_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_STATE_H

#include "tools/tile-bench/attention/reference.h"
#include "tools/tile-bench/common/pool.h"
#include "tools/tile-bench/measure/profile.h"
#include "tools/tile-bench/measure/run.h"

/* A point that was measured beside a kernel's pick. */
typedef struct bench_point_entry {
    char origin[16], point[240], note[200];
    double estimate; /* seconds */
    bool is_right, is_wrong, is_slow;
    double *samples; /* seconds */
    size_t count;
} bench_point_entry;

typedef struct bench_entry {
    const bench_candidate_spec *contender;
    bench_worker *worker; /* NULL: must be started (again) */
    bool is_ready;        /* ready for the problem, and correct so far */
    bool is_wrong;        /* its result is wrong */
    const char *how;      /* how it was checked */
    char point[240], note[400];
    int registers, local_bytes, shared_bytes;
    bench_error errors[BENCH_INPUTS_COUNT]; /* for attention, by the plan's checks */
    unsigned error_count;
    double *samples; /* seconds */
    size_t count;
    bool has_sustained, has_counters;
    bench_sustained sustained;
    double ratios[BENCH_MAX_PAIRS]; /* one per pair */
    unsigned pairs;
    bench_counters counters;
    bench_point_entry *points;
    unsigned point_count;
} bench_entry;

typedef struct bench_state {
    const bench_plan *plan;
    const char *flush;
    bench_problem problem;
    bench_entry entries[BENCH_MAX_CANDIDATES];
    unsigned count;
    uint64_t chance;
    /* For attention. */
    bench_pattern *pattern;                          /* NULL: not needed so far */
    bool has_numbers;                                /* the numbers file is in the plan's folder */
    bench_reference *references[BENCH_INPUTS_COUNT]; /* by the plan's checks */
} bench_state;

bool bench_is_floor(const bench_entry *entry);

/* The two halves of a request. */
void bench_send(const bench_entry *entry, const char *line);
const char *bench_receive(const bench_state *state, bench_entry *entry, const char *word);
/* Sends a line and returns the rest of the answer after this word. Otherwise returns NULL and
 * excludes the entry, with the reason as its note. */
const char *bench_request(const bench_state *state, bench_entry *entry, const char *line,
                          const char *word);
/* Makes the entry ready for the problem, in a new process if it has none. */
void bench_begin_entry(bench_state *state, bench_entry *entry);
void bench_end_entry(bench_state *state, bench_entry *entry);
/* Adds seconds of launches to the samples. */
void bench_take_samples(const bench_state *state, const char *answer, double **samples,
                        size_t *count);
/* Marks the entry's result as wrong. */
void bench_mark_wrong(bench_entry *entry, const char *why);

/* ahead.c: prepares the kernels of the next problems, in other processes. */
typedef struct bench_ahead bench_ahead;
/* NULL: nothing is prepared. The plan must outlive the result. */
bench_ahead *bench_ahead_start(const bench_plan *plan);
/* Returns the index of the problem to measure next, one that is not measured so far, and gives the
 * entries the workers that have prepared it. It takes them back afterwards. NULL: the first one. */
size_t bench_ahead_lend(bench_ahead *ahead, const bool *measured, bench_entry *entries);
void bench_ahead_take_back(bench_ahead *ahead, size_t problem, bench_entry *entries);
void bench_ahead_stop(bench_ahead *ahead);

/* run_points.c: the request "points COUNT SEED" for the problem; "" if it has no points. */
void bench_points_write(const bench_plan *plan, const bench_problem *problem,
                        char line[BENCH_PROBLEM_LINE]);
/* Measures the plan's number of points of each kernel that is right. */
void bench_measure_points(bench_state *state);
void bench_free_points(bench_entry *entry);

/* rows.c: adds the rows of the problem with this flush. False if no candidate is correct. */
bool bench_add_problem_rows(const bench_state *state, bench_report *report, unsigned number);

/* compare.c: true if another program computes the attention, from the input files in the plan's
 * folder. */
bool bench_is_peer(const bench_entry *entry);
/* Writes the input files for peers. False after a message. */
bool bench_inputs_write(bench_state *state, bench_inputs inputs);
/* Computes the references of the problem for all checks; does nothing for products. */
void bench_references_make(bench_state *state);
void bench_references_free(bench_state *state);
/* Runs all checks on all ready candidates, compares the results, and leaves random inputs in
 * place. */
void bench_attention_check(bench_state *state);

#endif
