/* The values of a compute while it runs at level 1: what compute.c, which binds and stores them,
 * and compute_ops.c, which computes them, share. */
#ifndef TILE_RUNTIME_EVALUATION_H
#define TILE_RUNTIME_EVALUATION_H

#include "lib/ir/function.h"
#include "tile/compute.h"

typedef struct evaluation {
    const tile_function *f;
    tile_arena scratch;
    struct bound_param *params;
    size_t param_count, param_capacity;
    double **data;  /* by value id */
    size_t *counts; /* elements, by value id */
    uint32_t *uses; /* still to come, by value id */
    bool failed;
} evaluation;

#define FAIL(e, ...) \
    ((e)->failed = true, \
     tile_report(tile_function_context((e)->f), TILE_ERROR, (e)->f->loc, __VA_ARGS__))

/* An expression under the bound parameters; false: it cannot be computed. */
bool evaluation_of(evaluation *e, const tile_expr *expr, int64_t *value);
tile_scalar evaluation_scalar_of(const evaluation *e, const tile_type *type);
/* The shape of a type under the bound parameters; false after a report. */
bool evaluation_resolve(evaluation *e, const tile_type *type, tile_compute_array *shape);
size_t evaluation_count(const tile_compute_array *shape);
/* Room for a value's elements; NULL after a report. */
double *evaluation_create(evaluation *e, tile_value value);
void evaluation_drop(evaluation *e, uint32_t value);

/* tile_compute_run_with of a compute that has been verified. */
tile_status evaluation_run(const tile_function *compute, const tile_compute_value *values,
                           unsigned value_count, const tile_compute_array *inputs,
                           unsigned input_count, const tile_compute_array *outputs,
                           unsigned output_count);

/* compute_ops.c: an operation's results from its operands; `to` has room for the first one. */
void evaluation_compute(evaluation *e, tile_op op, double *to);

#endif
