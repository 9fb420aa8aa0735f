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
    "                       keeps it in the cache and runs it; a point that is there already is " \
    "taken\n" \
    "  --retune=stale|always   measures although there is a point: of another compiler, or any\n" \
    "  --budget=SECONDS     begins no candidate after that (default: tries all)\n" \
    "  --timeout=SECONDS    that a candidate may take (default: 20); a worker begins within " \
    "three\n" \
    "                       times as long, or 5 seconds\n" \
    "  --jobs=N             threads that compile (default: one for each core)\n" \
    "  --worker=FILE|none   the program that runs candidates, so that a fault costs only one\n" \
    "                       (default: tile-worker beside tile-run); none: in this process\n" \
    "  --report=FILE        every candidate and what became of it; JSON if FILE ends in .json\n" \
    "  --split              tries to split the reduction loop, too, where the text does not\n" \
    "  --unchecked          tunes a kernel that names no reference, without looking at results\n"

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
