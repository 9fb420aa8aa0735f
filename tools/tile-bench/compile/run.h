/* Compiling many points of a kernel side by side, and how long it takes. */
#ifndef TILE_TOOLS_TILE_BENCH_COMPILE_RUN_H
#define TILE_TOOLS_TILE_BENCH_COMPILE_RUN_H

#include "tile/artifact.h"

/* Where the time of a point goes. STAGE(name, meaning, first letters of the library's steps): a
 * step is of the first stage whose letters it begins with. */
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

/* All of it is the caller's. */
typedef struct bench_compile_job {
    const char *path, *text; /* of the file */
    size_t length;
    const char *kernel;        /* NULL: the only one */
    const char *const *points; /* "block_m=128 block_n=64" */
    unsigned point_count;      /* at least 1 */
    const tile_target *target;
    const char *ptxas; /* NULL: PTX is the end */
    bool no_line_info;
    bool all_kernels; /* also those that are launched only where another one cannot be */
    bool is_quiet;    /* what is wrong with a point is known already */
} bench_compile_job;

typedef struct bench_compile_point {
    double cpu;                       /* seconds of its thread, without those of ptxas */
    double stages[BENCH_STAGE_COUNT]; /* seconds that passed */
} bench_compile_point;

typedef struct bench_compile_result {
    double seconds;              /* from the first point's start to the last one's end */
    bench_compile_point *points; /* as many as the job has; the caller frees */
    unsigned failed;             /* what was wrong is on stderr */
} bench_compile_result;

/* Compiles each point once, with so many threads, each with a context of its own that has compiled
 * one point before the clock starts. False after a message: there are not so many threads. */
bool bench_compile(const bench_compile_job *job, unsigned workers, bench_compile_result *result);

#endif
