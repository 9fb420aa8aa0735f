/* Measures many candidates on many problems. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_RUN_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_RUN_H

#include "tools/tile-bench/measure/problem.h"
#include "tools/tile-bench/report/report.h"

enum { BENCH_MAX_PAIRS = 99, BENCH_MAX_CANDIDATES = 64, BENCH_MAX_WORDS = 60 };

/* Describes a candidate, with the arguments of its worker. */
typedef struct bench_candidate_spec {
    const char *name;    /* in reports */
    const char *kind;    /* kernel, cublaslt, read, flash, cudnn */
    const char *program; /* the worker's; NULL: this one */
    const char *source; /* of a kernel: FILE or FILE:NAME, FILE without a folder if it is shipped */
    char point[240];    /* its parameters, for reports; "": reported by the worker */
    const char *words[BENCH_MAX_WORDS]; /* the worker's arguments, NULL-terminated */
    unsigned word_count;
    unsigned part; /* 0: measured on all problems; else on the problems of that part */
    bench_route route;
} bench_candidate_spec;

/* What to measure, and how. */
typedef struct bench_plan {
    bench_candidate_spec contenders[BENCH_MAX_CANDIDATES];
    unsigned contender_count;
    bench_problem *problems;
    size_t problem_count;
    /* Attention: the inputs with which each candidate is checked, and the folder for inputs and
     * results. */
    bench_inputs checks[BENCH_INPUTS_COUNT];
    unsigned check_count;
    const char *folder;
    const char *peer_kind; /* the contender that all are compared with; NULL: none */
    bool cuda;
    bool interleaved, sustained; /* the protocols */
    const char *flushes[3];      /* dirty, clean, none: each for every problem */
    unsigned flush_count;
    unsigned rounds, turn; /* interleaved: launches per candidate are rounds x turn */
    unsigned points;       /* of each kernel, the pick and others; 0: only the pick */
    double seconds;        /* sustained: per candidate */
    unsigned pairs; /* sustained: number of runs alternating with the peer; 0: each runs once */
    double answer_timeout; /* seconds to wait for an answer of a worker */
    double budget;         /* seconds to tune a kernel per problem; 0: none; below 0: by its size */
    const char *ncu;       /* path of the profiler; NULL: no profiling */
    uint64_t seed;         /* for the order in each round */
    /* Recorded in each row: the device, its target and multiprocessors, and what made the code.
     * NULL: nothing is. */
    const char *card, *target, *version;
    unsigned sms;
    double deadline;       /* by tile_seconds_now: no problem begins after it; 0: there is none */
    bool any_order;        /* problems may be measured in another order than theirs */
    bool reports_progress; /* on stderr */
    /* Called when the rows of a problem, which start at `first`, are complete. The report is
     * sorted. NULL: no callback. */
    void (*done)(const bench_report *report, size_t first, void *user);
    void *user;
} bench_plan;

/* Default values of the options. */
#define BENCH_PLAN_DEFAULTS \
    { .interleaved = true, .rounds = 20, .turn = 5, .seconds = 1, .answer_timeout = 60, .seed = 1 }

/* Returns whether the candidate is measured on the problem. */
bool bench_takes_part(const bench_candidate_spec *contender, const bench_problem *problem);
void bench_contender_add_word(bench_candidate_spec *contender, const char *word);

/* Reads these cells again. False if they are not a problem. */
bool bench_read_identity(const bench_row *row, bench_problem *problem);
/* Adds a row with the cells that identify this problem with this flush (bench_same_problem). */
bench_row *bench_add_identity(const bench_problem *problem, const char *flush,
                              bench_report *report);

/* Measures everything, and adds rows to those that the report may have. The report's facts must be
 * set. Errors of a candidate are in its rows. False if some problem has no correct candidate. */
bool bench_run(const bench_plan *plan, bench_report *report);

#endif
