/* Shared by the parts of tile-run: computes and the check. */
#ifndef TILE_TOOLS_TILE_RUN_RUN_H
#define TILE_TOOLS_TILE_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tile/compute.h"
#include "tile/device.h"
#include "tools/common/arguments.h"

/* compute.c: level 1. */

/* Runs a compute on the arguments, with these bindings. Allocates and fills `count` results and,
 * unless `ranges` is NULL, the ranges of their elements, as tile_compute_run_intervals does.
 * Reports and returns false. The caller frees what was allocated. */
bool compute_run(const tile_function *f, const tile_binding *bindings, unsigned binding_count,
                 const run_argument *arguments, unsigned argument_count, host_array *results,
                 tile_interval **ranges, tile_scalar f64_as, unsigned count);
/* Allocates ranges for this many elements; NULL after a message. */
tile_interval *ranges_allocate(size_t count);
/* Same for --level=1: results are stored in the arguments with the same names, if there are any. */
bool compute_run_named(const tile_function *f, const tile_binding *bindings, unsigned binding_count,
                       run_argument *arguments, unsigned count, unsigned *total);

/* check.c */
typedef struct check_result {
    const char *name; /* the output's, if several are checked; else NULL */
    bool exact;       /* inputs were integers: equality is required */
    bool freivalds;   /* used Freivalds' test instead of a reference */
    double tolerance; /* of the error relative to |expected| + its root mean square; below 0: each
                         element has a range, or must be equal */
    double largest;   /* the largest such error; or error relative to what the range allows */
    size_t elements;
    size_t mismatches;
    bool inexact_sums; /* `int` inputs, but the results are too large to be exact */
} check_result;

/* Adds the differences to *result, whose `exact` and `tolerance` determine what is allowed. ranges:
 * NULL for equality, or with a tolerance. Integers have no tolerance. */
void check_compare(const host_array *expected, const tile_interval *ranges, const host_array *got,
                   check_result *result);

/* A matrix of a product, multiplied as stored or transposed. */
typedef struct check_matrix {
    const host_array *array;
    bool transposed;
} check_matrix;

/* Freivalds' test of out = a b, for integers; name is the output's, for a message. */
bool check_product(const check_matrix *a, const check_matrix *b, const host_array *out,
                   const char *name, check_result *result);
/* True if a reference would take so long that check_product is preferable. */
bool check_is_long(const host_array *product, int64_t depth);

/* Checks OUT=EXPR on the arguments' arrays, or OUT=@FILE.npy. The output's array contains what the
 * kernel wrote. A tolerance below 0 means none. named: messages name the output. */
bool check_run(tile_context *context, const char *text, run_argument *arguments, unsigned count,
               double tolerance, bool named, check_result *result);
/* reference.c: the check against the compute that the kernel names with `of`. */
typedef struct reference {
    tile_module *module; /* the instantiated kernel's; NULL: no such check */
    const tile_function *compute;
    tile_compute_array arrays[TILE_MAX_ARGUMENTS];      /* the compute's inputs, then its results */
    unsigned which[TILE_MAX_ARGUMENTS];                 /* the corresponding arguments */
    int64_t strides[TILE_MAX_ARGUMENTS][TILE_MAX_RANK]; /* the elements' strides there */
    /* Ranges of the results; NULL: equality or a tolerance is required. */
    tile_interval *ranges[TILE_MAX_ARGUMENTS];
    unsigned input_count, count;
    tile_compute_value values[TILE_MAX_ARGUMENTS]; /* of the compute's parameters */
    unsigned value_count;
} reference;

/* Finds the reference for these arguments, whose arrays need not be filled. Reports and returns
 * false. The caller closes it either way. */
bool reference_open(reference *to, const tile_module *module, const tile_function *kernel,
                    const tile_binding *bindings, unsigned binding_count,
                    const run_argument *arguments, unsigned count);
/* Returns the largest integer up to which all results are exact. */
double reference_limit(const reference *from);
/* Copies the inputs before the launch. */
bool reference_keep(reference *to, const run_argument *arguments);
/* Compares result `index` (from 0) with the arguments' current arrays. */
bool reference_check(reference *from, const run_argument *arguments, unsigned index,
                     double tolerance, bool named, check_result *result);
void reference_close(reference *from);

/* Returns the output named in OUT=EXPR; NULL if there is none. */
run_argument *check_output(const char *text, run_argument *arguments, unsigned count);

#endif
