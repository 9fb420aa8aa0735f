/* The check against the compute that the kernel names with `of`. The compute runs on the arguments
 * as they were before the launch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tile-run/run.h"

enum { MAX_ARRAYS = sizeof((reference *)NULL)->which / sizeof(unsigned) };

static bool fail(const char *name, const char *why) {
    fprintf(stderr, "error: --check: %s %s\n", name, why);
    return false;
}

bool reference_open(reference *to, const tile_module *module, const tile_function *kernel,
                    const tile_binding *bindings, unsigned binding_count,
                    const run_argument *arguments, unsigned count) {
    const char *name = tile_function_name(kernel);
    const tile_function *compute = tile_module_find(module, tile_function_reference(kernel));
    int64_t sizes[MAX_ARRAYS] = {0};
    *to = (reference){.module = NULL};
    if (!compute)
        return fail(name, "names no reference: give OUT=EXPR, or add `of @compute` to the kernel");
    to->input_count = tile_function_arg_count(compute);
    to->count = to->input_count + tile_function_result_count(compute);
    if (to->count > MAX_ARRAYS || count > MAX_ARRAYS) return fail(name, "has too many arrays");
    for (unsigned i = 0; i < count; i++) sizes[i] = arguments[i].integer;
    to->module = tile_module_clone(module);
    to->value_count = MAX_ARRAYS;
    if (tile_instantiate(to->module, name, bindings, binding_count) != TILE_OK) return false;
    const tile_function *made = tile_module_find(to->module, name);
    return tile_reference_shapes(made, sizes, &to->compute, to->arrays, to->which, to->strides,
                                 to->count) == TILE_OK &&
           tile_reference_values(made, sizes, to->values, &to->value_count) == TILE_OK;
}

double reference_limit(const reference *from) {
    double limit = 0x1p53;
    for (unsigned i = from->input_count; i < from->count; i++) {
        double own = tile_scalar_whole_limit(from->arrays[i].scalar);
        if (own < limit) limit = own;
    }
    return limit;
}

static size_t count_elements(const tile_compute_array *array) {
    size_t count = 1;
    for (unsigned d = 0; d < array->rank; d++) count *= (size_t)array->dims[d];
    return count;
}

/* ones: the strides of dims of extent 1 count, too. */
static bool is_row_major(const reference *r, unsigned index, bool ones) {
    int64_t stride = 1;
    for (unsigned d = r->arrays[index].rank; d-- > 0; stride *= r->arrays[index].dims[d])
        if ((ones || r->arrays[index].dims[d] > 1) && r->strides[index][d] != stride) return false;
    return true;
}

/* Returns the position of the array's element in the argument; -1 if it overflows. */
static int64_t place_of(const reference *r, unsigned index, size_t element) {
    int64_t place = 0, offset;
    for (unsigned d = r->arrays[index].rank; d-- > 0;) {
        size_t extent = (size_t)r->arrays[index].dims[d];
        if (__builtin_mul_overflow((int64_t)(element % extent), r->strides[index][d], &offset) ||
            __builtin_add_overflow(place, offset, &place))
            return -1;
        element /= extent;
    }
    return place;
}

/* True if the argument has all elements of the array: the same number, or those that the strides
 * address. */
static bool fits(const run_argument *argument, const reference *r, unsigned index) {
    const tile_compute_array *array = &r->arrays[index];
    size_t count = count_elements(array);
    bool inside = argument->array.count == count;
    if (!is_row_major(r, index, true)) {
        inside = true;
        for (size_t i = 0; i < count && inside; i++) {
            int64_t place = place_of(r, index, i);
            inside = place >= 0 && (size_t)place < argument->array.count;
        }
    }
    if (inside) return true;
    fprintf(stderr, "error: --check: %s has %zu elements, the sizes ask for [", argument->name,
            argument->array.count);
    for (unsigned d = 0; d < array->rank; d++)
        fprintf(stderr, "%s%lld", d ? ", " : "", (long long)array->dims[d]);
    fprintf(stderr, "]\n");
    return false;
}

static host_array as_host(const tile_compute_array *array) {
    host_array host = {.scalar = array->scalar,
                       .rank = array->rank,
                       .count = count_elements(array),
                       .data = array->data};
    memcpy(host.dims, array->dims, sizeof host.dims);
    return host;
}

