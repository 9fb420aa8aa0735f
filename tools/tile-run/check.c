/* The check: compares every element with level 1 in f64, or uses Freivalds' test if that would take
 * minutes. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-run/expression.h"

/* More products than this use Freivalds' test: about ten seconds of f64 on one core. */
static const double most_products = 1e10;

bool check_is_long(const host_array *product, int64_t depth) {
    return (double)product->count * (double)depth > most_products;
}

run_argument *check_output(const char *text, run_argument *arguments, unsigned count) {
    const char *equals = strchr(text, '=');
    if (!equals) return NULL;
    size_t length = (size_t)(equals - text);
    while (length && text[length - 1] == ' ') length--;
    run_argument *output = arguments_find(arguments, count, text, length);
    return output && output->is_array ? output : NULL;
}

static bool inputs_are_whole(const run_argument *arguments, unsigned count,
                             const run_argument *output) {
    for (unsigned i = 0; i < count; i++) {
        const run_argument *a = &arguments[i];
        if (a->is_array && a != output && !argument_is_whole(a)) return false;
    }
    return true;
}

/* An integer of 64 bits, which a double may round. */
static bool is_wide(const host_array *array) {
    return array->scalar == TILE_i64 || array->scalar == TILE_u64;
}

static int64_t wide_get(const host_array *array, size_t index) {
    int64_t integer;
    memcpy(&integer, (const char *)array->data + index * sizeof integer, sizeof integer);
    return integer;
}

static void print_number(const host_array *array, size_t index) {
    if (!is_wide(array))
        fprintf(stderr, "%.9g", array_get(array, index));
    else if (array->scalar == TILE_u64)
        fprintf(stderr, "%" PRIu64, (uint64_t)wide_get(array, index));
    else
        fprintf(stderr, "%" PRId64, wide_get(array, index));
}

static void complain(size_t wrong, const char *name, const host_array *expected,
                     const host_array *array, const tile_interval *range) {
    size_t index = wrong;
    int64_t at[TILE_MAX_RANK] = {0};
    for (unsigned d = array->rank; d-- > 0;) {
        at[d] = (int64_t)(index % (size_t)array->dims[d]);
        index /= (size_t)array->dims[d];
    }
    fprintf(stderr, "error: the first wrong element is %s%s[", name ? "%" : "", name ? name : "");
    for (unsigned d = 0; d < array->rank; d++)
        fprintf(stderr, "%s%lld", d ? ", " : "", (long long)at[d]);
    fputs("]: expected ", stderr);
    print_number(expected, wrong);
    fputs(", got ", stderr);
    print_number(array, wrong);
    if (range && range->low < range->high)
        fprintf(stderr, "; rounding allows %.9g to %.9g", range->low, range->high);
    fputc('\n', stderr);
}

/* Comparison of all elements ------------------------------------------------------------------ */

/* Returns the error relative to what the range allows on that side; infinity if it allows none. */
static double part_of(tile_interval range, double want, double have) {
    double allowed = have < want ? want - range.low : range.high - want;
    if (range.low != range.low && range.high > 0) return 0; /* anything is correct */
    return allowed > 0 && !isinf(allowed) ? fabs(have - want) / allowed : INFINITY;
}

static bool is_same(const host_array *expected, const host_array *got, size_t i) {
    double want = array_get(expected, i), have = array_get(got, i);
    if (is_wide(got) && expected->scalar == got->scalar)
        return wide_get(expected, i) == wide_get(got, i);
    return have == want || (isnan(have) && isnan(want));
}

