#include "runtime/tune/check.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/function.h"

static const double roundings =
    16; /* that a result may be off, where equality cannot be asked for */

static const tile_loc no_place = {0, 0, 0};

/* What the compute is ---------------------------------------------------------------------------
 */

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
        tile_report(tile_module_context(module), TILE_ERROR, no_place,
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
    return TILE_OK;
}

void tune_check_close(tune_check *c) {
    for (unsigned i = 0; i < c->count; i++) free(c->arrays[i].data);
    for (unsigned i = 0; i < TILE_MAX_ARGUMENTS; i++) free(c->anchor[i]);
    free(c->vectors);
    tile_module_destroy(c->module);
    *c = (tune_check){.module = NULL};
}

void tune_check_roles(const tune_check *c, unsigned *roles) {
    for (unsigned i = 0; i < c->count; i++)
        roles[c->which[i]] |= i < c->input_count ? TUNE_READ : TUNE_WRITTEN;
}

static double exact_limit(tile_scalar scalar) {
    return ldexp(1, tile_scalar_is_floating(scalar) ? (int)tile_scalar_mantissa(scalar) + 1
                                                    : (int)tile_scalar_bits(scalar) - 1);
}

double tune_check_limit(const tune_check *c) {
    double limit = 0x1p53;
    for (unsigned i = c->input_count; i < c->count; i++)
        limit = fmin(limit, exact_limit(c->arrays[i].scalar));
    return limit;
}

/* Arrays ----------------------------------------------------------------------------------------
 */

static size_t count_elements(const tile_compute_array *array) {
    size_t count = 1;
    for (unsigned d = 0; d < array->rank; d++) count *= (size_t)array->dims[d];
    return count;
}

static size_t bytes_of(const tile_compute_array *array) {
    return count_elements(array) * tile_scalar_bytes(array->scalar);
}

/* Where element `element` lies behind the argument's pointer, in elements. */
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

/* The array's elements, row-major, out of the argument's memory. */
static void gather(const tune_check *c, unsigned index, const tune_array *from,
                   const unsigned char *memory, unsigned char *to) {
    const tile_compute_array *array = &c->arrays[index];
    size_t size = tile_scalar_bytes(from->scalar), count = count_elements(array);
    memory += from->offset;
    if (is_row_major(c, index)) {
        memcpy(to, memory, count * size);
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * size, memory + place_of(c, index, i) * (int64_t)size, size);
}

/* The compute's inputs, from the host's copies. */
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
        /* A scalar's number is converted. */
        const tile_type *type = tile_value_type(c->compute, tile_function_arg(c->compute, i));
        bool floats = tile_scalar_is_floating(type->scalar);
        double number =
            floats ? shape->arguments[arg].number : (double)shape->arguments[arg].integer;
        array->scalar = TILE_f64;
        array->data = tile_malloc(sizeof number);
        memcpy(array->data, &number, sizeof number);
    }
}

/* The argument's whole memory, which the caller frees; NULL after a report. */
static unsigned char *read_argument(const tune_shape *shape, unsigned arg) {
    const tune_array *a = &shape->arrays[arg];
    unsigned char *data = tile_malloc(a->bytes);
    if (tile_buffer_read(a->buffer, 0, data, a->bytes) == TILE_OK) return data;
    free(data);
    return NULL;
}

/* Comparing -------------------------------------------------------------------------------------
 */

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

