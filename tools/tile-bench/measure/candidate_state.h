/* The state of a candidate, shared by candidate.c, candidate_kernel.c and candidate_points.c. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_CANDIDATE_STATE_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_CANDIDATE_STATE_H

#include "tile/tune.h"
#include "tools/tile-bench/matmul/cublaslt.h"
#include "tools/tile-bench/measure/candidate.h"
#include "tools/tile-bench/measure/read_kernel.h"

enum { BENCH_MAX_KERNEL_ARGUMENTS = 16 };

struct bench_candidate {
    tile_context *context;
    bench_lab *lab;
    const bench_candidate_options *options;
    bool is_set;      /* the problem is ready to launch */
    bool is_prepared; /* ready, but without memory for its arrays */
    bench_arrays data;
    bench_memory workspace;
    char point[240], remark[40];
    bool picked; /* the point is not the kernel's first one, whose attributes are known */
    /* BENCH_KERNEL */
    tile_module *module;
    const char *scheduled;   /* name of the function that a compute became; NULL: none */
    char schedule_key[1200]; /* the compute, and the bindings with which it was scheduled */
    tile_binding left[BENCH_MAX_BINDINGS]; /* of these, the ones of the new function */
    unsigned left_count;
    tile_kernel *kernel;
    tile_argument arguments[BENCH_MAX_KERNEL_ARGUMENTS];
    int argument_arrays[BENCH_MAX_KERNEL_ARGUMENTS]; /* index of its array; -1: a number */
    unsigned argument_count;
    char values[BENCH_MAX_BINDINGS][2][64]; /* names and values with the placeholders filled in */
    tile_binding bindings[BENCH_MAX_BINDINGS]; /* from the options, then the tuned ones */
    unsigned given_count, binding_count;       /* from the options; all */
    tile_tuning *tuning;                       /* owns the names and values of the tuned ones */
    bench_point points[BENCH_MAX_POINTS];
    unsigned point_count, points_asked; /* listed; asked for, 0: not listed */
    uint64_t points_seed;
    char *host; /* room for two results; NULL: not needed so far */
    size_t host_bytes;
    bool has_expected; /* the first half is the pick's result on whole numbers, for its points */
    /* BENCH_CUBLASLT */
    bench_cublas *cublas;
    /* BENCH_READ */
    bench_reader *reader;
    /* BENCH_COPY */
    bench_memory copies[2]; /* from the first to the second */
    size_t copy_bytes;
};

/* Reports "NAME: WHAT" (name NULL: only WHAT) and returns TILE_INVALID. */
tile_status bench_refuse(const bench_candidate *candidate, const char *what, const char *name);

/* Takes the problem without memory for its arrays. The candidate has no current problem
 * afterwards. */
tile_status bench_candidate_reserve(bench_candidate *candidate, const bench_problem *problem);

/* Launches into a poisoned result, and waits. */
tile_status bench_candidate_launch(bench_candidate *candidate);
/* Launches and reads the result to the host's memory, which has room for two results, 0 and 1.
 * *data is valid until the next problem. */
tile_status bench_candidate_fetch(bench_candidate *candidate, unsigned place, char **data);

/* candidate_kernel.c: a BENCH_KERNEL. */

/* The kernel or plan for the current problem; a compute is scheduled. NULL after a diagnostic. */
const tile_function *bench_kernel_find(bench_candidate *candidate);
/* Creates the kernel for the current problem, and tunes first if that is requested. */
tile_status bench_kernel_create(bench_candidate *candidate, tile_flush flush);
/* The same, and compiles what a launch needs. */
tile_status bench_kernel_set(bench_candidate *candidate, tile_flush flush);
/* candidate_points.c: sets the candidate's points, up to this many. */
tile_status bench_kernel_choose_points(bench_candidate *candidate, unsigned count, uint64_t seed);
/* Chooses these points and compiles them, so that taking them is fast; further launches use the
 * pick. Points that do not compile are reported when they are taken. */
tile_status bench_kernel_load_points(bench_candidate *candidate, unsigned count, uint64_t seed);
/* The launch function of a tile_work. */
tile_status bench_kernel_launch(void *stream, void *candidate);

#endif
