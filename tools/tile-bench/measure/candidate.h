/* The kernel or library that computes a product or attention, or stands for its floor: one
 * candidate, inside its worker.
 */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_CANDIDATE_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_CANDIDATE_H

#include "tools/tile-bench/measure/arrays.h"

typedef enum bench_kind {
    BENCH_KERNEL,         /* a kernel or plan of a file */
    BENCH_CUBLASLT,       /* the best of cuBLASLt's algorithms */
    BENCH_CUBLASLT_FIRST, /* the one that its heuristic puts first: what callers get who measure
                             nothing */
    BENCH_CUBLASLT_FAST,  /* the best with fast accumulation, which 8-bit floats have */
    BENCH_READ,           /* reads the operands' bytes, and computes nothing: a floor */
} bench_kind;

enum { BENCH_MAX_BINDINGS = 32 };

typedef struct bench_candidate_options {
    bench_kind kind;
    const char *file, *kernel; /* of a BENCH_KERNEL; kernel NULL: the only one, or the only plan */
    /* NAME=VALUE; words in braces, in the kernel's name too, are as bench_problem_fill says. */
    const char *bindings[BENCH_MAX_BINDINGS];
    unsigned binding_count;
    const char *cublas; /* path of the library, or NULL */
    /* BENCH_KERNEL: tunes for each problem, for so many seconds at most; 0: does not; below 0: as
     * long as bench_problem_budget says. */
    double budget;
    bool unchecked;    /* its points may be tuned without a reference: the one that wins is checked
                          here in any case */
    bool retunes;      /* also where there is a tuned point already */
    bool splits;       /* joins the space with that of splitting the reduction loop */
    const char *tuner; /* path of tile-worker, in which points are tried; NULL: here */
    double tuner_timeout; /* seconds for a point there */
} bench_candidate_options;

typedef struct bench_candidate bench_candidate;

/* NULL after a diagnostic. The options must live as long. */
bench_candidate *bench_candidate_create(tile_context *context, bench_lab *lab,
                                        const bench_candidate_options *options);
void bench_candidate_destroy(bench_candidate *candidate);

/* Makes ready for a problem, in place of the one before: compiles, allocates, and where there
 * is a choice that is the candidate's own (cuBLASLt's algorithms), takes the fastest with this
 * flush. */
tile_status bench_candidate_set(bench_candidate *candidate, const bench_problem *problem,
                                tile_flush flush);

/* Compiles what a problem needs, and no more: into the cache, where others find it. The problem
 * that was set is so no longer. */
tile_status bench_candidate_prepare(bench_candidate *candidate, const bench_problem *problem);

/* Computes the product of whole numbers twice, and compares for equality. A floor is never wrong.
 */
tile_status bench_candidate_check(bench_candidate *candidate, bench_verdict *verdict);
/* The operands of attention are these from now on. */
tile_status bench_candidate_fill(bench_candidate *candidate, bench_inputs inputs);
/* Computes attention twice into a file; whether both have the same bits. */
tile_status bench_candidate_compute(bench_candidate *candidate, const char *path, bool *differ);
/* What is measured, on random numbers. All refuse before a problem is set. */
tile_status bench_candidate_work(bench_candidate *candidate, tile_work *work);

/* Of the library that it calls: "13.1.0"; "" if it calls none. */
const char *bench_candidate_version(const bench_candidate *candidate);

/* What else is known of it, after it was set. */
typedef struct bench_details {
    char point[240]; /* "algo 66, tile 20, stages 36, split 4 (best of 8)" */
    int registers, local_bytes, shared_bytes; /* -1: not known */
} bench_details;

bench_details bench_candidate_details(bench_candidate *candidate);

#endif
