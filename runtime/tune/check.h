/* Checks whether a candidate's results are correct. */
#ifndef TILE_RUNTIME_TUNE_CHECK_H
#define TILE_RUNTIME_TUNE_CHECK_H

#include "runtime/tune/arrays.h"
#include "tile/compute.h"

/* The expected results at one shape. */
typedef struct tune_check {
    tile_module *module; /* instantiated, has the kernel and its compute; NULL: not open */
    const tile_function *compute;
    tile_compute_array arrays[TILE_MAX_ARGUMENTS]; /* the compute's inputs, then its outputs */
    unsigned which[TILE_MAX_ARGUMENTS];
    int64_t strides[TILE_MAX_ARGUMENTS][TILE_MAX_RANK];
    unsigned input_count, count;
    tile_compute_value values[TILE_MAX_ARGUMENTS]; /* of the compute's parameters */
    unsigned value_count;
    bool rounds;   /* some operation rounds for any inputs, so results need not be equal */
    bool is_short; /* the compute takes at most a second: all elements can be compared */
    bool is_known; /* the outputs are computed, in the arrays' types, row-major */
    tile_interval *intervals[TILE_MAX_ARGUMENTS]; /* of the outputs; NULL: not computed yet */
    bool is_product;                              /* the compute's only result is this product */
    tile_product_inputs product;
    double *vectors; /* for Freivalds' test */
    unsigned char
        *anchor[TILE_MAX_ARGUMENTS]; /* the bytes of the arguments after a correct candidate */
} tune_check;

/* Opens a check for the shape of these sizes. Errors are reported; the caller closes it even
 * then. */
tile_status tune_check_open(tune_check *check, const tile_module *module, const char *kernel,
                            const tile_binding *bindings, unsigned count, const int64_t *sizes);
void tune_check_close(tune_check *check);

/* The roles of the arguments, and the largest integer that every result represents exactly. */
void tune_check_roles(const tune_check *check, unsigned *roles);
double tune_check_limit(const tune_check *check);

/* Computes the results for the shape's arrays, once. */
tile_status tune_check_prepare(tune_check *check, const tune_shape *shape);
/* Compares the results of a launch in the shape's arrays with the compute. Each element must be
 * within its interval (tile_compute_run_intervals). *why, in the arena, is NULL if the results are
 * correct. Other errors are reported. */
tile_status tune_check_elements(tune_check *check, const tune_shape *shape, tile_arena *arena,
                                const char **why);
/* Checks a shape for which the compute would take long. A product is checked by Freivalds' test.
 * Other results are compared with those of the first candidate, which are assumed to be correct.
 * `small`, for which one of the above has been called, tells how far correct results may
 * differ. */
tile_status tune_check_large(tune_check *check, tune_check *small, const tune_shape *shape,
                             tile_arena *arena, const char **why);
/* "Freivalds' test on whole numbers", .. */
const char *tune_check_words(const tune_check *check);

#endif