void check_compare(const host_array *expected, const tile_interval *ranges, const host_array *got,
                   check_result *result) {
    bool floats = tile_scalar_is_floating(got->scalar);
    bool relative = floats && !result->exact && result->tolerance >= 0;
    double rms = relative ? array_root_mean_square(expected) : 0,
           limit = tile_scalar_whole_limit(got->scalar);
    for (size_t i = 0; i < got->count; i++) {
        double want = array_get(expected, i), have = array_get(got, i), error = INFINITY;
        bool same = is_same(expected, got, i), right = same;
        if (relative) {
            error = fabs(have - want) / (fabs(want) + rms);
            right |= error <= result->tolerance;
        } else if (ranges) {
            /* Doubles of different integers of 64 bits may be equal. */
            bool certain = !floats && ranges[i].low == ranges[i].high;
            right = same || (!certain && tile_interval_holds(ranges[i], have));
            if (!same) error = part_of(ranges[i], want, have);
        }
        if (isnan(error)) error = INFINITY; /* one of them is NaN */
        if (!same && error > result->largest) result->largest = error;
        if (!right && result->mismatches++ == 0)
            complain(i, result->name, expected, got, relative || !ranges ? NULL : &ranges[i]);
        result->inexact_sums |= result->exact && isfinite(want) && fabs(want) > limit;
    }
}

/* Freivalds' test ----------------------------------------------------------------------------- */

static tile_matrix matrix_of(const check_matrix *a) {
    return (tile_matrix){a->array->data, a->array->scalar, a->array->dims[0], a->array->dims[1],
                         a->transposed};
}

bool check_product(const check_matrix *a, const check_matrix *b, const host_array *out,
                   const char *name, check_result *result) {
    const check_matrix product = {out, false};
    const tile_matrix lhs = matrix_of(a), rhs = matrix_of(b), c = matrix_of(&product);
    int64_t row;
    if (out->rank != 2 || c.rows != (lhs.transposed ? lhs.columns : lhs.rows) ||
        c.columns != (rhs.transposed ? rhs.rows : rhs.columns)) {
        fprintf(stderr, "error: --check: %s does not have the product's shape\n", name);
        return false;
    }
    double *vectors =
        calloc((size_t)(c.rows + c.columns + 1) * TILE_FREIVALDS_ROUNDS, sizeof *vectors);
    if (!vectors) {
        fputs("error: out of memory in the check\n", stderr);
        return false;
    }
    result->freivalds = true;
    for (size_t i = 0; i < out->count; i++)
        result->inexact_sums |= fabs(array_get(out, i)) >= tile_scalar_whole_limit(out->scalar);
    tile_product_vectors(&lhs, &rhs, 1, vectors);
    result->mismatches = (size_t)tile_product_wrong_rows(&c, vectors, &row);
    if (result->mismatches)
        fprintf(stderr, "error: row %lld%s%s is the first wrong one\n", (long long)row,
                result->name ? " of %" : "", result->name ? result->name : "");
    free(vectors);
    return true;
}

/* The check ----------------------------------------------------------------------------------- */

/* An expression has no types. Each of its operations may round like the result, except to types
 * that are only stored. */
static tile_scalar precision_for(tile_scalar out) {
    return tile_scalar_is_floating(out) && out != TILE_e4m3 && out != TILE_e5m2 ? out : TILE_f32;
}

static bool compare_with_reference(tile_context *context, const char *text, const char *expression,
                                   run_argument *arguments, unsigned count,
                                   const run_argument *output, check_result *result) {
    tile_module *module = expression_build(context, text, expression, arguments, count, output);
    if (!module) return false;
    host_array expected = {.scalar = TILE_SCALAR_NONE};
    tile_interval *ranges = NULL;
    tile_scalar scalar = output->array.scalar;
    const tile_function *compute = tile_module_function(module, 0);
    result->exact &= !tile_compute_rounds(compute);
    bool ranged = !result->exact && (result->tolerance < 0 || !tile_scalar_is_floating(scalar));
    bool ok = compute_run(compute, NULL, 0, arguments, count, &expected, ranged ? &ranges : NULL,
                          precision_for(scalar), 1);
    if (ok) check_compare(&expected, ranges, &output->array, result);
    free(expected.data);
    free(ranges);
    tile_module_destroy(module);
    return ok;
}

