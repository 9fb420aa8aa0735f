/* What the commands that measure share: their options, candidates, device and report. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_OPTIONS_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_OPTIONS_H

#include "tools/common/cache.h"
#include "tools/tile-bench/measure/run.h"
#include "tools/tile-bench/measure/shapes.h"

enum { BENCH_MAX_TYPES = 8 };

/* Start with what the command is, and zeros. */
typedef struct bench_options {
    const char *command, *subject; /* "matmul" measures "products" */
    const char *allowed_types;     /* with blanks between them */
    const char *peer;              /* "cuBLASLt" */
    bench_plan plan;
    bench_shapes shapes;
    const bench_type *types[BENCH_MAX_TYPES];
    unsigned type_count;
    unsigned open;       /* contenders of the last --kernel: they begin here */
    unsigned own_count;  /* of its words before its first --point */
    char own_point[240]; /* what these bind */
    bool has_point;
    unsigned best;
    const char *device, *target, *ptxas, *csv, *json, *svg;
    bool no_kernels, no_floor, retunes, splits, profiles;
    double began;      /* when the run did, by tile_seconds_now */
    bool as_they_come; /* the text has the rows of each problem when they are whole */
    bool has_limits;   /* the report has to keep limits.def */
    tool_cache cache;
} bench_options;

/* For --help: of kernels and tuning, and of how it is measured and written. */
extern const char bench_kernel_help[], bench_measuring_help[];

/* False after "error: WHAT 'WORD'; see .." */
bool bench_complain(const bench_options *options, const char *what, const char *word);
/* Joins both; lives as long as the program. */
const char *bench_word(const char *name, const char *value, size_t length);
/* The next of a list with commas; *text is behind it. False at the end. */
bool bench_next_word(const char **text, char piece[16]);

/* If the next words are one of the options that all have: *taken. False after a message. */
bool bench_parse_option(bench_options *options, tool_arguments *words, bool *taken);
bool bench_add_types(bench_options *options, const char *value);
/* Looks at what was given, and at the device. False after a message. */
bool bench_options_ready(bench_options *options, bench_report *report);

/* NULL after a message. */
bench_contender *bench_add_contender(bench_options *options, const char *name, const char *kind);
/* Kernels that come with the tools: files, what comes after each (":name" or ""), and parameters;
 * both lists end with NULL. False after a message. */
bool bench_add_shipped(bench_options *options, const char *const *names, const char *kernel,
                       const char *const *params);
/* Where there is a GPU, and unless --no-floor was said: reading. The last one. */
void bench_add_floor(bench_options *options);
/* The path of a script that comes with the tools; false if it is nowhere. */
bool bench_find_script(const char *name, char *path, size_t size);

/* How it is measured, for the report's title. */
void bench_describe_protocol(const bench_options *options, tool_text *text);
/* Measures the plan's problems, writes the report, and frees both. */
bool bench_measure(bench_options *options, bench_report *report);

#endif
