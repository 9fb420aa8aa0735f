/* A run while it goes on: the candidates on the problem that is measured now. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_STATE_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_STATE_H

#include "tools/tile-bench/attention/reference.h"
#include "tools/tile-bench/common/pool.h"
#include "tools/tile-bench/measure/profile.h"
#include "tools/tile-bench/measure/run.h"

typedef struct bench_entry {
    const bench_contender *contender;
    bench_worker *worker; /* NULL: it has to be started (again) */
    bool is_ready;        /* for the problem, and right so far */
    bool is_wrong;        /* its result is */
    const char *how;      /* it was found right */
    char point[240], note[400];
    int registers, local_bytes, shared_bytes;
    bench_error errors[BENCH_INPUTS_COUNT]; /* of attention, by the plan's checks */
    unsigned error_count;
    double *samples; /* seconds */
    size_t count;
    bool has_sustained, has_counters;
    bench_sustained sustained;
    double ratios[BENCH_MAX_PAIRS]; /* of the pairs */
    unsigned pairs;
    bench_counters counters;
} bench_entry;

typedef struct bench_state {
    const bench_plan *plan;
    const char *flush;
    bench_problem problem;
    bench_entry entries[BENCH_MAX_CANDIDATES];
    unsigned count;
    uint64_t chance;
    /* Of attention. */
    bench_pattern *pattern;                          /* NULL: nobody needed it */
    bool has_numbers;                                /* it lies in the plan's folder */
    bench_reference *references[BENCH_INPUTS_COUNT]; /* by the plan's checks */
} bench_state;

bool bench_is_read(const bench_entry *entry);

/* The two halves of it. */
void bench_send(const bench_entry *entry, const char *line);
const char *bench_receive(const bench_state *state, bench_entry *entry, const char *word);
/* The entry's result is wrong. */
void bench_find_wrong(bench_entry *entry, const char *why);

/* ahead.c: compiles what the plan's kernels need into the cache, side by side. */
void bench_compile_ahead(const bench_plan *plan);

/* rows.c: adds the rows of the problem with this flush. False if nobody is right. */
bool bench_conclude(const bench_state *state, bench_report *report, unsigned number);

/* compare.c: attention by a kernel or another program, which makes its inputs from the files of the
 * plan's folder. */
bool bench_is_peer(const bench_entry *entry);
/* What peers make these inputs from. False after a message. */
bool bench_inputs_write(bench_state *state, bench_inputs inputs);
/* Of the problem, for all checks; nothing for products. */
void bench_references_make(bench_state *state);
void bench_references_free(bench_state *state);
/* Has all that are ready compute all checks, compares, and leaves them with random inputs. */
void bench_attention_check(bench_state *state);

#endif
