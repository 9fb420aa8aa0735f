#include "runtime/tune/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/function.h"
#include "lib/support/scalar.h"
#include "runtime/reference/evaluation.h"

static const tile_loc no_location = {0, 0, 0};

/* The compute ---------------------------------------------------------------------------------- */

/* Returns whether the compute takes no longer than a candidate's measurement. */
static bool is_short(const tune_check *c) {
    static const double most = 0x1p25; /* elements: about a second */
    return !c->is_product &&
           evaluation_work(c->compute, c->values, c->value_count, c->arrays, c->input_count,
                           c->arrays + c->input_count, c->count - c->input_count) <= most;
}

tile_status tune_check_open(tune_check *c, const tile_module *module, const char *kernel,
                            const tile_binding *bindings, unsigned count, const int64_t *sizes) {
    *c = (tune_check){.module = tile_module_clone(module)};
    tile_status status = tile_instantiate(c->module, kernel, bindings, count);
    if (status != TILE_OK) return status;
    const tile_function *f = tile_module_find(c->module, kernel);
    const tile_function *compute = tile_module_find(c->module, tile_function_reference(f));
    if (compute) {
        c->input_count = tile_function_arg_count(compute);
        c->count = c->input_count + tile_function_result_count(compute);
    }
    if (c->count > TILE_MAX_ARGUMENTS) {
        tile_report(tile_module_context(module), TILE_ERROR, no_location,
                    "the reference of @%s has more than %d arrays", kernel, TILE_MAX_ARGUMENTS);
        return TILE_INVALID;
    }
    status =
        tile_reference_shapes(f, sizes, &c->compute, c->arrays, c->which, c->strides, c->count);
    c->value_count = TILE_MAX_ARGUMENTS;
    if (status == TILE_OK) status = tile_reference_values(f, sizes, c->values, &c->value_count);
    if (status != TILE_OK) return status;
    c->rounds = tile_compute_rounds(c->compute);
    c->is_product = tile_compute_find_product(c->compute, &c->product);
    c->is_short = is_short(c);
    return TILE_OK;
}

void tune_check_close(tune_check *c) {
    for (unsigned i = 0; i < c->count; i++) {
        free(c->arrays[i].data);
        free(c->intervals[i]);
    }
    for (unsigned i = 0; i < TILE_MAX_ARGUMENTS; i++) free(c->anchor[i]);
    free(c->vectors);
    tile_module_destroy(c->module);
    *c = (tune_check){.module = NULL};
}

void tune_check_roles(const tune_check *c, unsigned *roles) {
    for (unsigned i = 0; i < c->count; i++)
        roles[c->which[i]] |= i < c->input_count ? TUNE_READ : TUNE_WRITTEN;
}

double tune_check_limit(const tune_check *c) {
    double limit = 0x1p53;
    for (unsigned i = c->input_count; i < c->count; i++)
        limit = fmin(limit, tile_scalar_whole_limit(c->arrays[i].scalar));
    return limit;
}

/* Arrays --------------------------------------------------------------------------------------- */

static size_t bytes_of(const tile_compute_array *array) {
    return evaluation_count(array) * tile_scalar_bytes(array->scalar);
}

/* The offset of element `element` from the argument's pointer, in elements. */
static int64_t place_of(const tune_check *c, unsigned index, size_t element) {
    int64_t place = 0;
    for (unsigned d = c->arrays[index].rank; d-- > 0;) {
        size_t extent = (size_t)c->arrays[index].dims[d];
        place += (int64_t)(element % extent) * c->strides[index][d];
        element /= extent;
    }
    return place;
}

static bool is_row_major(const tune_check *c, unsigned index) {
    int64_t stride = 1;
    for (unsigned d = c->arrays[index].rank; d-- > 0; stride *= c->arrays[index].dims[d])
        if (c->arrays[index].dims[d] > 1 && c->strides[index][d] != stride) return false;
    return true;
}

/* Copies the array's elements from the argument's memory into row-major order. */
static void gather(const tune_check *c, unsigned index, const tune_array *from,
                   const unsigned char *memory, unsigned char *to) {
    const tile_compute_array *array = &c->arrays[index];
    size_t size = tile_scalar_bytes(from->scalar), count = evaluation_count(array);
    memory += from->offset;
    if (is_row_major(c, index)) {
        memcpy(to, memory, count * size);
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * size, memory + place_of(c, index, i) * (int64_t)size, size);
}

