/* Runs on random problems: their options, and how a run continues an earlier one. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_RANDOM_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_RANDOM_H

#include "tools/tile-bench/random/distribution.h"
#include "tools/tile-bench/random/draw.h"

struct bench_options;

/* Zero-initialize. */
typedef struct bench_random_options {
    bench_draw draw;
    bool is_given;                       /* --random */
    bool by_kernel, by_compute;          /* --route; both are unset if there is a --kernel */
    bool one_type, one_trans, one_route; /* --one-of: a problem has one of them, not each */
    bool has_seconds;                    /* --seconds, which limits the run */
    unsigned count;                      /* problems of each type and layout; 0: not a random run */
    const char *commit;                  /* recorded in the file */
    size_t all, done; /* problems of the run; of those that an earlier run did not measure */
} bench_random_options;

/* For --help. */
extern const char bench_random_help[];

/* As bench_parse_option, for the options of random runs. */
bool bench_random_option(struct bench_options *options, tool_arguments *words, bool *taken);
/* Sets defaults and checks that the options agree. False after a message. */
bool bench_random_complete(struct bench_options *options);
/* Adds a kernel that ships with the tools as the candidate of this name, for the problems of the
 * part. `kernel`: ":NAME" or "". False after a message. */
bool bench_add_route(struct bench_options *options, const char *name, unsigned part,
                     const char *file, const char *kernel, const char *const *params);
/* Reads the CSV file of an earlier run, if there is one, and removes the problems that it has from
 * the plan. The rows of the file that are not of this run's problems become `is_other`. False after
 * a message. */
bool bench_random_begin(struct bench_options *options, bench_report *report);
/* Writes the CSV file. False after a message. */
bool bench_random_write(const struct bench_options *options, const bench_report *report);
/* Writes the distribution, and how many problems were not measured. */
void bench_random_finish(const struct bench_options *options, const bench_report *report);

#endif
