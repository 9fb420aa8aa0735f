/* Shapes of arrays whose shape the command line leaves to the kernel's view. */
#include <stdio.h>

#include "tools/common/arguments.h"

typedef struct dim {
    int64_t extent, stride;
} dim;

static bool fail(const run_argument *argument, const char *why) {
    fprintf(stderr, "error: --arg %s: %s: give its TYPE[DIMS]\n", argument->name, why);
    return false;
}

static bool integer_of(unsigned index, int64_t *value, void *user) {
    const run_argument *arguments = user;
    *value = arguments[index].integer;
    return !arguments[index].is_array;
}

/* Orders dims by descending stride. Of dims with equal strides at most one has an extent above
 * 1. */
static bool comes_before(dim a, dim b) {
    return a.stride != b.stride ? a.stride > b.stride : a.extent > b.extent;
}

/* An array with one dim that has room for all elements of the view. */
static bool shape_flat(run_argument *argument, const dim *dims, unsigned rank) {
    int64_t last = 0, reach;
    for (unsigned d = 0; d < rank; d++) {
        if (dims[d].stride < 0) return fail(argument, "a stride of the view is negative");
        if (__builtin_mul_overflow(dims[d].extent - 1, dims[d].stride, &reach) ||
            __builtin_add_overflow(last, reach, &last) || last >= INT32_MAX)
            return fail(argument, "the view reaches over more than 2^31 - 1 elements");
    }
    argument->array.rank = 1;
    argument->array.dims[0] = last + 1;
    return true;
}

/* Computes the array's dims from the view's dims, sorted by descending stride. The length of a row
 * follows from the strides, so column-major views get their rows and padded views their padding.
 * Other strides, such as 0, do not give the array dims. */
static bool shape_array(run_argument *argument, dim *dims, unsigned rank) {
    for (unsigned i = 1; i < rank; i++)
        for (unsigned k = i; k && comes_before(dims[k], dims[k - 1]); k--) {
            dim swap = dims[k];
            dims[k] = dims[k - 1];
            dims[k - 1] = swap;
        }
    bool is_array = dims[rank - 1].stride == 1;
    for (unsigned d = 1; d < rank && is_array; d++) {
        int64_t longer = dims[d - 1].stride, row = longer / dims[d].stride;
        is_array = longer % dims[d].stride == 0 && row >= dims[d].extent;
        argument->array.dims[d] = row;
    }
    if (!is_array) return shape_flat(argument, dims, rank);
    argument->array.dims[0] = dims[0].extent;
    return true;
}

static bool shape_argument(const tile_function *f, unsigned index, run_argument *arguments) {
    const tile_bindings bindings = {.arg = integer_of, .user = arguments};
    const tile_type *type = tile_function_arg_type(f, index);
    dim dims[TILE_MAX_RANK];
    bool empty = false; /* then strides, maybe products with a 0, mean nothing */
    for (unsigned d = 0; d < type->rank; d++) {
        if (!tile_expr_eval(tile_function_arg_extent(f, index, d), &bindings, &dims[d].extent) ||
            !tile_expr_eval(tile_function_arg_stride(f, index, d), &bindings, &dims[d].stride) ||
            dims[d].extent < 0)
            return fail(&arguments[index], "the view has no shape for these arguments");
        arguments[index].array.dims[d] = dims[d].extent;
        empty |= dims[d].extent == 0;
    }
    arguments[index].array.scalar = type->scalar;
    arguments[index].array.rank = type->rank;
    return !type->has_strides || empty || shape_array(&arguments[index], dims, type->rank);
}

bool arguments_shape(const tile_module *module, const tile_function *f,
                     const tile_binding *bindings, unsigned binding_count,
                     run_argument *arguments) {
    bool shapeless = false, right = true;
    unsigned count = tile_function_arg_count(f);
    for (unsigned i = 0; i < count; i++) shapeless |= arguments[i].shapeless;
    if (!shapeless) return true;
    tile_module *copy = tile_module_clone(module);
    const char *name = tile_function_name(f);
    right = tile_instantiate(copy, name, bindings, binding_count) == TILE_OK;
    for (unsigned i = 0; i < count && right; i++)
        if (arguments[i].shapeless)
            right = shape_argument(tile_module_find(copy, name), i, arguments);
    tile_module_destroy(copy);
    return right;
}
