/* Arguments of kernels on the command line: scalars, and arrays that are generated or read from
 * files. */
#ifndef TILE_TOOLS_ARGUMENTS_H
#define TILE_TOOLS_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "tile/device.h"

/* A row-major array in host memory. */
typedef struct host_array {
    tile_scalar scalar;
    unsigned rank;
    int64_t dims[TILE_MAX_RANK];
    size_t count; /* elements */
    bool bytes;   /* read from a file that gives the elements' width, but not their type */
    unsigned char *data;
} host_array;

double array_get(const host_array *array, size_t index);
/* Root mean square of the finite elements. Infinities and NaN count as 0, because one infinity
 * would make any error of the other elements acceptable. */
double array_root_mean_square(const host_array *array);
void array_set(host_array *array, size_t index, double value);
bool array_allocate(host_array *array); /* allocates data for scalar, rank and dims */

/* npy.c: NumPy's format, version 1.0 (numpy.lib.format). Both functions report to stderr and return
 * false. bf16, e4m3 and e5m2 are stored as ml_dtypes stores them: as opaque bytes of their size (V2
 * and V1). */
bool npy_read(const char *path, host_array *array);
/* If the file did not name the elements' type, sets it to this floating-point type of equal
 * width. */
void npy_take_type(host_array *array, tile_scalar scalar);
bool npy_write(const char *path, const host_array *array);

/* arguments.c: from the command line. */
typedef enum fill { FILL_INT, FILL_RAND, FILL_ZEROS, FILL_POISON, FILL_VALUES, FILL_FILE } fill;

typedef struct run_argument {
    const char *name;
    bool is_array;
    bool shapeless; /* no TYPE[DIMS] after the generator: as in the kernel's view of this name */
    fill fill;
    const char *path;
    const char *values; /* FILL_VALUES: COUNT*NUMBER or NUMBER, separated by commas */
    const char *finite; /* DIM=RUNS: which elements are finite; NULL: all */
    int64_t integer;    /* scalars: differs from number if that is not an integer of 64 bits */
    double number;
    host_array array;
    tile_buffer *buffer;
    size_t offset; /* bytes from the buffer's start to the array */
} run_argument;

/* Parses NAME=VALUE, NAME=FILL[:TYPE[DIMS][:finite@DIM=RUNS]], NAME=values:TYPE[DIMS]=LIST or
 * NAME=@FILE.npy into *argument, which keeps pointers into the text. Reports and returns false. */
bool argument_parse(const char *text, run_argument *argument);
/* Reads the argument's file, if it has one that was not read yet. Reports and returns false. */
bool argument_read(run_argument *argument);
/* True if all its numbers are known to be small integers. */
bool argument_is_whole(const run_argument *argument);
/* Whether a number is an integer. */
bool argument_is_integer(const run_argument *argument);
/* Whether an integer is one of the type, which may be no integer type; reports if not. */
bool argument_fits(const run_argument *argument, tile_scalar scalar);
/* A number as an element with all its bits: an i64 or u64 if it is an integer, else an f64. */
const void *argument_element(const run_argument *argument, tile_scalar *type);
/* Prints NAME=NUMBER after a prefix for each scalar, with all digits of the numbers. */
void arguments_print(FILE *to, const char *prefix, const run_argument *arguments, unsigned count);
/* True if the command line specifies its numbers, so that they must not be replaced by others. */
bool argument_is_given(const run_argument *argument);
/* Fills the arrays. `int` arrays are so sparse that sums of `depth` products are exact up to
 * `limit`. */
bool arguments_fill(run_argument *arguments, unsigned count, uint64_t seed, double limit);
run_argument *arguments_find(run_argument *arguments, unsigned count, const char *name,
                             size_t length);

/* shape.c: gives each array without a shape the shape of the kernel's view, for these parameters
 * and the integers among the arguments, which are in the kernel's order. Reports and returns
 * false. */
bool arguments_shape(const tile_module *module, const tile_function *f,
                     const tile_binding *bindings, unsigned binding_count, run_argument *arguments);

#endif
