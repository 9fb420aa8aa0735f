/* Shared by the commands that measure: options, candidates, device and report. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_OPTIONS_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_OPTIONS_H

#include "tools/common/cache.h"
#include "tools/tile-bench/measure/random.h"
#include "tools/tile-bench/measure/run.h"
#include "tools/tile-bench/measure/shapes.h"

enum { BENCH_MAX_TYPES = 8 };

/* Set the description of the command and zero-initialize the rest. */
typedef struct bench_options {
    const char *command, *subject; /* "matmul" measures "products" */
    const char *allowed_types;     /* separated by blanks */
    const char *peer;              /* "cuBLASLt" */
    bench_plan plan;
    bench_shapes shapes;
    const bench_type *types[BENCH_MAX_TYPES];
    unsigned type_count;
    unsigned open;       /* first contender of the last --kernel */
    unsigned own_count;  /* number of its words before its first --point */
    char own_point[240]; /* the bindings in these words */
    bool has_point;
    unsigned best;
    const char *device, *target, *ptxas, *csv, *json, *svg;
    bool no_kernels, no_floor, retunes, splits, profiles;
    double began;      /* start of the run, by tile_seconds_now */
    bool as_they_come; /* the text prints the rows of each problem as soon as they are complete */
    bool has_limits;   /* the report must satisfy limits.def */
    bench_random_options random;
    tool_cache cache;
} bench_options;

/* For --help: options for kernels and tuning, and for measuring and output. */
extern const char bench_kernel_help[], bench_measuring_help[];

/* Prints "error: WHAT 'WORD'; see .." and returns false. */
bool bench_complain(const bench_options *options, const char *what, const char *word);
/* Concatenates both; never freed. */
const char *bench_word(const char *name, const char *value, size_t length);
/* Returns the next word of a comma-separated list and moves *text past it. False at the end. */
bool bench_next_word(const char **text, char piece[16]);

/* Reports and returns false if the text is not a number in this range. */
bool bench_read_number(const char *name, const char *text, double least, double most,
                       double *number);
bool bench_read_count(const char *name, const char *text, unsigned most, unsigned *count);

/* Parses the next words if they are one of the common options; then *taken is true. False after a
 * message. */
bool bench_parse_option(bench_options *options, tool_arguments *words, bool *taken);
bool bench_add_types(bench_options *options, const char *value);
/* Completes and checks the options, and chooses the device. False after a message. */
bool bench_options_ready(bench_options *options, bench_report *report);

/* contenders.c */

/* --kernel, --param and --point. False after a message. */
bool bench_add_kernel(bench_options *options, const char *value);
bool bench_add_param(bench_options *options, const char *value);
bool bench_add_point(bench_options *options, const char *value);
/* Returns NULL after a message. */
bench_candidate_spec *bench_add_contender(bench_options *options, const char *name,
                                          const char *kind);
/* Adds kernels that ship with the tools: file names, the suffix of each (":name" or ""), and
 * parameters. Both lists end with NULL. False after a message. */
bool bench_add_shipped(bench_options *options, const char *const *names, const char *kernel,
                       const char *const *params);
/* Returns the path of a kernel that ships with the tools; false if it is not found. */
bool bench_find_kernel(const char *name, char *path, size_t size);
/* Returns the path of a script that ships with the tools; false if it is not found. folder: of the
 * sources, below tools/tile-bench/. */
bool bench_find_script(const char *folder, const char *name, char *path, size_t size);

/* options.c */

/* Adds the reading kernel as the last contender, if there is a GPU and --no-floor was not given. */
void bench_add_floor(bench_options *options);

/* Describes how the measurement is done, for the report's title. */
void bench_describe_protocol(const bench_options *options, tool_text *text);
/* Measures the plan's problems, writes the report, and frees both. */
bool bench_measure(bench_options *options, bench_report *report);

#endif
