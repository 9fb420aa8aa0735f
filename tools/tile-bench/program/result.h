/* Results of programs: a row of a CSV each, and their distribution. */
#ifndef TILE_TOOLS_TILE_BENCH_PROGRAM_RESULT_H
#define TILE_TOOLS_TILE_BENCH_PROGRAM_RESULT_H

#include <stdbool.h>
#include <stddef.h>

#include "tile/base.h"

typedef enum bench_field {
#define COLUMN(name, kind, meaning) BENCH_FIELD_##name,
#include "tools/tile-bench/program/columns.def"
#undef COLUMN
    BENCH_FIELDS
} bench_field;

/* A launch of the program. */
typedef struct bench_step {
    char kernel[200];
    long long grid[3];
    double seconds, read_bytes, written_bytes, operations, floor_seconds;
} bench_step;

typedef struct bench_result {
    char *cells[BENCH_FIELDS]; /* as in the CSV, without quotes; NULL: empty */
    bench_step *steps;
    unsigned step_count;
} bench_result;

typedef struct bench_results {
    bench_result *list;
    unsigned count, capacity;
} bench_results;

/* Valid until the next one is added. */
bench_result *bench_results_add(bench_results *results);
void bench_results_drop_last(bench_results *results);
void bench_results_free(bench_results *results);
void bench_result_set(bench_result *result, bench_field cell, const char *text);
void bench_result_set_number(bench_result *result, bench_field cell, double number);
const char *bench_result_text(const bench_result *result, bench_field cell); /* "" if it is empty */
/* 0 if it is empty. */
double bench_result_number(const bench_result *result, bench_field cell);
bool bench_result_is_right(const bench_result *result);
/* Whether both are of the same program with the same settings, on the same device. */
bool bench_result_is_same(const bench_result *a, const bench_result *b);

void bench_results_write_csv(const bench_results *results, tile_writer writer, void *user);
void bench_results_write_json(const bench_results *results, tile_writer writer, void *user);
/* False after a message. */
bool bench_results_read_csv(const char *path, const char *text, bench_results *results);

/* Drops results that are not right, so that they are measured again. */
void bench_results_keep_right(bench_results *results);

/* The geometric mean, the lowest ratio and the shares at 1.00 and 0.95 of each class and of all,
 * and the programs that are not right. */
void bench_results_write_summary(const bench_results *results, tile_writer writer, void *user);

#endif