/* Reads the compute's inputs from the host's copies. */
static void take_inputs(tune_check *c, const tune_shape *shape) {
    for (unsigned i = 0; i < c->input_count; i++) {
        tile_compute_array *array = &c->arrays[i];
        unsigned arg = c->which[i];
        const tune_array *from = &shape->arrays[arg];
        if (array->data) continue;
        if (from->scalar) {
            array->data = tile_malloc(bytes_of(array) + 1);
            gather(c, i, from, from->host, array->data);
            continue;
        }
        /* A scalar is converted to its type. */
        const tile_type *type = tile_value_type(c->compute, tile_function_arg(c->compute, i));
        bool floats = tile_scalar_is_floating(type->scalar);
        double number =
            floats ? shape->arguments[arg].number : (double)shape->arguments[arg].integer;
        array->scalar = TILE_f64;
        array->data = tile_malloc(sizeof number);
        memcpy(array->data, &number, sizeof number);
    }
}

/* Reads the argument's whole memory, which the caller frees; NULL after a report. */
static unsigned char *read_argument(const tune_shape *shape, unsigned arg) {
    const tune_array *a = &shape->arrays[arg];
    unsigned char *data = tile_malloc(a->bytes);
    if (tile_buffer_read(a->buffer, 0, data, a->bytes) == TILE_OK) return data;
    free(data);
    return NULL;
}

/* Comparing ------------------------------------------------------------------------------------ */

static const char *describe_element(const tune_check *c, unsigned index, size_t element,
                                    double want, double have, tile_arena *arena) {
    const tile_compute_array *array = &c->arrays[index];
    const char *text = "";
    for (unsigned d = array->rank; d-- > 0;) {
        size_t extent = (size_t)array->dims[d];
        text = tile_arena_format(arena, "%zu%s%s", element % extent, *text ? ", " : "", text);
        element /= extent;
    }
    const char *of = c->compute->results[index - c->input_count].name;
    return tile_arena_format(arena, "element [%s] of %%%s is %.9g, not %.9g", text, of, have, want);
}

tile_status tune_check_prepare(tune_check *c, const tune_shape *shape) {
    if (c->is_known) return TILE_OK;
    take_inputs(c, shape);
    for (unsigned i = c->input_count; i < c->count; i++)
        c->arrays[i].data = tile_malloc(bytes_of(&c->arrays[i]) + 1);
    c->is_known = true;
    return tile_compute_run_with(c->compute, c->values, c->value_count, c->arrays, c->input_count,
                                 c->arrays + c->input_count, c->count - c->input_count);
}

/* The intervals of correct results. They are only needed if a result differs from level 1's. */
static tile_status compute_intervals(tune_check *c) {
    if (!c->is_known || c->intervals[c->input_count]) return TILE_OK;
    for (unsigned i = c->input_count; i < c->count; i++)
        c->intervals[i] =
            tile_malloc((evaluation_count(&c->arrays[i]) + 1) * sizeof *c->intervals[i]);
    return tile_compute_run_intervals(c->compute, c->values, c->value_count, c->arrays,
                                      c->input_count, c->arrays + c->input_count,
                                      c->intervals + c->input_count, c->count - c->input_count,
                                      TILE_f64);
}

/* Reads the argument's elements in row-major order; the caller frees them. NULL after a report. */
static unsigned char *read_result(const tune_check *c, const tune_shape *shape, unsigned index) {
    const tile_compute_array *array = &c->arrays[index];
    unsigned char *memory = read_argument(shape, c->which[index]);
    if (!memory) return NULL;
    unsigned char *have = tile_malloc(bytes_of(array) + 1);
    gather(c, index, &shape->arrays[c->which[index]], memory, have);
    free(memory);
    return have;
}

/* The first element, from this one on, that differs from level 1's; count: there is none. */
static size_t find_other(tile_scalar scalar, const unsigned char *want, const unsigned char *have,
                         size_t count, size_t from) {
    size_t size = tile_scalar_bytes(scalar);
    while (from < count && tile_scalar_same(scalar, want + from * size, have + from * size)) from++;
    return from;
}

/* Whether an integer must be level 1's. Doubles of different integers of 64 bits may be equal. */
static bool is_certain(tile_scalar scalar, tile_interval range) {
    return !tile_scalar_is_floating(scalar) && range.low == range.high;
}

