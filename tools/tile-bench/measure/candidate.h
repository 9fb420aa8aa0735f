/* A candidate, inside its worker: the kernel or library that computes a product or attention, or
 * the reading kernel that measures a lower bound (floor). */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_CANDIDATE_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_CANDIDATE_H

#include "tools/tile-bench/measure/arrays.h"

typedef enum bench_kind {
    BENCH_KERNEL,         /* a kernel or plan of a file */
    BENCH_CUBLASLT,       /* the best of cuBLASLt's algorithms */
    BENCH_CUBLASLT_FIRST, /* the one that its heuristic ranks first: what callers get who do not
                             measure */
    BENCH_CUBLASLT_FAST,  /* the best with fast accumulation, which exists for 8-bit floats */
    BENCH_READ,           /* a floor: reads the operands' bytes and computes nothing */
    BENCH_COPY,           /* a floor: copies half as many bytes as the problem reads and writes */
} bench_kind;

enum { BENCH_MAX_BINDINGS = 32 };

typedef struct bench_candidate_options {
    bench_kind kind;
    const char *file, *kernel; /* of a BENCH_KERNEL; kernel NULL: the only one, or the only plan */
    /* NAME=VALUE. Words in braces, also in the kernel's name, are replaced by
     * bench_problem_fill. */
    const char *bindings[BENCH_MAX_BINDINGS];
    unsigned binding_count;
    const char *cublas; /* path of the library, or NULL */
    /* BENCH_KERNEL: seconds at most to tune for each problem; 0: no tuning; below 0: as
     * bench_problem_budget says. */
    double budget;
    bool unchecked;       /* tunes even without a reference; the best point is always checked */
    bool retunes;         /* also if a tuned point exists already */
    bool splits;          /* adds splits of the reduction loop to the search space */
    const char *tuner;    /* path of tile-worker, which runs points; NULL: this process does */
    double tuner_timeout; /* seconds per point there */
} bench_candidate_options;

typedef struct bench_candidate bench_candidate;

/* Returns NULL after a diagnostic. The options must outlive the candidate. */
bench_candidate *bench_candidate_create(tile_context *context, bench_lab *lab,
                                        const bench_candidate_options *options);
void bench_candidate_destroy(bench_candidate *candidate);

/* Prepares a problem, replacing the previous one: compiles and allocates. If the candidate has its
 * own choices, such as cuBLASLt's algorithms, selects the fastest one with this flush. */
tile_status bench_candidate_set(bench_candidate *candidate, const bench_problem *problem,
                                tile_flush flush);

/* Compiles and loads what a problem needs: the pick, and as many points as
 * bench_candidate_list_points lists. The candidate has no current problem afterwards. If this
 * problem is set next, only its arrays are missing. */
tile_status bench_candidate_prepare(bench_candidate *candidate, const bench_problem *problem,
                                    unsigned points, uint64_t seed);

/* Computes the product of small integers twice, and compares for equality. A floor always
 * passes. */
tile_status bench_candidate_check(bench_candidate *candidate, bench_verdict *verdict);
/* Fills the operands of attention with these inputs. */
tile_status bench_candidate_fill(bench_candidate *candidate, bench_inputs inputs);
/* Computes attention twice and writes the result to a file; *differ: the two results are not
 * bitwise equal. */
tile_status bench_candidate_compute(bench_candidate *candidate, const char *path, bool *differ);
/* Returns the work to measure, on random numbers. All these functions fail before a problem is
 * set. */
tile_status bench_candidate_work(bench_candidate *candidate, tile_work *work);

/* A point of a kernel that is measured beside its pick. */
enum { BENCH_MAX_POINTS = 64, BENCH_POINT_TEXT = 240 };
typedef struct bench_point {
    char text[BENCH_POINT_TEXT]; /* "block_m=128 block_n=64" */
    const char *origin;          /* picked, model, sample */
    double estimate;             /* the model's, in seconds */
} bench_point;

/* Lists up to `count` points of the kernel for the current product: the one that a launch picks,
 * then the first half in the order of the cost model, then others at random. The pick must be
 * correct. *listed is 0 if the kernel has no choice. */
tile_status bench_candidate_list_points(bench_candidate *candidate, unsigned count, uint64_t seed,
                                        unsigned *listed);
/* Calls visit for the points that a launch for the problem may use, in the order of the cost model.
 * Nothing is allocated; the candidate has no current problem afterwards. */
tile_status bench_candidate_rank(bench_candidate *candidate, const bench_problem *problem,
                                 tile_rank_visit visit, void *user);
/* "block_m=128 block_n=64" */
void bench_write_bindings(const tile_binding *bindings, unsigned count, char *text, size_t size);
/* NULL past the end of the list. */
const bench_point *bench_candidate_point(const bench_candidate *candidate, unsigned index);
/* Compiles the point; further launches use it. */
tile_status bench_candidate_take_point(bench_candidate *candidate, unsigned index);
/* *same: on whole numbers, whose sums are exact, a launch has the result of the pick. */
tile_status bench_candidate_compare(bench_candidate *candidate, bool *same);

/* Version of the library that it calls, such as "13.1.0"; "" if it calls none. */
const char *bench_candidate_version(const bench_candidate *candidate);

/* Further properties, known after a problem is set. */
typedef struct bench_details {
    char point[240]; /* "algo 66, tile 20, stages 36, split 4 (best of 8)" */
    int registers, local_bytes, shared_bytes; /* -1: not known */
} bench_details;

bench_details bench_candidate_details(bench_candidate *candidate);

#endif
