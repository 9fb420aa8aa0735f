/* Measures programs, one after the other: checks, times, launches, peers. */
#ifndef TILE_TOOLS_TILE_BENCH_PROGRAM_RUN_H
#define TILE_TOOLS_TILE_BENCH_PROGRAM_RUN_H

#include "tile/target.h"
#include "tools/tile-bench/common/pool.h"
#include "tools/tile-bench/program/result.h"
#include "tools/tile-bench/program/text.h"

enum { BENCH_PROGRAM_PEERS = 14 };

typedef struct bench_program_plan {
    char **files;
    unsigned file_count;
    const char *function;    /* NULL: the only one */
    bench_settings settings; /* of all files: they replace the defaults, and sizes of `small` */
    bench_settings small;    /* replace sizes of `small` only */
    const char *peer;        /* script of all files; NULL: each file's own, if it has one */
    const char *python;
    bool no_peers, cuda;
    bool times_peers;               /* else a peer only checks, by its reference of Python */
    const char *const *serve_words; /* of this program, to serve; NULL-terminated */
    const char *script;             /* program_peers.py; NULL: there is none */
    const char *folder;             /* for numbers and results */
    const char *flush;
    unsigned rounds, turn;
    unsigned ahead;           /* processes that compile for PyTorch before the first measurement */
    double timeout, deadline; /* seconds; by tile_seconds_now: nothing begins after it, 0: never */
    bool prints_steps;
    bool is_quiet; /* no text: the CSV or JSON goes to standard output */
    const tile_target *target;
    /* Called after each program; may be NULL. */
    void (*done)(const bench_results *results, void *user);
    void *user;
} bench_program_plan;

/* The script of a file's peer: FILE.py beside FILE.tile, else peers.py in its folder. False if it
 * has none. */
bool bench_program_find_peer(const bench_program_plan *plan, const char *path, char script[700]);

/* Adds a result for each program that has none yet. False if one is not right, after a message if
 * the device cannot be used. */
bool bench_program_run(const bench_program_plan *plan, bench_results *results);

#endif
