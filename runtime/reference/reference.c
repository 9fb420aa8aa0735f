/* The arrays of a kernel's reference: the argument of each array, and its shape. */
#include <string.h>

#include "lib/check/verify.h"
#include "lib/ir/function.h"
#include "lib/ir/syntax.h"
#include "tile/compute.h"

typedef struct shaper {
    const tile_function *f, *compute;
    const int64_t *sizes;
} shaper;

static tile_status fail(const shaper *s, const char *what, const char *name) {
    tile_report(tile_function_context(s->f), TILE_ERROR, s->f->reference_loc,
                "@%s: %s '%s' of its reference @%s", s->f->name, what, name, s->compute->name);
    return TILE_INVALID;
}

static bool arg_value(unsigned index, int64_t *value, void *user) {
    const shaper *s = user;
    if (index >= s->f->arg_count) return false;
    *value = s->sizes[index];
    return true;
}

static bool param_value(const char *name, int64_t *value, void *user);

/* The given value, or the argument of that name, or the default. */
static bool find_value(shaper *s, const char *name, int64_t *value) {
    const tile_bindings own = {.arg = arg_value, .user = s};
    const tile_bindings in_compute = {.param = param_value, .user = s};
    for (size_t i = 0; i < s->f->reference_count; i++)
        if (strcmp(s->f->reference_values[i].name, name) == 0)
            return tile_expr_eval(s->f->reference_values[i].expr, &own, value);
    const tile_arg_decl *arg = tile_function_find_arg(s->f, name);
    if (arg) return arg_value((unsigned)(arg - s->f->args), value, s);
    const tile_param_decl *param = tile_function_find_param(s->compute, name, strlen(name));
    return param && tile_expr_eval(param->default_expr, &in_compute, value);
}

static bool param_value(const char *name, int64_t *value, void *user) {
    return find_value(user, name, value);
}

/* Row-major strides, unless the argument is a view. False if a stride overflows 64 bits. */
static bool stride(shaper *s, unsigned arg, const tile_compute_array *array, int64_t *strides) {
    const tile_bindings own = {.arg = arg_value, .user = s};
    bool is_view = s->f->args[arg].type->kind == TILE_TYPE_VIEW;
    for (unsigned d = array->rank; d-- > 0;) {
        strides[d] = 1;
        if (!is_view && d + 1 < array->rank &&
            __builtin_mul_overflow(strides[d + 1], array->dims[d + 1], &strides[d]))
            return false;
        if (is_view && !tile_expr_eval(tile_function_arg_stride(s->f, arg, d), &own, &strides[d]))
            return false;
    }
    return true;
}

static tile_status shape(shaper *s, const char *name, const tile_type *type,
                         tile_compute_array *array, unsigned *which, int64_t *strides) {
    const tile_arg_decl *arg = tile_function_find_arg(s->f, name);
    const tile_bindings bindings = {.param = param_value, .user = s};
    if (!arg) return fail(s, "there is no argument for", name);
    *which = (unsigned)(arg - s->f->args);
    *array = (tile_compute_array){.scalar = arg->type->scalar, .rank = type->rank};
    for (unsigned d = 0; d < type->rank; d++)
        if (!tile_expr_eval(type->dims[d], &bindings, &array->dims[d]) || array->dims[d] < 0)
            return fail(s, "these sizes make no extents for", name);
    if (!stride(s, *which, array, strides)) return fail(s, "these sizes make no strides for", name);
    return TILE_OK;
}

/* Opens the shaper of a kernel's reference; false after a report. */
static bool open(shaper *s, const tile_function *kernel, const int64_t *sizes) {
    if (!kernel->reference) {
        tile_report(tile_function_context(kernel), TILE_ERROR, kernel->loc,
                    "@%s names no reference: write `of @compute` after its arguments",
                    kernel->name);
        return false;
    }
    *s = (shaper){kernel, tile_module_find(kernel->module, kernel->reference), sizes};
    if (!tile_verify_reference(kernel)) return false;
    if (!kernel->param_count) return true;
    tile_report(tile_function_context(kernel), TILE_ERROR, kernel->loc,
                "@%s has parameters: instantiate it first", kernel->name);
    return false;
}

tile_status tile_reference_values(const tile_function *kernel, const int64_t *sizes,
                                  tile_compute_value *values, unsigned *count) {
    TILE_GUARD(kernel ? tile_function_context(kernel) : NULL, TILE_OUT_OF_MEMORY)
    shaper s;
    unsigned room = count ? *count : 0;
    if (!kernel || !count) return TILE_INVALID;
    *count = 0;
    if (!open(&s, kernel, sizes)) return TILE_INVALID;
    for (size_t i = 0; i < s.compute->param_count; i++) {
        const char *name = s.compute->params[i].name;
        tile_compute_value value = {.name = name};
        if (s.compute->params[i].kind == TILE_PARAM_type) continue;
        if (!find_value(&s, name, &value.number))
            return fail(&s, "these sizes make no number for", name);
        if (*count == room) return fail(&s, "there is no room for", name);
        values[(*count)++] = value;
    }
    return TILE_OK;
}

tile_status tile_reference_shapes(const tile_function *kernel, const int64_t *sizes,
                                  const tile_function **compute, tile_compute_array *arrays,
                                  unsigned *which, int64_t (*strides)[TILE_MAX_RANK],
                                  unsigned count) {
    TILE_GUARD(kernel ? tile_function_context(kernel) : NULL, TILE_OUT_OF_MEMORY)
    if (compute) *compute = NULL;
    if (!kernel) return TILE_INVALID;
    shaper s;
    if (!open(&s, kernel, sizes)) return TILE_INVALID;
    size_t inputs = s.compute->arg_count, all = inputs + s.compute->result_count;
    if (count != all) {
        tile_report(tile_function_context(kernel), TILE_ERROR, kernel->loc,
                    "@%s: its reference has another number of arrays", kernel->name);
        return TILE_INVALID;
    }
    tile_status status = TILE_OK;
    for (unsigned i = 0; i < count && status == TILE_OK; i++)
        status = i < inputs ? shape(&s, s.compute->args[i].name, s.compute->args[i].type,
                                    &arrays[i], &which[i], strides[i])
                            : shape(&s, s.compute->results[i - inputs].name,
                                    s.compute->results[i - inputs].type, &arrays[i], &which[i],
                                    strides[i]);
    if (status == TILE_OK && compute) *compute = s.compute;
    return status;
}
