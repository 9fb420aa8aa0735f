/* Checks the strides of a compute's tensors. */
#include "tile/strides.h"

#include <stdlib.h>

#include "lib/check/verify.h"
#include "lib/ir/describe.h"

typedef struct tensor {
    const tile_function *f;
    const char *name;
    const tile_type *type;
    const tile_expr *const *strides;
    bool is_result;
} tensor;

#define FAIL(t, ...) \
    (tile_report(tile_function_context((t)->f), TILE_ERROR, (t)->f->loc, __VA_ARGS__), false)

static const char *what(const tensor *t) {
    return t->is_result ? "result" : "argument";
}

static bool check_stride(const tensor *t, unsigned d) {
    int64_t stride;
    if (!tile_is_param_expr(t->f, t->strides[d]))
        return FAIL(t, "stride %u of the %s %%%s may depend on compile-time parameters only", d,
                    what(t), t->name);
    if (tile_divides_by_zero(t->strides[d]))
        return FAIL(t, "stride %u of the %s %%%s has no value: it divides by zero", d, what(t),
                    t->name);
    if (tile_expr_is_int(t->strides[d], &stride) && stride < 0)
        return FAIL(t,
                    "stride %u of the %s %%%s is %lld; a stride is 0 or more elements: to reverse "
                    "a dim, use `flip` in the body",
                    d, what(t), t->name, (long long)stride);
    return true;
}

typedef struct dim {
    unsigned index;
    int64_t extent, stride;
} dim;

static int by_stride(const void *a, const void *b) {
    const dim *x = a, *y = b;
    if (x->stride != y->stride) return x->stride < y->stride ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Two elements of a result must not share memory: a stride is larger than the distance between the
 * first and the last element along all dims with smaller strides. */
static bool check_distances(const tensor *t, dim *dims, unsigned count) {
    int64_t reach = 0, own;
    qsort(dims, count, sizeof *dims, by_stride);
    for (unsigned i = 0; i < count; i++) {
        if (dims[i].stride <= reach)
            return FAIL(t,
                        "elements of the result %%%s overlap: stride %u is %lld, and the dims with "
                        "smaller strides reach over %lld elements; make it at least %lld",
                        t->name, dims[i].index, (long long)dims[i].stride, (long long)reach + 1,
                        (long long)reach + 1);
        if (__builtin_mul_overflow(dims[i].extent - 1, dims[i].stride, &own) ||
            __builtin_add_overflow(reach, own, &reach))
            return FAIL(t, "the result %%%s reaches over more than 2^63 elements", t->name);
    }
    return true;
}

/* Numbers are compared here. Strides that depend on parameters are the caller's responsibility. */
static bool check_overlap(const tensor *t) {
    dim dims[TILE_MAX_RANK];
    unsigned count = 0;
    bool known = true, empty = false;
    for (unsigned d = 0; d < t->type->rank; d++) {
        dim here = {.index = d, .extent = tile_type_dim(t->type, d)};
        if (here.extent == 1) continue;
        if (tile_expr_is(t->strides[d], 0) && here.extent)
            return FAIL(t,
                        "stride %u of the result %%%s is 0, so that its elements overlap; only an "
                        "argument may repeat elements",
                        d, t->name);
        for (unsigned i = 0; i < count; i++)
            if (t->strides[dims[i].index] == t->strides[d] && here.extent > 1 && dims[i].extent > 1)
                return FAIL(t,
                            "elements of the result %%%s overlap: dims %u and %u have the same "
                            "stride",
                            t->name, dims[i].index, d);
        empty |= !here.extent;
        known &= here.extent >= 0 && tile_expr_is_int(t->strides[d], &here.stride);
        dims[count++] = here;
    }
    return !known || empty || check_distances(t, dims, count);
}

static bool check_tensor(const tensor *t) {
    bool sound = true;
    if (t->type->kind != TILE_TYPE_TENSOR || !t->strides[0]) return true;
    if (t->f->kind != TILE_COMPUTE)
        return FAIL(t, "%%%s: only arguments and results of a compute are tensors with strides",
                    t->name);
    for (unsigned d = 0; d < t->type->rank && sound; d++) sound = check_stride(t, d);
    return sound && (!t->is_result || check_overlap(t));
}

bool tile_verify_strides(const tile_function *f) {
    bool sound = true;
    for (size_t i = 0; i < f->arg_count; i++) {
        const tile_arg_decl *arg = &f->args[i];
        sound &= check_tensor(&(tensor){f, arg->name, arg->type, arg->strides, false});
    }
    for (size_t i = 0; i < f->result_count; i++) {
        const tile_result_decl *result = &f->results[i];
        sound &= check_tensor(&(tensor){f, result->name, result->type, result->strides, true});
    }
    return sound;
}