/* Compares one result with level 1's. Elements that differ must be in their interval. */
static tile_status compare(tune_check *c, const tune_shape *shape, unsigned index,
                           tile_arena *arena, const char **why) {
    const tile_compute_array *array = &c->arrays[index];
    tile_scalar scalar = array->scalar;
    size_t count = evaluation_count(array), size = tile_scalar_bytes(scalar), at = 0;
    const unsigned char *want = array->data;
    unsigned char *have = read_result(c, shape, index);
    if (!have) return TILE_FAILED;
    tile_status status = TILE_OK;
    bool equal = memcmp(want, have, count * size) == 0;
    for (; !equal && !*why && status == TILE_OK; at++) {
        at = find_other(scalar, want, have, count, at);
        if (at == count) break;
        double got = tile_scalar_read(scalar, have + at * size);
        status = compute_intervals(c);
        bool certain = c->intervals[index] && is_certain(scalar, c->intervals[index][at]);
        if (status == TILE_OK && (certain || !tile_interval_holds(c->intervals[index][at], got)))
            *why = describe_element(c, index, at, tile_scalar_read(scalar, want + at * size), got,
                                    arena);
    }
    free(have);
    return status;
}

tile_status tune_check_elements(tune_check *c, const tune_shape *shape, tile_arena *arena,
                                const char **why) {
    tile_status status = tune_check_prepare(c, shape);
    *why = NULL;
    for (unsigned i = c->input_count; i < c->count && status == TILE_OK && !*why; i++)
        status = compare(c, shape, i, arena, why);
    return status;
}

/* Freivalds' test ------------------------------------------------------------------------------ */

static tile_matrix matrix_of(const tile_compute_array *array, bool transposed) {
    return (tile_matrix){array->data, array->scalar, array->dims[0], array->dims[1], transposed};
}

/* The vectors, and the products of the right side with them, are the same for all candidates. */
static void make_vectors(tune_check *c, const tune_shape *shape) {
    take_inputs(c, shape);
    const tile_matrix lhs = matrix_of(&c->arrays[c->product.lhs], c->product.trans_lhs);
    const tile_matrix rhs = matrix_of(&c->arrays[c->product.rhs], c->product.trans_rhs);
    const int64_t *dims = c->arrays[c->input_count].dims;
    c->vectors =
        tile_malloc(sizeof *c->vectors * TILE_FREIVALDS_ROUNDS * (size_t)(dims[0] + dims[1] + 1));
    tile_product_vectors(&lhs, &rhs, shape->task->seed, c->vectors);
}

static tile_status check_product(tune_check *c, const tune_shape *shape, tile_arena *arena,
                                 const char **why) {
    unsigned index = c->input_count;
    tile_matrix result = matrix_of(&c->arrays[index], false);
    int64_t row;
    if (!c->vectors) make_vectors(c, shape);
    unsigned char *have = read_result(c, shape, index);
    if (!have) return TILE_FAILED;
    result.data = have;
    if (tile_product_wrong_rows(&result, c->vectors, &row))
        *why = tile_arena_format(arena, "row %" PRId64 " of %%%s is not that of the product", row,
                                 c->compute->results[0].name);
    free(have);
    return TILE_OK;
}

/* Comparison with the first candidate ---------------------------------------------------------- */

/* Correct results on integers are the same bytes for all candidates, so no product is needed. */
static tile_status equals_anchor(tune_check *c, const tune_shape *shape, bool *equal) {
    *equal = true;
    for (unsigned i = c->input_count; i < c->count && *equal; i++) {
        unsigned arg = c->which[i];
        unsigned char *memory = c->anchor[arg] ? read_argument(shape, arg) : NULL;
        if (c->anchor[arg] && !memory) return TILE_FAILED;
        *equal = memory && memcmp(memory, c->anchor[arg], shape->arrays[arg].bytes) == 0;
        free(memory);
    }
    return TILE_OK;
}

static tile_status keep_anchor(tune_check *c, const tune_shape *shape) {
    for (unsigned i = c->input_count; i < c->count; i++) {
        unsigned arg = c->which[i];
        if (!c->anchor[arg] && !(c->anchor[arg] = read_argument(shape, arg))) return TILE_FAILED;
    }
    return TILE_OK;
}

/* The root mean square of the finite numbers of a row, along the last dim. */
static double row_mean(const unsigned char *row, tile_scalar scalar, size_t count) {
    double largest = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        double value = fabs(tile_scalar_read(scalar, row + i * tile_scalar_bytes(scalar)));
        if (isfinite(value) && value > largest) largest = value;
    }
    for (size_t i = 0; largest > 0 && i < count; i++) {
        double value = tile_scalar_read(scalar, row + i * tile_scalar_bytes(scalar)) / largest;
        sum += isfinite(value) ? value * value : 0; /* squares of f64 may be infinite */
    }
    return largest > 0 ? largest * sqrt(sum / (double)count) : 0;
}

