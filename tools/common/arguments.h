/* Arguments of kernels on the command line: scalars, arrays that are generated or read, and host
 * arrays. */
#ifndef TILE_TOOLS_ARGUMENTS_H
#define TILE_TOOLS_ARGUMENTS_H

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
    bool bytes;   /* of a file that says how wide its elements are, but not their type */
    unsigned char *data;
} host_array;

double array_get(const host_array *array, size_t index);
/* Of the finite numbers among its elements, infinities and NaN counted as 0: one infinity would
 * allow all others any error. */
double array_root_mean_square(const host_array *array);
void array_set(host_array *array, size_t index, double value);
bool array_allocate(host_array *array); /* from scalar, rank and dims */

/* npy.c: NumPy's format, version 1.0 (numpy.lib.format). Both report to stderr and return false.
 * bf16, e4m3 and e5m2 are stored as ml_dtypes stores them, as bytes of their size (V2 and V1). */
bool npy_read(const char *path, host_array *array);
/* Bytes whose type the file does not tell are of this one, if that is a float as wide. */
void npy_take_type(host_array *array, tile_scalar scalar);
bool npy_write(const char *path, const host_array *array);

/* arguments.c: from the command line. */
typedef enum fill { FILL_INT, FILL_RAND, FILL_ZEROS, FILL_POISON, FILL_VALUES, FILL_FILE } fill;

typedef struct run_argument {
    const char *name;
    bool is_array;
    bool shapeless; /* no TYPE[DIMS] behind the generator: as the view of this name has it */
    fill fill;
    const char *path;
    const char *values; /* FILL_VALUES: COUNT*NUMBER or NUMBER, separated by commas */
    const char *finite; /* DIM=RUNS: which elements are finite; NULL: all */
    int64_t integer;    /* scalars; differs from number where that is no integer of 64 bits */
    double number;
    host_array array;
    tile_buffer *buffer;
    size_t offset; /* bytes from the buffer's start to the array */
} run_argument;

/* NAME=VALUE, NAME=FILL[:TYPE[DIMS][:finite@DIM=RUNS]], NAME=values:TYPE[DIMS]=LIST or
 * NAME=@FILE.npy into *argument, which keeps pointers into the text. Reports and returns false. */
bool argument_parse(const char *text, run_argument *argument);
/* Reads the array of one that is a file, unless that has been done. Reports and returns false. */
bool argument_read(run_argument *argument);
/* Whether its numbers are certainly integers, and small. */
bool argument_is_whole(const run_argument *argument);
/* Whether its numbers are given, so that no others may take their place. */
bool argument_is_given(const run_argument *argument);
/* Fills the arrays: `int` so sparse that sums of `depth` products stay exact up to `limit`. */
bool arguments_fill(run_argument *arguments, unsigned count, uint64_t seed, double limit);
run_argument *arguments_find(run_argument *arguments, unsigned count, const char *name,
                             size_t length);

/* shape.c: gives arrays without a shape that of the kernel's view, for these parameters and the
 * integers among the arguments, which are in the kernel's order. Reports and returns false. */
bool arguments_shape(const tile_module *module, const tile_function *f,
                     const tile_binding *bindings, unsigned binding_count, run_argument *arguments);

#endif
