/* tile-run --tune. */
#ifndef TILE_TOOLS_TILE_RUN_TUNE_H
#define TILE_TOOLS_TILE_RUN_TUNE_H

#include "tile/tune.h"
#include "tools/common/tool.h"
#include "tools/tile-run/run.h"

/* The options of the command line; zero-initialize. */
typedef struct tune_options {
    bool tune;
    const char *worker; /* NULL: the one in the tools' folder; "none": this process */
    const char *report; /* a file, JSON if its name ends in .json; NULL: none */
    double budget, timeout;
    unsigned jobs;
    tile_retune retune;
    bool split;
    bool unchecked;
} tune_options;

#define TUNE_HELP \
    "  --tune               finds the fastest point of the kernel's `tune` clauses for these " \
    "sizes,\n" \
    "                       stores it in the cache and runs it; a point from the cache is used\n" \
    "                       without a search\n" \
    "  --retune=stale|always   searches although the cache has a point: if it is of another\n" \
    "                       compiler, or always\n" \
    "  --budget=SECONDS     starts no candidate after this time (default: tries all)\n" \
    "  --timeout=SECONDS    time limit of a candidate (default: 20); a worker must start within\n" \
    "                       three times that, or 5 seconds\n" \
    "  --jobs=N             number of threads that compile (default: one for each core)\n" \
    "  --worker=FILE|none   the program that runs candidates, so that a fault ends only one " \
    "(default:\n" \
    "                       tile-worker in tile-run's folder); none runs them in this process\n" \
    "  --report=FILE        writes every candidate and its result; as JSON if FILE ends in " \
    ".json\n" \
    "  --split              also tries to split the reduction loop if the text does not split " \
    "it\n" \
    "  --unchecked          tunes a kernel that names no reference, without checking results\n"

/* Consumes the next word if it is one of these options. *ok is false after a message. */
bool tune_option(tool_arguments *args, tune_options *options, bool *ok);

/* Rejects options that need --tune without it; false after a message. */
bool tune_check(const tune_options *options);

/* Tunes for the arguments, which are in the kernel's order, and prints the report. The caller
 * destroys *tuning, which is set also after a failure. */
bool tune_run(const tune_options *options, tile_device *device, const tile_module *module,
              const tile_function *f, const tile_binding *bindings, unsigned binding_count,
              const run_argument *arguments, const tile_measure_options *measure,
              tile_tuning **tuning);

#endif