static size_t row_length(const tile_compute_array *array) {
    return array->rank ? (size_t)array->dims[array->rank - 1] : 1;
}

/* The largest width of an interval relative to its number and its row's mean: the maximum
 * difference of two correct results at the small shape. */
static double widest(const tune_check *small, unsigned index) {
    const tile_compute_array *array = &small->arrays[index];
    size_t length = row_length(array), count = evaluation_count(array);
    size_t size = tile_scalar_bytes(array->scalar);
    const unsigned char *data = array->data;
    double most = 0, mean = 0;
    for (size_t i = 0; small->intervals[index] && i < count; i++) {
        tile_interval interval = small->intervals[index][i];
        if (i % length == 0) mean = row_mean(data + i * size, array->scalar, length);
        double scale = fabs(tile_scalar_read(array->scalar, data + i * size)) + mean;
        double width = (interval.high - interval.low) / scale;
        if (isfinite(width) && width > most) most = width;
    }
    return most;
}

/* The first element that differs by more than this fraction of it and its row's mean; count:
 * none. */
static size_t find_far(const tile_compute_array *array, const unsigned char *want,
                       const unsigned char *have, double part) {
    tile_scalar scalar = array->scalar;
    size_t length = row_length(array), count = evaluation_count(array);
    size_t size = tile_scalar_bytes(scalar), measured = SIZE_MAX;
    double mean = 0;
    for (size_t i = find_other(scalar, want, have, count, 0); i < count;
         i = find_other(scalar, want, have, count, i + 1)) {
        double expected = tile_scalar_read(scalar, want + i * size);
        double got = tile_scalar_read(scalar, have + i * size);
        if (measured != i / length)
            mean = row_mean(want + i / length * length * size, scalar, length);
        measured = i / length;
        if (!isfinite(expected) || !(fabs(got - expected) <= part * (fabs(expected) + mean)))
            return i;
    }
    return count;
}

/* Compares one result with that of the first candidate. */
static tile_status compare_with_first(const tune_check *c, const tune_shape *shape, unsigned index,
                                      double part, tile_arena *arena, const char **why) {
    const tile_compute_array *array = &c->arrays[index];
    unsigned arg = c->which[index];
    size_t count = evaluation_count(array), size = tile_scalar_bytes(array->scalar);
    unsigned char *have = read_result(c, shape, index);
    if (!have) return TILE_FAILED;
    unsigned char *want = tile_malloc(bytes_of(array) + 1);
    gather(c, index, &shape->arrays[arg], c->anchor[arg], want);
    size_t at = find_far(array, want, have, part);
    if (at < count)
        *why = describe_element(c, index, at, tile_scalar_read(array->scalar, want + at * size),
                                tile_scalar_read(array->scalar, have + at * size), arena);
    free(want);
    free(have);
    return TILE_OK;
}

/* small: determines the rounding errors that are allowed. */
static tile_status compare_with_anchor(const tune_check *c, tune_check *small,
                                       const tune_shape *shape, tile_arena *arena,
                                       const char **why) {
    tile_status status = compute_intervals(small);
    for (unsigned i = c->input_count; i < c->count && status == TILE_OK && !*why; i++)
        status = compare_with_first(c, shape, i, widest(small, i), arena, why);
    return status;
}

tile_status tune_check_large(tune_check *c, tune_check *small, const tune_shape *shape,
                             tile_arena *arena, const char **why) {
    bool equal;
    *why = NULL;
    tile_status status = equals_anchor(c, shape, &equal);
    if (status != TILE_OK || equal) return status;
    bool is_first = !c->anchor[c->which[c->input_count]];
    if (c->is_product)
        status = check_product(c, shape, arena, why);
    else if (!is_first)
        status = compare_with_anchor(c, small, shape, arena, why);
    return status == TILE_OK && !*why && is_first ? keep_anchor(c, shape) : status;
}

const char *tune_check_words(const tune_check *c) {
    if (c->is_short) return "element by element";
    if (c->is_product) return "Freivalds' test on whole numbers";
    return c->rounds ? "the first candidate's result, within the allowed rounding"
                     : "equality with the first candidate's result on whole numbers";
}