/* It is unknown how the numbers of a file were computed. The result may differ by two units in the
 * last place, plus a few f32 roundings relative to the array's magnitude. */
static void range_file(const host_array *file, tile_scalar scalar, tile_interval *ranges) {
    static const double roundings = 16;
    double rms = array_root_mean_square(file);
    double small = roundings * (scalar == TILE_f64 ? 0x1p-53 : 0x1p-24),
           unit = 1 / tile_scalar_whole_limit(scalar);
    for (size_t i = 0; i < file->count; i++) {
        double number = array_get(file, i), size = fabs(number);
        double off = tile_scalar_is_floating(scalar) ? 4 * unit * size + small * (size + rms) : 0;
        ranges[i] = (tile_interval){number - off, number + off};
        if (isinf(number)) ranges[i] = (tile_interval){number, number};
    }
}

/* Rejects integers for a type that has no arithmetic: they are probably its bits. */
static bool is_comparable(const host_array *file, const run_argument *output) {
    tile_scalar scalar = output->array.scalar;
    if (tile_scalar_is_floating(file->scalar) || tile_scalar_bytes(scalar) > 1 ||
        !tile_scalar_is_floating(scalar))
        return true;
    fprintf(stderr,
            "error: --check: the file has %s, %s is of %s: save it as ml_dtypes does, or as f4\n",
            tile_scalar_name(file->scalar), output->name, tile_scalar_name(scalar));
    return false;
}

/* Compares with ranges. If equality or a tolerance is requested, rounds the file's numbers to the
 * result's type first. */
static bool compare_with_numbers(host_array *file, const host_array *got, check_result *result) {
    bool rounded = result->exact || result->tolerance >= 0 || !tile_scalar_is_floating(got->scalar);
    host_array expected = *got;
    tile_interval *ranges = rounded ? NULL : ranges_allocate(file->count);
    expected.data = NULL;
    bool ok = array_allocate(&expected) && (rounded || ranges);
    for (size_t i = 0; ok && i < got->count; i++) array_set(&expected, i, array_get(file, i));
    if (ok && ranges) range_file(file, got->scalar, ranges);
    if (ok) check_compare(rounded ? &expected : file, ranges, got, result);
    if (!ok) fprintf(stderr, "error: there is not enough memory for the reference\n");
    free(ranges);
    free(expected.data);
    return ok;
}

static bool compare_with_file(const char *path, const run_argument *output, check_result *result) {
    const host_array *got = &output->array;
    host_array file = {.scalar = TILE_SCALAR_NONE};
    if (!npy_read(path, &file)) return false;
    npy_take_type(&file, got->scalar);
    bool fits = file.rank == got->rank;
    for (unsigned d = 0; fits && d < got->rank; d++) fits = file.dims[d] == got->dims[d];
    if (!fits)
        fprintf(stderr, "error: --check: the array in %s does not have the dims of %s\n", path,
                output->name);
    bool ok = fits && is_comparable(&file, output) && compare_with_numbers(&file, got, result);
    free(file.data);
    return ok;
}

bool check_run(tile_context *context, const char *text, run_argument *arguments, unsigned count,
               double tolerance, bool named, check_result *result) {
    run_argument *output = check_output(text, arguments, count);
    const char *expression = strchr(text, '=') + 1;
    const run_argument *a, *b;
    *result = (check_result){.name = named ? output->name : NULL, .elements = output->array.count};
    result->exact = inputs_are_whole(arguments, count, output);
    result->tolerance = tolerance;
    if (*expression == '@') return compare_with_file(expression + 1, output, result);
    if (result->exact && expression_is_matmul(expression, arguments, count, &a, &b) &&
        check_is_long(&output->array, a->array.dims[1])) {
        const check_matrix lhs = {&a->array, false}, rhs = {&b->array, false};
        return check_product(&lhs, &rhs, &output->array, output->name, result);
    }
    return compare_with_reference(context, text, expression, arguments, count, output, result);
}
