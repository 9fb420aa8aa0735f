/* What the parts of tile-run share: host arrays, arguments, the check. */
#ifndef TILE_TOOLS_TILE_RUN_RUN_H
#define TILE_TOOLS_TILE_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tile/device.h"

/* A row-major array in host memory. */
typedef struct host_array {
    tile_scalar scalar;
    unsigned rank;
    int64_t dims[TILE_MAX_RANK];
    size_t count; /* elements */
    unsigned char *data;
} host_array;

double array_get(const host_array *array, size_t index);
void array_set(host_array *array, size_t index, double value);
bool array_allocate(host_array *array); /* from scalar, rank and dims */

/* npy.c: NumPy's format, version 1.0 (numpy.lib.format). Both report to stderr and return false.
 * bf16 is stored as uint16. */
bool npy_read(const char *path, host_array *array);
bool npy_write(const char *path, const host_array *array);

/* arguments.c */
typedef enum fill { FILL_INT, FILL_RAND, FILL_ZEROS, FILL_POISON, FILL_FILE } fill;

typedef struct run_argument {
    const char *name;
    bool is_array;
    fill fill;
    const char *path;
    int64_t integer; /* scalars; differs from number where that is no integer of 64 bits */
    double number;
    host_array array;
    tile_buffer *buffer;
} run_argument;

/* NAME=VALUE, NAME=FILL:TYPE[DIMS] or NAME=@FILE.npy into *argument. Reports and returns false. */
bool argument_parse(const char *text, run_argument *argument);
/* Fills the arrays: `int` so sparse that sums of `depth` products stay exact up to `limit`. */
bool arguments_fill(run_argument *arguments, unsigned count, uint64_t seed, double limit);
run_argument *arguments_find(run_argument *arguments, unsigned count, const char *name,
                             size_t length);

/* compute.c: level 1. */

/* Runs a compute on the arguments; allocates and fills `count` results. Reports and returns false.
 */
bool compute_run(const tile_function *f, const run_argument *arguments, unsigned argument_count,
                 host_array *results, unsigned count);
/* The same for --level=1: results go to the arguments of their names, where there are such. */
bool compute_run_named(const tile_function *f, run_argument *arguments, unsigned count,
                       unsigned *total);

/* check.c */
typedef struct check_result {
    bool exact;     /* inputs were whole numbers: equality was asked for */
    bool freivalds; /* by random vectors instead of a reference */
    double bound;   /* of the error relative to |expected| + its root mean square */
    double largest; /* of that relative error */
    size_t elements;
    size_t mismatches;
    bool inexact_sums; /* `int` inputs, but results too large to be exact */
} check_result;

/* OUT=EXPR over the arguments' arrays; the output's array holds what the kernel wrote. A tolerance
 * below 0 is the output type's. */
bool check_run(tile_context *context, const char *text, run_argument *arguments, unsigned count,
               double tolerance, check_result *result);
/* The output's name in OUT=EXPR, NULL if there is none. */
run_argument *check_output(const char *text, run_argument *arguments, unsigned count);
/* The largest integer up to which all integers have a value of this type. */
double exact_limit(tile_scalar scalar);

#endif
