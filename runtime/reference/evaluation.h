/* The values of a compute during its evaluation at level 1. Shared by compute.c, which binds and
 * stores them, and ops.c, which computes them. */
#ifndef TILE_RUNTIME_REFERENCE_EVALUATION_H
#define TILE_RUNTIME_REFERENCE_EVALUATION_H

#include "lib/ir/function.h"
#include "lib/ops/reduce.h"
#include "runtime/reference/ranges.h"
#include "tile/compute.h"

/* Properties of a value's elements besides their numbers. Each is an array of doubles, or
 * absent. */
typedef enum plane_kind {
    PLANE_LOW, /* lower bound of a correct kernel's number; absent: equal to level 1's */
    PLANE_HIGH,
    PLANE_HIDDEN,  /* 1: a mask hides the element; absent: no element is hidden */
    PLANE_INTEGER, /* the bits of a 64-bit integer; absent: the numbers are exact */
    PLANE_POISON,  /* the id of the operation that left the element undefined; 0, or absent: it is
                    * defined (poison.c) */
    PLANE_COUNT
} plane_kind;

typedef struct evaluation {
    const tile_function *f;
    tile_arena scratch;
    struct bound_param *params;
    size_t param_count, param_capacity;
    double **data;                /* by value id */
    double **planes[PLANE_COUNT]; /* by value id */
    tile_scalar *origins; /* by value id: the narrowest type that its elements had before they were
                           * moved or cast to a wider one */
    size_t *counts;       /* numbers of elements, by value id */
    uint32_t *uses;       /* remaining uses, by value id */
    bool ranged;          /* PLANE_LOW and PLANE_HIGH are computed */
    plane_kind moved;     /* the plane that an operation moves; PLANE_LOW: that, or the numbers */
    tile_scalar f64_as;   /* the type that tile_compute_run_intervals permits instead of f64 */
    bool failed;
} evaluation;

#define FAIL(e, ...) \
    ((e)->failed = true, \
     tile_report(tile_function_context((e)->f), TILE_ERROR, (e)->f->loc, __VA_ARGS__))

/* Evaluates an expression with the bound parameters; false if that fails. */
bool evaluation_of(evaluation *e, const tile_expr *expr, int64_t *value);
tile_scalar evaluation_scalar_of(const evaluation *e, const tile_type *type);
tile_scalar evaluation_scalar(const evaluation *e, tile_value value);
/* The type in which values of this float type are computed. */
tile_scalar evaluation_precision(const evaluation *e, tile_scalar scalar);
/* The shape of a type with the bound parameters; false after a report. */
bool evaluation_resolve(evaluation *e, const tile_type *type, tile_compute_array *shape);
size_t evaluation_count(const tile_compute_array *shape);
/* Allocates a value's elements; NULL after a report. */
double *evaluation_create(evaluation *e, tile_value value);
/* Allocates a plane of a value that has its elements already; NULL after a report. */
double *evaluation_create_plane(evaluation *e, plane_kind which, tile_value value);
void evaluation_drop(evaluation *e, uint32_t value);

/* integers.c: elements with all bits of 64-bit integers. A result of such integers gets its plane
 * before its elements are set, and drops it after that if its numbers are exact. */
void evaluation_create_integers(evaluation *e, tile_value value);
void evaluation_set_number(evaluation *e, tile_value value, size_t i, tile_number number);
void evaluation_drop_integers(evaluation *e, tile_value value);
tile_number evaluation_number(const evaluation *e, tile_value value, tile_scalar scalar, size_t i);
/* The plane of a value that has none, which the caller frees; NULL if there is no memory. */
double *evaluation_integers(const evaluation *e, tile_value value);

/* The shape and elements of an operand; NULL after a report. */
const double *evaluation_operand(evaluation *e, tile_value value, tile_compute_array *shape);
int64_t evaluation_attr(evaluation *e, tile_op op, tile_attr_id id, int64_t otherwise);

static inline tile_interval evaluation_range(const evaluation *e, uint32_t value, size_t i) {
    const double *low = e->planes[PLANE_LOW][value], *high = e->planes[PLANE_HIGH][value];
    return low ? (tile_interval){low[i], high[i]} : range_point(e->data[value][i]);
}

/* tile_compute_run_with for a compute that has been verified. */
tile_status evaluation_run(const tile_function *compute, const tile_compute_value *values,
                           unsigned value_count, const tile_compute_array *inputs,
                           unsigned input_count, const tile_compute_array *outputs,
                           unsigned output_count);

/* The number of elements that the run computes, where each term of a product counts; infinity after
 * a report. */
double evaluation_work(const tile_function *compute, const tile_compute_value *values,
                       unsigned value_count, const tile_compute_array *inputs, unsigned input_count,
                       const tile_compute_array *outputs, unsigned output_count);

/* compute.c: runs an operation, and drops the values that are not used after it. */
void evaluation_run_op(evaluation *e, tile_op op);
/* Records one use of the value, and drops the value after its last one. */
void evaluation_drop_use(evaluation *e, uint32_t value);
/* loop.c: runs the iterations of a `for`. */
void evaluation_loop(evaluation *e, tile_op op);
/* loop.c: the number of times that the loops around an operation run it, as far as it is known. */
double evaluation_iterations(evaluation *e, tile_op op);

/* ops.c: computes an operation's results from its operands; `to` has room for the first result. */
void evaluation_compute(evaluation *e, tile_op op, double *to);
/* combine.c: computes a reduction or scan by a function. */
void evaluation_combine(evaluation *e, tile_op op, double *to);
/* matmul.c: computes a product, including its planes. */
void evaluation_matmul(evaluation *e, tile_op op, double *to);
/* poison.c: elements without a defined value. Computes their plane for the results of an operation
 * that computes elements one by one, or along rows. */
void evaluation_poison_elements(evaluation *e, tile_op op);
void evaluation_poison_rows(evaluation *e, tile_op op);
static inline double evaluation_poison(const evaluation *e, tile_value value, size_t i) {
    const double *plane = e->planes[PLANE_POISON][value.id];
    return plane ? plane[i] : 0;
}
/* Reports undefined elements among the operands that decide where the operation acts, or among a
 * result of the compute. */
void evaluation_check_operands(evaluation *e, tile_op op);
void evaluation_check_result(evaluation *e, const tile_result_decl *result,
                             const tile_compute_array *shape);
/* planes.c: computes the planes of an operation's results after its results. */
void evaluation_follow(evaluation *e, tile_op op);
/* ranges_of_elements.c, range_rows.c */
void evaluation_range_elementwise(evaluation *e, tile_op op);
void evaluation_range_gather(evaluation *e, tile_op op);
void evaluation_range_reduce(evaluation *e, tile_op op);
void evaluation_range_reduce_arg(evaluation *e, tile_op op);
void evaluation_range_scan(evaluation *e, tile_op op);
void evaluation_range_sort(evaluation *e, tile_op op);

#endif
