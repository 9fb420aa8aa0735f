/* Running level-1 computes: the meaning of a computation on whole tensors, in f64. What lowered
 * kernels give is checked against this.
 *
 * Every operation is computed in f64 (integers are exact up to 2^53 and wrap to their width); only
 * `cast`, and storing a result, round to an element type.
 *
 * Arrays are the caller's, and looked at during the call only. What is wrong is TILE_INVALID after
 * a diagnostic. Threads: as for the context. */
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
 * so that the caller can provide their memory. The dims and type parameters of the compute are
 * bound by the inputs, what they leave open by its defaults. output_count is the number of the
 * compute's results. */
TILE_API tile_status tile_compute_shapes(const tile_function *compute,
                                         const tile_compute_array *inputs, unsigned input_count,
                                         tile_compute_array *outputs, unsigned output_count);

/* Computes all results into outputs, whose scalar, rank, dims and data the caller has set; the
 * scalar may be another than the declared one, to see a result that is rounded less; a type
 * parameter without a default that no input binds is the result's scalar, such a dim its extent. A
 * scalar input may have any type: its number is converted to the declared one. TILE_INVALID after a
 * diagnostic where counts, shapes or types do not fit. */
TILE_API tile_status tile_compute_run(const tile_function *compute,
                                      const tile_compute_array *inputs, unsigned input_count,
                                      const tile_compute_array *outputs, unsigned output_count);

/* What a parameter of a compute is: a number, or of a type parameter an element type. */
typedef struct tile_compute_value {
    const char *name;
    int64_t number;
    tile_scalar scalar; /* TILE_SCALAR_NONE: it is a number */
} tile_compute_value;

/* The same two with values of parameters, which inputs and defaults then need not tell; inputs that
 * tell another one are TILE_INVALID. */
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

/* The numbers between two, both included. A result that must be NaN has NaN twice; one that may be
 * anything, NaN included, has {NaN, infinity}. */
typedef struct tile_interval {
    double low, high;
} tile_interval;

/* Whether a result is right. */
TILE_API bool tile_interval_holds(tile_interval range, double number);

/* tile_compute_run_with, and for each element of each result the range in which the result of a
 * right kernel lies: ranges[i] has room for the elements of outputs[i]. The range counts the error
 * of each operation (`error` in ops.def) and of each sum, and how the errors of operands grow. An
 * integer's range is a single number, unless an uncertain float decides on it. `f64_as` is the type
 * whose rounding operations on f64 are granted, for a compute that was written without types; else
 * TILE_f64. */
TILE_API tile_status tile_compute_run_intervals(
    const tile_function *compute, const tile_compute_value *values, unsigned value_count,
    const tile_compute_array *inputs, unsigned input_count, const tile_compute_array *outputs,
    tile_interval *const *ranges, unsigned output_count, tile_scalar f64_as);

/* Whether its results need not be whole numbers where its inputs are: it divides floats, or
 * computes roots, exponentials and their like. Sums, products and comparisons of small whole
 * numbers are exact in any order, so that the results of others can be compared for equality. */
TILE_API bool tile_compute_rounds(const tile_function *compute);

/* A product of two inputs of a compute, which are matrices. */
typedef struct tile_product_inputs {
    unsigned lhs, rhs; /* the inputs' numbers */
    bool trans_lhs,
        trans_rhs; /* the input is [k, m] rather than [m, k]; [n, k] rather than [k, n] */
} tile_product_inputs;

/* Whether the only result of the compute is the product of two of its inputs, which are matrices.
 * Casts of the inputs and of the result do not count. A long product can then be checked without
 * computing it. *product is filled only where the answer is yes. */
TILE_API bool tile_compute_find_product(const tile_function *compute, tile_product_inputs *product);

/* A matrix in memory, row-major, which is multiplied as it is or transposed. */
typedef struct tile_matrix {
    const void *data;
    tile_scalar scalar;
    int64_t rows, columns; /* as it is stored */
    bool transposed;
} tile_matrix;

/* Freivalds' test of a product c = a b of whole numbers: c x = a (b x) for a random whole x in
 * [-512, 512). An error in a row of c escapes a round with a probability of at most 1 / 1024 (R.
 * Freivalds, "Probabilistic machines can use less running time", 1977). All sums are whole numbers
 * below 2^53, so equality decides. */
enum { TILE_FREIVALDS_ROUNDS = 3 };
/* Fills vectors with x and a (b x) of all rounds, TILE_FREIVALDS_ROUNDS * (n + m) numbers for an
 * [m, n] product; they serve for any number of results. */
TILE_API void tile_product_vectors(const tile_matrix *a, const tile_matrix *b, uint64_t seed,
                                   double *vectors);
/* How many rows of c, which is not transposed, are wrong; *first, if there are any and it is not
 * NULL, is the first one. */
TILE_API int64_t tile_product_wrong_rows(const tile_matrix *c, const double *vectors,
                                         int64_t *first);

/* The reference of an instantiated kernel, which it names with `of`. Fills scalar, rank and dims of
 * what the compute takes, then of what it gives, and in which[] the index of the kernel's argument
 * of that name, in strides[] how its elements lie there (in elements: a view's strides, row-major
 * else); count is the number of both. sizes: one integer for each argument of the kernel (a
 * pointer's is not looked at), of which the dims follow. The compute is *compute, if that is not
 * NULL. TILE_INVALID after a diagnostic, also if the kernel names none. */
TILE_API tile_status tile_reference_shapes(const tile_function *kernel, const int64_t *sizes,
                                           const tile_function **compute,
                                           tile_compute_array *arrays, unsigned *which,
                                           int64_t (*strides)[TILE_MAX_RANK], unsigned count);

/* What the parameters of that reference are: what `of @compute<n = ..>` gives, the kernel's integer
 * of the same name, or the default; types are left out, which the arrays tell. values has room for
 * *count, which becomes how many there are. TILE_INVALID after a diagnostic, also if there is too
 * little room. */
TILE_API tile_status tile_reference_values(const tile_function *kernel, const int64_t *sizes,
                                           tile_compute_value *values, unsigned *count);

#ifdef __cplusplus
}
#endif

#endif
