/* Whether a candidate's results are right. */
#ifndef TILE_RUNTIME_TUNE_CHECK_H
#define TILE_RUNTIME_TUNE_CHECK_H

#include "runtime/tune/arrays.h"
#include "tile/compute.h"

/* What is expected at one shape. */
typedef struct tune_check {
    tile_module *module; /* instantiated, with the kernel and its compute; NULL: not open */
    const tile_function *compute;
    tile_compute_array arrays[TILE_MAX_ARGUMENTS]; /* what it takes, then what it gives */
    unsigned which[TILE_MAX_ARGUMENTS];
    int64_t strides[TILE_MAX_ARGUMENTS][TILE_MAX_RANK];
    unsigned input_count, count;
    tile_compute_value values[TILE_MAX_ARGUMENTS]; /* of the compute's parameters */
    unsigned value_count;
    bool rounds;   /* some operation rounds, whatever the inputs: equality cannot be asked for */
    bool is_short; /* it takes a second at most: every element can be compared */
    bool is_known; /* data of what it gives is there, in the arrays' types, row-major */
    tile_interval *intervals[TILE_MAX_ARGUMENTS]; /* of what it gives; NULL: not asked for yet */
    bool is_product;                              /* the compute's only result is this product */
    tile_product_inputs product;
    double *vectors; /* of Freivalds' test */
    unsigned char
        *anchor[TILE_MAX_ARGUMENTS]; /* the arguments' bytes as a right candidate left them */
} tune_check;

/* Opens for the shape of these sizes. Reports. What is there is closed by the caller. */
tile_status tune_check_open(tune_check *check, const tile_module *module, const char *kernel,
                            const tile_binding *bindings, unsigned count, const int64_t *sizes);
void tune_check_close(tune_check *check);

/* The arguments' roles, and the largest whole number that every result holds exactly. */
void tune_check_roles(const tune_check *check, unsigned *roles);
double tune_check_limit(const tune_check *check);

/* Compares what the launch left in the shape's arrays with the compute, element by element, each
 * within its interval (tile_compute_run_intervals); *why, in the arena, is NULL if it is right.
 * What fails otherwise is reported. */
tile_status tune_check_elements(tune_check *check, const tune_shape *shape, tile_arena *arena,
                                const char **why);
/* At a shape at which the compute would take long: a product by Freivalds' test, what a candidate
 * before this one left otherwise; the first one is taken to be right. `small`, the check at which
 * tune_check_elements has been called, tells how far right results may differ. */
tile_status tune_check_large(tune_check *check, tune_check *small, const tune_shape *shape,
                             tile_arena *arena, const char **why);
/* "Freivalds' test on whole numbers", .. */
const char *tune_check_words(const tune_check *check);

#endif
