/* Compiles many points of a kernel in parallel, and measures the time. */
#ifndef TILE_TOOLS_TILE_BENCH_COMPILE_RUN_H
#define TILE_TOOLS_TILE_BENCH_COMPILE_RUN_H

#include "tile/artifact.h"

/* The stages of compiling a point. STAGE(name, meaning, prefix of the library's steps): a step
 * belongs to the first stage whose prefix it starts with. */
#define BENCH_COMPILE_STAGES \
    STAGE(start, "LLVM's objects", "llvm-start") \
    STAGE(build, "LLVM IR is built", "llvm-build") \
    STAGE(llvm, "LLVM's passes", "llvm-passes") \
    STAGE(select, "selection to text", "llvm-ptx") \
    STAGE(assemble, "ptxas", "assemble") \
    STAGE(own, "our passes", "")

typedef enum bench_stage {
#define STAGE(name, meaning, steps) BENCH_STAGE_##name,
    BENCH_COMPILE_STAGES
#undef STAGE
        BENCH_STAGE_COUNT
} bench_stage;

const char *bench_stage_meaning(bench_stage stage);

/* All pointers stay the caller's. */
typedef struct bench_compile_job {
    const char *path, *text; /* the file's */
    size_t length;
    const char *kernel;        /* NULL: the only one */
    const char *const *points; /* "block_m=128 block_n=64" */
    unsigned point_count;      /* at least 1 */
    const tile_target *target;
    const char *ptxas; /* NULL: stop at PTX */
    bool no_line_info;
    bool all_kernels; /* also kernels that are launched only as a fallback */
    bool is_quiet;    /* errors of points have been reported already */
} bench_compile_job;

typedef struct bench_compile_point {
    double cpu;                       /* seconds of its thread, without ptxas */
    double stages[BENCH_STAGE_COUNT]; /* wall-clock seconds */
} bench_compile_point;

typedef struct bench_compile_result {
    double seconds;              /* from the start of the first point to the end of the last one */
    bench_compile_point *points; /* as many as the job has; the caller frees them */
    unsigned failed;             /* number of points whose errors are on stderr */
} bench_compile_result;

/* Compiles each point once, on this many threads. Each thread has its own context, in which it
 * compiles one point before timing starts. False, after a message, if the threads cannot be
 * created. */
bool bench_compile(const bench_compile_job *job, unsigned workers, bench_compile_result *result);

#endif
