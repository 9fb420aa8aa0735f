/* tile-run's command line. */
#ifndef TILE_TOOLS_TILE_RUN_OPTIONS_H
#define TILE_TOOLS_TILE_RUN_OPTIONS_H

#include "tile/measure.h"
#include "tools/common/cache.h"
#include "tools/common/include.h"
#include "tools/tile-run/run.h"
#include "tools/tile-run/tune.h"

typedef struct options {
    const char *file, *kernel, *device, *ptx, *ptxas;
    const char *checks[64]; /* OUT=EXPR */
    unsigned check_count;
    tool_cache cache;
    tile_binding bindings[64];
    unsigned binding_count;
    run_argument arguments[TILE_MAX_ARGUMENTS];
    unsigned argument_count;
    const char *saves[16];
    unsigned save_count;
    const char *offsets[16];
    unsigned offset_count;
    uint64_t seed, max_operations;
    unsigned sms; /* 0: the device's default */
    bool seed_given;
    const tile_target *target; /* NULL: not given */
    unsigned level;
    unsigned repeats;    /* 0: no measurement */
    bool with_reference; /* --check without OUT=EXPR */
    tile_flush flush;
    tune_options tuning;
    tool_remarks remarks;
    const char *trace;
    unsigned trace_blocks;
    bool list, json;
    bool timing;
    bool counts;
    bool variant;
    double tolerance; /* below 0: by type */
} options;

/* The default values. */
#define RUN_DEFAULTS \
    { .tolerance = -1, .flush = TILE_FLUSH_DIRTY, .trace_blocks = 4 }

void options_print_help(void);
/* Parses the next word and its value; false after a message. */
bool options_parse(options *o, tool_arguments *args);
/* After the last option. False after a message. */
bool options_check(const options *o);
/* Returns whether they bind the parameter. */
bool options_bind(const options *o, const char *name);
/* Parses an integer from least to most; name is for the message. */
bool options_read_count(const char *name, const char *text, double least, double most,
                        double *number);

/* schedule.c: returns the kernel or plan that a compute is scheduled to, and adds it to the module.
 * Also adds dims, element types and results that the command line omits. NULL after a message. */
const tile_function *run_schedule(options *o, tile_module *module, const tile_function *compute,
                                  const tile_target *target);

#endif
