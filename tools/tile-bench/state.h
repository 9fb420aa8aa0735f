/* A run while it goes on: the candidates on the problem that is measured now. */
#ifndef TILE_TOOLS_TILE_BENCH_STATE_H
#define TILE_TOOLS_TILE_BENCH_STATE_H

#include "tools/tile-bench/pool.h"
#include "tools/tile-bench/profile.h"
#include "tools/tile-bench/run.h"

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
    bench_pattern *pattern; /* of attention's inputs; NULL: nobody needed it */
} bench_state;

bool bench_is_read(const bench_entry *entry);
bool bench_is_kernel(const bench_entry *entry);

/* What a worker answers behind this word; else NULL, and the entry is out, with the reason as its
 * note. */
const char *bench_ask(const bench_state *state, bench_entry *entry, const char *line,
                      const char *word);
/* The entry's result is wrong. */
void bench_find_wrong(bench_entry *entry, const char *why);

/* rows.c: adds the rows of the problem with this flush. False if nobody is right. */
bool bench_conclude(const bench_state *state, bench_report *report, unsigned number);

/* peers.c: attention by another program, whose arrays are files of the plan's folder, so that all
 * have the same inputs and one reference. */
bool bench_is_peer(const bench_entry *entry);
/* The inputs that are measured, where a peer finds them. False after a message. */
bool bench_peers_write(bench_state *state, bench_inputs inputs);
/* Has the peers that are ready compute all checks, and compares. */
void bench_peers_check(bench_state *state);

#endif
