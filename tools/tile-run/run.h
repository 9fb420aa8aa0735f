/* What the parts of tile-run share: computes, the check. */
#ifndef TILE_TOOLS_TILE_RUN_RUN_H
#define TILE_TOOLS_TILE_RUN_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tile/compute.h"
#include "tile/device.h"
#include "tools/common/arguments.h"

/* compute.c: level 1. */

/* Runs a compute on the arguments, with these of its parameters; allocates and fills `count`
 * results, and unless `ranges` is NULL the ranges of their elements, as tile_compute_run_intervals
 * has them. Reports and returns false; what is there is freed by the caller. */
bool compute_run(const tile_function *f, const tile_binding *bindings, unsigned binding_count,
                 const run_argument *arguments, unsigned argument_count, host_array *results,
                 tile_interval **ranges, tile_scalar f64_as, unsigned count);
/* For so many elements; NULL after a message. */
tile_interval *ranges_allocate(size_t count);
/* The same for --level=1: results go to the arguments of their names, where there are such. */
bool compute_run_named(const tile_function *f, const tile_binding *bindings, unsigned binding_count,
                       run_argument *arguments, unsigned count, unsigned *total);

/* check.c */
typedef struct check_result {
    bool exact;       /* inputs were whole numbers: equality was asked for */
    bool freivalds;   /* by random vectors instead of a reference */
    double tolerance; /* of the error relative to |expected| + its root mean square; below 0: each
                         element has a range, or must be equal */
    double largest;   /* of that relative error; else of the error as a part of what the range
                         allows on that side */
    size_t elements;
    size_t mismatches;
    bool inexact_sums; /* `int` inputs, but results too large to be exact */
} check_result;

/* Adds what differs to *result, whose `exact` and `tolerance` say what may. ranges: NULL for
 * equality, or where a tolerance is given. Integers have no tolerance. */
void check_compare(const host_array *expected, const tile_interval *ranges, const host_array *got,
                   check_result *result);

/* A matrix of a product, which is multiplied as it is stored or transposed. */
typedef struct check_matrix {
    const host_array *array;
    bool transposed;
} check_matrix;

/* Freivalds' test of out = a b, for whole numbers; name is the output's, for a message. */
bool check_product(const check_matrix *a, const check_matrix *b, const host_array *out,
                   const char *name, check_result *result);
/* Where a reference would take so long that check_product is to be preferred. */
bool check_is_long(const host_array *product, int64_t depth);

/* OUT=EXPR over the arguments' arrays, or OUT=@FILE.npy; the output's array holds what the kernel
 * wrote. A tolerance below 0: none is given. */
bool check_run(tile_context *context, const char *text, run_argument *arguments, unsigned count,
               double tolerance, check_result *result);
/* reference.c: the compute that the kernel names with `of`. */
typedef struct reference {
    tile_module *module; /* the instantiated kernel's; NULL: there is no such check */
    const tile_function *compute;
    tile_compute_array arrays[TILE_MAX_ARGUMENTS];      /* what it takes, then what it gives */
    unsigned which[TILE_MAX_ARGUMENTS];                 /* the arguments that these are */
    int64_t strides[TILE_MAX_ARGUMENTS][TILE_MAX_RANK]; /* of their elements there */
    /* Of what it gives; NULL: equality is asked for, or a tolerance. */
    tile_interval *ranges[TILE_MAX_ARGUMENTS];
    unsigned input_count, count;
    tile_compute_value values[TILE_MAX_ARGUMENTS]; /* of its parameters */
    unsigned value_count;
} reference;

/* Finds the reference for these arguments, whose arrays need not be filled. Reports and returns
 * false; what is there is closed by the caller. */
bool reference_open(reference *to, const tile_module *module, const tile_function *kernel,
                    const tile_binding *bindings, unsigned binding_count,
                    const run_argument *arguments, unsigned count);
/* The largest integer that all results can hold exactly. */
double reference_limit(const reference *from);
/* Keeps the inputs as they are before the launch. */
bool reference_keep(reference *to, const run_argument *arguments);
/* Compares result `index` (from 0) with what the arguments' arrays hold now. */
bool reference_check(reference *from, const run_argument *arguments, unsigned index,
                     double tolerance, check_result *result);
void reference_close(reference *from);

/* The output's name in OUT=EXPR, NULL if there is none. */
run_argument *check_output(const char *text, run_argument *arguments, unsigned count);

#endif