static bool same(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static double root_mean_square(const unsigned char *data, tile_scalar scalar, size_t count) {
    double largest = 0, sum = 0;
    for (size_t i = 0; i < count; i++) {
        double value = fabs(tile_scalar_read(scalar, data + i * tile_scalar_bytes(scalar)));
        if (isfinite(value) && value > largest) largest = value;
    }
    for (size_t i = 0; largest > 0 && i < count; i++) {
        double value = tile_scalar_read(scalar, data + i * tile_scalar_bytes(scalar)) / largest;
        sum += isfinite(value) ? value * value : 0; /* squares of f64 are infinite, too */
    }
    return largest > 0 ? largest * sqrt(sum / (double)count) : 0;
}

/* Elements that differ by more than they may; *index is the first one's. Numbers too large to be
 * exact in their type may differ as rounded ones do. */
static bool differs(const tune_check *c, tile_scalar scalar, const unsigned char *want,
                    const unsigned char *have, size_t count, size_t *index) {
    size_t size = tile_scalar_bytes(scalar);
    double limit = exact_limit(scalar), rms = -1;
    if (memcmp(want, have, count * size) == 0) return false;
    for (*index = 0; *index < count; ++*index) {
        double expected = tile_scalar_read(scalar, want + *index * size);
        double got = tile_scalar_read(scalar, have + *index * size);
        if (same(expected, got)) continue;
        if (!c->rounds && !(fabs(expected) > limit)) return true;
        if (rms < 0) rms = root_mean_square(want, scalar, count);
        if (!isfinite(expected) ||
            !(fabs(got - expected) <= roundings / limit * (fabs(expected) + rms)))
            return true;
    }
    return false;
}

static tile_status compute(tune_check *c, const tune_shape *shape) {
    if (c->is_known) return TILE_OK;
    take_inputs(c, shape);
    for (unsigned i = c->input_count; i < c->count; i++)
        c->arrays[i].data = tile_malloc(bytes_of(&c->arrays[i]) + 1);
    c->is_known = true;
    return tile_compute_run_with(c->compute, c->values, c->value_count, c->arrays, c->input_count,
                                 c->arrays + c->input_count, c->count - c->input_count);
}

/* One result against row-major elements. */
static tile_status compare(const tune_check *c, const tune_shape *shape, unsigned index,
                           const unsigned char *want, tile_arena *arena, const char **why) {
    const tile_compute_array *array = &c->arrays[index];
    size_t count = count_elements(array), size = tile_scalar_bytes(array->scalar), at;
    unsigned char *memory = read_argument(shape, c->which[index]);
    if (!memory) return TILE_FAILED;
    unsigned char *have = tile_malloc(count * size + 1);
    gather(c, index, &shape->arrays[c->which[index]], memory, have);
    if (differs(c, array->scalar, want, have, count, &at))
        *why = describe_element(c, index, at, tile_scalar_read(array->scalar, want + at * size),
                                tile_scalar_read(array->scalar, have + at * size), arena);
    free(have);
    free(memory);
    return TILE_OK;
}

tile_status tune_check_elements(tune_check *c, const tune_shape *shape, tile_arena *arena,
                                const char **why) {
    tile_status status = compute(c, shape);
    *why = NULL;
    for (unsigned i = c->input_count; i < c->count && status == TILE_OK && !*why; i++)
        status = compare(c, shape, i, c->arrays[i].data, arena, why);
    return status;
}

/* Freivalds' test --------------------------------------------------------------------------------
 */

/* All values of a type of up to two bytes, as floats; NULL for wider ones. */
static float *make_table(tile_scalar scalar) {
    size_t size = tile_scalar_bytes(scalar), count = size == 1 ? 256 : 65536;
    if (size > 2) return NULL;
    float *table = tile_malloc(count * sizeof *table);
    for (size_t i = 0; i < count; i++) {
        uint16_t bits = (uint16_t)i;
        table[i] = (float)tile_scalar_read(scalar, &bits);
    }
    return table;
}

static double element(const unsigned char *data, size_t index, tile_scalar scalar, size_t size,
                      const float *table) {
    uint16_t bits = 0;
    if (!table) return tile_scalar_read(scalar, data + index * size);
    memcpy(&bits, data + index * size, size);
    return (double)table[bits];
}

/* A row-major matrix, which multiplies vectors as it is or transposed. */
typedef struct matrix {
    const unsigned char *data;
    tile_scalar scalar;
    int64_t rows, columns; /* as it is stored */
    bool transposed;
} matrix;

static matrix matrix_of(const tile_compute_array *array, bool transposed) {
    return (matrix){array->data, array->scalar, array->dims[0], array->dims[1], transposed};
}

/* y = A x for TUNE_ROUNDS vectors at once; x[j][r], y[i][r]. Exact while |y| < 2^53. The elements
 * are read in the order in which they are stored. */
static void multiply(const matrix *a, const double *x, double *y) {
    size_t size = tile_scalar_bytes(a->scalar), at = 0;
    float *table = make_table(a->scalar);
    int64_t length = a->transposed ? a->columns : a->rows;
    for (int64_t i = 0; i < length * TUNE_ROUNDS; i++) y[i] = 0;
    for (int64_t row = 0; row < a->rows; row++)
        for (int64_t column = 0; column < a->columns; column++, at++) {
            double value = element(a->data, at, a->scalar, size, table);
            const double *from = x + (a->transposed ? row : column) * TUNE_ROUNDS;
            double *to = y + (a->transposed ? column : row) * TUNE_ROUNDS;
            for (unsigned r = 0; r < TUNE_ROUNDS; r++) to[r] += value * from[r];
        }
    free(table);
}

/* c x = a (b x) for random whole x in [-512, 512): an error in a row of c escapes a round with a
 * probability of at most 1 / 1024 (R. Freivalds, "Probabilistic machines can use less running
 * time", 1977). All sums are whole numbers below 2^53, so equality decides. The right side is the
 * same for all candidates. */
static void make_vectors(tune_check *c, const tune_shape *shape) {
    take_inputs(c, shape);
    const matrix lhs = matrix_of(&c->arrays[c->product.lhs], c->product.trans_lhs);
    const matrix rhs = matrix_of(&c->arrays[c->product.rhs], c->product.trans_rhs);
    const int64_t *dims = c->arrays[c->input_count].dims;
    int64_t m = dims[0], n = dims[1], k = lhs.transposed ? lhs.rows : lhs.columns;
    c->vectors = tile_malloc(sizeof *c->vectors * TUNE_ROUNDS * (size_t)(n + m + 1));
    double *bx = tile_malloc(sizeof *bx * TUNE_ROUNDS * (size_t)(k + 1));
    uint64_t state = shape->task->seed;
    for (int64_t j = 0; j < n * TUNE_ROUNDS; j++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        c->vectors[j] = (double)(int64_t)(state >> 54) - 512;
    }
    multiply(&rhs, c->vectors, bx);
    multiply(&lhs, bx, c->vectors + n * TUNE_ROUNDS);
    free(bx);
}

static tile_status check_product(tune_check *c, const tune_shape *shape, tile_arena *arena,
                                 const char **why) {
    unsigned index = c->input_count;
    const tile_compute_array *array = &c->arrays[index];
    if (!c->vectors) make_vectors(c, shape);
    int64_t m = array->dims[0], n = array->dims[1];
    unsigned char *memory = read_argument(shape, c->which[index]);
    if (!memory) return TILE_FAILED;
    unsigned char *have = tile_malloc(bytes_of(array) + 1);
    gather(c, index, &shape->arrays[c->which[index]], memory, have);
    double *cx = tile_malloc(sizeof *cx * TUNE_ROUNDS * (size_t)(m + 1));
    const double *abx = c->vectors + n * TUNE_ROUNDS;
    const matrix result = {have, array->scalar, m, n, false};
    multiply(&result, c->vectors, cx);
    for (int64_t i = 0; i < m * TUNE_ROUNDS && !*why; i++)
        if (!(cx[i] == abx[i]))
            *why = tile_arena_format(arena, "row %" PRId64 " of %%%s is not that of the product",
                                     i / TUNE_ROUNDS, c->compute->results[0].name);
    free(cx);
    free(have);
    free(memory);
    return TILE_OK;
}

/* With the one before ----------------------------------------------------------------------------
 */

/* Right results of whole numbers are the same bytes, whoever made them: no need to multiply. */
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

static tile_status compare_with_anchor(tune_check *c, const tune_shape *shape, tile_arena *arena,
                                       const char **why) {
    tile_status status = TILE_OK;
    for (unsigned i = c->input_count; i < c->count && status == TILE_OK && !*why; i++) {
        const tune_array *a = &shape->arrays[c->which[i]];
        unsigned char *want = tile_malloc(bytes_of(&c->arrays[i]) + 1);
        gather(c, i, a, c->anchor[c->which[i]], want);
        status = compare(c, shape, i, want, arena, why);
        free(want);
    }
    return status;
}

tile_status tune_check_large(tune_check *c, const tune_shape *shape, tile_arena *arena,
                             const char **why) {
    bool equal;
    *why = NULL;
    tile_status status = equals_anchor(c, shape, &equal);
    if (status != TILE_OK || equal) return status;
    bool is_first = !c->anchor[c->which[c->input_count]];
    if (c->is_product)
        status = check_product(c, shape, arena, why);
    else if (!is_first)
        status = compare_with_anchor(c, shape, arena, why);
    return status == TILE_OK && !*why && is_first ? keep_anchor(c, shape) : status;
}

const char *tune_check_words(const tune_check *c) {
    if (c->is_product) return "Freivalds' test on whole numbers";
    return c->rounds ? "the first candidate's result, within 16 roundings"
                     : "equality with the first candidate's result on whole numbers";
}
