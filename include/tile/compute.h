/* Evaluates level-1 computes on whole tensors in f64. The results are the reference for lowered
 * kernels.
 *
 * Every operation on floats is computed in f64. Only `cast`, and storing a result, round to an
 * element type. Integers wrap to their width, and are exact. An element that is divided by 0, or
 * shifted out of range, is undefined: it is an error if a result depends on it.
 *
 * The caller owns the arrays, which are accessed during the call only. Invalid arguments return
 * TILE_INVALID after a diagnostic. Threads: as for the context. */
#ifndef TILE_COMPUTE_H
#define TILE_COMPUTE_H

#include "tile/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A row-major array in the caller's memory; rank 0 is a scalar. */
typedef struct tile_compute_array {
    tile_scalar scalar;
    unsigned rank;
    int64_t dims[TILE_MAX_RANK];
    void *data;
} tile_compute_array;

/* Fills scalar, rank and dims of the results for these inputs (data is neither read nor written),
 * so that the caller can provide their memory. The inputs bind the dims and type parameters of the
 * compute; its defaults bind the remaining ones. output_count is the number of the compute's
 * results. */
TILE_API tile_status tile_compute_shapes(const tile_function *compute,
                                         const tile_compute_array *inputs, unsigned input_count,
                                         tile_compute_array *outputs, unsigned output_count);

/* Computes all results into outputs, whose scalar, rank, dims and data the caller has set. The
 * scalar may differ from the declared one, for example to get a result with less rounding. A type
 * parameter or dim that neither an input nor a default binds is taken from the output. A scalar
 * input may have any type: its number is converted to the declared one. Returns TILE_INVALID after
 * a diagnostic if counts, shapes or types do not match. */
TILE_API tile_status tile_compute_run(const tile_function *compute,
                                      const tile_compute_array *inputs, unsigned input_count,
                                      const tile_compute_array *outputs, unsigned output_count);

/* The value of a compute's parameter: a number, or an element type for a type parameter. */
typedef struct tile_compute_value {
    const char *name;
    int64_t number;
    tile_scalar scalar; /* TILE_SCALAR_NONE: the value is a number */
} tile_compute_value;

/* The same two functions with explicit values of parameters, which inputs and defaults then need
 * not determine. Inputs that contradict such a value are TILE_INVALID. */
TILE_API tile_status tile_compute_shapes_with(const tile_function *compute,
                                              const tile_compute_value *values,
                                              unsigned value_count,
                                              const tile_compute_array *inputs,
                                              unsigned input_count, tile_compute_array *outputs,
                                              unsigned output_count);
TILE_API tile_status tile_compute_run_with(const tile_function *compute,
                                           const tile_compute_value *values, unsigned value_count,
                                           const tile_compute_array *inputs, unsigned input_count,
                                           const tile_compute_array *outputs,
                                           unsigned output_count);

/* The numbers from low to high, inclusive. {NaN, NaN}: the result must be NaN. {NaN, infinity}: the
 * result may be anything, including NaN. */
typedef struct tile_interval {
    double low, high;
} tile_interval;

/* Returns whether the number is in the range. */
TILE_API bool tile_interval_holds(tile_interval range, double number);

/* Like tile_compute_run_with, but also computes, for each element of each result, the range that
 * the result of a correct kernel must be in. ranges[i] has space for the elements of outputs[i].
 * The range includes the error of each operation (`error` in ops.def) and of each sum, and
 * propagates the errors of operands. The range of an integer is a single number, unless it depends
 * on a float that is not exact. `f64_as` is the type whose rounding is allowed for operations on
 * f64, for a compute written without types; otherwise TILE_f64. */
TILE_API tile_status tile_compute_run_intervals(
    const tile_function *compute, const tile_compute_value *values, unsigned value_count,
    const tile_compute_array *inputs, unsigned input_count, const tile_compute_array *outputs,
    tile_interval *const *ranges, unsigned output_count, tile_scalar f64_as);

/* Returns whether results may be fractions even if all inputs are whole numbers: the compute
 * divides floats, or computes roots, exponentials and similar functions. Otherwise results can be
 * compared for equality, because sums, products and comparisons of small whole numbers are exact in
 * any order. */
TILE_API bool tile_compute_rounds(const tile_function *compute);

/* A product of two inputs of a compute that are matrices. */
typedef struct tile_product_inputs {
    unsigned lhs, rhs; /* indices of the inputs */
    bool trans_lhs,
        trans_rhs; /* the input is [k, m] rather than [m, k]; [n, k] rather than [k, n] */
} tile_product_inputs;

/* Returns whether the only result of the compute is the product of two of its inputs, which are
 * matrices. Casts of the inputs and of the result are ignored. Such a product can be checked
 * without computing it. *product is filled only if the result is true. */
TILE_API bool tile_compute_find_product(const tile_function *compute, tile_product_inputs *product);

/* A row-major matrix in memory, used as stored or transposed. */
typedef struct tile_matrix {
    const void *data;
    tile_scalar scalar;
    int64_t rows, columns; /* as it is stored */
    bool transposed;
} tile_matrix;

/* Freivalds' test of a product c = a b of whole numbers: c x = a (b x) for a random whole x in
 * [-512, 512). One round misses an error in a row of c with a probability of at most 1 / 1024 (R.
 * Freivalds, "Probabilistic machines can use less running time", 1977). All sums are whole numbers
 * below 2^53, so the comparison is exact. */
enum { TILE_FREIVALDS_ROUNDS = 3 };
/* Fills vectors with x and a (b x) of all rounds, TILE_FREIVALDS_ROUNDS * (n + m) numbers for an
 * [m, n] product. They can be used to check any number of results. */
TILE_API void tile_product_vectors(const tile_matrix *a, const tile_matrix *b, uint64_t seed,
                                   double *vectors);
/* Returns how many rows of c, which must not be transposed, are wrong. *first is the index of the
 * first wrong row, if there is one and first is not NULL. */
TILE_API int64_t tile_product_wrong_rows(const tile_matrix *c, const double *vectors,
                                         int64_t *first);

/* The reference of an instantiated kernel, which the kernel names with `of`. Fills `count` entries,
 * first for the inputs of the compute and then for its results. arrays[] gets scalar, rank and
 * dims. which[] gets the index of the kernel's argument with the same name. strides[] gets the
 * strides in memory, in elements: those of a view argument, otherwise row-major ones. sizes has one
 * integer for each argument of the kernel (ignored for pointers), which determine the dims.
 * *compute is the compute, if compute is not NULL. Returns TILE_INVALID after a diagnostic, also if
 * the kernel names no reference. */
TILE_API tile_status tile_reference_shapes(const tile_function *kernel, const int64_t *sizes,
                                           const tile_function **compute,
                                           tile_compute_array *arrays, unsigned *which,
                                           int64_t (*strides)[TILE_MAX_RANK], unsigned count);

/* Computes the parameter values of that reference. A value comes from `of @compute<n = ..>`, the
 * kernel's integer of the same name, or the default. Types are omitted, because the arrays
 * determine them. On entry *count is the capacity of values, on return the number of values.
 * Returns TILE_INVALID after a diagnostic, also if the capacity is too small. */
TILE_API tile_status tile_reference_values(const tile_function *kernel, const int64_t *sizes,
                                           tile_compute_value *values, unsigned *count);

#ifdef __cplusplus
}
#endif

#endif