/* Gathers the array's elements in row-major order. */
static void gather(const reference *r, unsigned index, const run_argument *argument,
                   unsigned char *to) {
    size_t count = count_elements(&r->arrays[index]);
    size_t size = tile_scalar_bytes(argument->array.scalar);
    bool straight = is_row_major(r, index, false);
    if (straight) memcpy(to, argument->array.data, count * size);
    for (size_t i = 0; !straight && i < count; i++)
        memcpy(to + i * size, argument->array.data + (size_t)place_of(r, index, i) * size, size);
}

bool reference_keep(reference *to, const run_argument *arguments) {
    for (unsigned i = 0; i < to->count; i++) {
        const run_argument *argument = &arguments[to->which[i]];
        tile_compute_array *array = &to->arrays[i];
        if (argument->is_array && !fits(argument, to, i)) return false;
        if (i >= to->input_count) continue;
        tile_scalar type; /* a scalar is converted */
        const void *element = argument_element(argument, &type);
        if (!argument->is_array) array->scalar = type;
        host_array kept = as_host(array);
        if (!array_allocate(&kept)) return fail(argument->name, "cannot be stored: out of memory");
        array->data = kept.data;
        if (argument->is_array)
            gather(to, i, argument, kept.data);
        else
            memcpy(kept.data, element, tile_scalar_bytes(type));
    }
    return true;
}

static bool inputs_are_whole(const reference *from, const run_argument *arguments) {
    for (unsigned i = 0; i < from->input_count; i++) {
        const run_argument *a = &arguments[from->which[i]];
        if (a->is_array ? !argument_is_whole(a) : a->number != (double)a->integer) return false;
    }
    return true;
}

/* True if the results of rounding operations are compared with their ranges. */
static bool is_ranged(const reference *from, const check_result *result) {
    bool integers = false;
    for (unsigned i = from->input_count; i < from->count; i++)
        integers |= !tile_scalar_is_floating(from->arrays[i].scalar);
    return !result->exact && (result->tolerance < 0 || integers);
}

static bool run(reference *from, bool ranged) {
    for (unsigned i = from->input_count; i < from->count; i++) {
        host_array made = as_host(&from->arrays[i]);
        if (!array_allocate(&made)) return fail("the reference", "ran out of memory");
        from->arrays[i].data = made.data;
        if (ranged && !(from->ranges[i] = ranges_allocate(made.count))) return false;
    }
    const tile_compute_array *results = from->arrays + from->input_count;
    unsigned count = from->count - from->input_count;
    if (ranged)
        return tile_compute_run_intervals(
                   from->compute, from->values, from->value_count, from->arrays, from->input_count,
                   results, from->ranges + from->input_count, count, TILE_f64) == TILE_OK;
    return tile_compute_run_with(from->compute, from->values, from->value_count, from->arrays,
                                 from->input_count, results, count) == TILE_OK;
}

static bool check_result_array(reference *from, unsigned index, const host_array *got,
                               const char *name, check_result *result) {
    const tile_compute_array *expected = &from->arrays[index];
    tile_product_inputs product;
    if (result->exact && tile_compute_find_product(from->compute, &product) &&
        check_is_long(got, from->arrays[product.lhs].dims[!product.trans_lhs])) {
        host_array a = as_host(&from->arrays[product.lhs]);
        host_array b = as_host(&from->arrays[product.rhs]);
        const check_matrix lhs = {&a, product.trans_lhs}, rhs = {&b, product.trans_rhs};
        return check_product(&lhs, &rhs, got, name, result);
    }
    if (!expected->data && !run(from, is_ranged(from, result))) return false;
    host_array wanted = as_host(expected);
    check_compare(&wanted, from->ranges[index], got, result);
    return true;
}

bool reference_check(reference *from, const run_argument *arguments, unsigned index,
                     double tolerance, bool named, check_result *result) {
    index += from->input_count;
    const run_argument *output = &arguments[from->which[index]];
    host_array got = as_host(&from->arrays[index]);
    if (!array_allocate(&got)) return fail(output->name, "cannot be compared: out of memory");
    gather(from, index, output, got.data);
    *result = (check_result){.name = named ? output->name : NULL, .elements = got.count};
    result->exact = inputs_are_whole(from, arguments) && !tile_compute_rounds(from->compute);
    result->tolerance = tolerance;
    bool ok = check_result_array(from, index, &got, output->name, result);
    free(got.data);
    return ok;
}

void reference_close(reference *from) {
    for (unsigned i = 0; i < from->count; i++) {
        free(from->arrays[i].data);
        free(from->ranges[i]);
    }
    tile_module_destroy(from->module);
    *from = (reference){.module = NULL};
}
