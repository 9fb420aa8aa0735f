/* Measuring many candidates on many problems. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_RUN_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_RUN_H

#include "tools/tile-bench/measure/problem.h"
#include "tools/tile-bench/report/report.h"

enum { BENCH_MAX_PAIRS = 99, BENCH_MAX_CANDIDATES = 64, BENCH_MAX_WORDS = 40 };

/* A candidate as its worker is told of it. */
typedef struct bench_contender {
    const char *name;                   /* in reports */
    const char *kind;                   /* kernel, cublaslt, read, flash, cudnn */
    const char *program;                /* of its worker; NULL: this one */
    char point[240];                    /* its parameters, for reports; "": the worker tells */
    const char *words[BENCH_MAX_WORDS]; /* the worker's, ended by NULL */
    unsigned word_count;
    unsigned part; /* 0: measured on all problems; else on those of the part */
} bench_contender;

/* What is to be measured. */
typedef struct bench_plan {
    bench_contender contenders[BENCH_MAX_CANDIDATES];
    unsigned contender_count;
    bench_problem *problems;
    size_t problem_count;
    /* Attention: the inputs with which each candidate is checked, and where those of peers lie. */
    bench_inputs checks[BENCH_INPUTS_COUNT];
    unsigned check_count;
    const char *folder;
    const char *peer_kind; /* of the contender that all are compared with; NULL: none */
    bool cuda;
    bool interleaved, sustained; /* the protocols */
    const char *flushes[3];      /* dirty, clean, none: each for every product */
    unsigned flush_count;
    unsigned rounds, turn; /* interleaved: launches of a candidate are rounds x turn */
    double seconds;        /* sustained: of each candidate */
    unsigned pairs;        /* sustained: so often with the peer in turn; 0: each once */
    double patience;       /* seconds for any answer of a worker */
    double budget; /* seconds that a kernel is tuned for each problem; 0: it is not; below 0: by its
                      size */
    const char *ncu;       /* path of the profiler; NULL: nothing is profiled */
    uint64_t seed;         /* of the order in each round */
    bool reports_progress; /* on stderr */
    bool compiles_ahead;   /* there is a cache for it */
    /* Called when the rows of a problem are whole, which are those of the last groups, from `first`
     * on. The report is sorted. NULL: nobody waits for them. */
    void (*done)(const bench_report *report, size_t first, void *user);
    void *user;
} bench_plan;

/* What is not asked for otherwise. */
#define BENCH_PLAN_DEFAULTS \
    { .interleaved = true, .rounds = 20, .turn = 5, .seconds = 1, .patience = 60, .seed = 1 }

/* Whether the candidate is measured on the problem. */
bool bench_takes_part(const bench_contender *contender, const bench_problem *problem);
void bench_contender_add_word(bench_contender *contender, const char *word);

/* Measures everything; the report's facts are there already. What goes wrong with a candidate is in
 * its rows. False if none of a problem's candidates was right. */
bool bench_run(const bench_plan *plan, bench_report *report);

#endif
