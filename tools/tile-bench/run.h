/* Measuring many candidates on many products. */
#ifndef TILE_TOOLS_TILE_BENCH_RUN_H
#define TILE_TOOLS_TILE_BENCH_RUN_H

#include "tools/tile-bench/product.h"
#include "tools/tile-bench/report.h"

enum { BENCH_MAX_PAIRS = 99, BENCH_MAX_CANDIDATES = 64, BENCH_MAX_WORDS = 40, BENCH_MAX_TYPES = 8 };

/* A candidate as its worker is told of it. */
typedef struct bench_contender {
    const char *name;                   /* in reports */
    const char *kind;                   /* kernel, cublaslt, read */
    char point[240];                    /* its parameters, for reports; "": the worker tells */
    const char *words[BENCH_MAX_WORDS]; /* the worker's, ended by NULL */
    unsigned word_count;
} bench_contender;

/* What is to be measured; the products are all shapes x types x transposes. */
typedef struct bench_plan {
    bench_contender contenders[BENCH_MAX_CANDIDATES];
    unsigned contender_count;
    bench_shapes shapes;
    const bench_type *types[BENCH_MAX_TYPES];
    unsigned type_count;
    const char *trans[4];
    unsigned trans_count;
    bool cuda;
    bool interleaved, sustained; /* the protocols */
    const char *flushes[3];      /* dirty, clean, none: each for every product */
    unsigned flush_count;
    unsigned rounds, turn; /* interleaved: launches of a candidate are rounds x turn */
    double seconds;        /* sustained: of each candidate */
    unsigned pairs;        /* sustained: so often with cuBLASLt in turn; 0: each once */
    double patience;       /* seconds for any answer of a worker */
    double budget; /* seconds that a kernel is tuned for each product; 0: it is not; below 0: by its
                      size */
    const char *ncu;     /* path of the profiler; NULL: nothing is profiled */
    uint64_t seed;       /* of the order in each round */
    bool tells_progress; /* on stderr */
} bench_plan;

void bench_contender_add_word(bench_contender *contender, const char *word);

/* Measures everything; the report's facts are there already. What goes wrong with a candidate is in
 * its rows. False if none of a product's candidates was right. */
bool bench_run(const bench_plan *plan, bench_report *report);

#endif
