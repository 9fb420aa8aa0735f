/* Points of a kernel, and which of them a launch uses. This depends on the bucket of its arguments,
 * which may have a tuned point, and on the values of {const} arguments. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/function.h"
#include "lib/ir/syntax.h"
#include "lib/support/context.h"
#include "lib/support/integer.h"
#include "lib/support/scalar.h"
#include "passes/passes.h"
#include "runtime/launch/kernel.h"
#include "runtime/launch/tuned.h"
#include "runtime/model/choose.h"
#include "runtime/model/plan_launch.h"
#include "runtime/model/space.h"

const tile_binding *tile_keep_bindings(tile_kernel *kernel, const tile_binding *bindings,
                                       unsigned count) {
    tile_binding *kept = TILE_NEW_ARRAY(&kernel->arena, tile_binding, count + 1u);
    for (unsigned i = 0; i < count; i++) {
        const char *name = bindings[i].name, *value = bindings[i].value;
        kept[i].name = tile_arena_string(&kernel->arena, name, strlen(name));
        kept[i].value = tile_arena_string(&kernel->arena, value, strlen(value));
    }
    return kept;
}

void tile_destroy_point(tile_device *device, kernel_point *point) {
    tile_plan_destroy(point->plan);
    for (unsigned i = 0; i < TILE_MAX_VARIANTS; i++)
        if (point->variants[i]) tile_destroy_variant(device, point->variants[i]);
    free(point);
}

static bool point_equals(const kernel_point *point, const tile_binding *bindings, unsigned count) {
    if (point->binding_count != count) return false;
    for (unsigned i = 0; i < count; i++)
        if (strcmp(point->bindings[i].name, bindings[i].name) != 0 ||
            strcmp(point->bindings[i].value, bindings[i].value) != 0)
            return false;
    return true;
}

/* Makes a plan of several launches, or one kernel's first variant. */
static tile_status make_point(tile_kernel *kernel, kernel_point *point) {
    tile_module *module = tile_module_clone(kernel->module);
    tile_variant *variant;
    tile_status status = tile_instantiate_for(module, kernel->name, point->bindings,
                                              point->binding_count, kernel->device->target);
    if (status != TILE_OK) {
        tile_module_destroy(module);
        return status;
    }
    const tile_function *f = tile_module_find(module, kernel->name);
    tile_describe_point(kernel, point, f);
    return tile_becomes_plan(f)
               ? tile_plan_create(kernel->device, module, kernel->name, &point->plan)
               : tile_add_variant(kernel, point, 0, module, &variant);
}

static tile_status add_point(tile_kernel *kernel, const tile_binding *bindings, unsigned count,
                             kernel_point **out) {
    for (*out = kernel->points; *out; *out = (*out)->next)
        if (point_equals(*out, bindings, count)) return TILE_OK;
    kernel_point *point = tile_malloc(sizeof *point);
    *point = (kernel_point){.next = kernel->points, .bindings = bindings, .binding_count = count};
    tile_status status = make_point(kernel, point);
    if (status != TILE_OK) {
        tile_destroy_point(kernel->device, point);
        return status;
    }
    point->bindings =
        tile_keep_bindings(kernel, bindings, count); /* only now known to be complete */
    kernel->points = *out = point;
    return TILE_OK;
}

tile_status tile_take_first(tile_kernel *kernel, kernel_point **first) {
    *first = atomic_load_explicit(&kernel->first, memory_order_acquire);
    if (*first) return TILE_OK;
    tile_context_lock(kernel->device->context);
    tile_status status = add_point(kernel, kernel->bindings, kernel->binding_count, first);
    if (status == TILE_OK) atomic_store_explicit(&kernel->first, *first, memory_order_release);
    tile_context_unlock(kernel->device->context);
    return status;
}

static bool is_constant(const tile_kernel *kernel, unsigned arg) {
    return tile_arg_set_has(&kernel->constants, arg);
}

/* The point of these bindings and of the values of the arguments that are constants. Call it under
 * the context's lock. */
static tile_status add_special_point(tile_kernel *kernel, const tile_argument *arguments,
                                     const tile_binding *bindings, unsigned count,
                                     kernel_point **out) {
    if (tile_arg_set_is_empty(&kernel->constants)) return add_point(kernel, bindings, count, out);
    tile_arena arena = {0};
    tile_binding *all = TILE_NEW_ARRAY(&arena, tile_binding, count + TILE_MAX_ARGUMENTS);
    for (unsigned i = 0; i < count; i++) all[i] = bindings[i];
    for (unsigned i = 0; i < tile_abi_arg_count(kernel->head); i++) {
        if (!is_constant(kernel, i)) continue;
        all[count].name = tile_arena_format(&arena, "%%%s", tile_abi_arg_at(kernel->head, i)->name);
        all[count++].value = tile_arena_format(&arena, "%" PRId64, arguments[i].integer);
    }
    tile_status status = add_point(kernel, all, count, out);
    tile_arena_reset(&arena);
    return status;
}

/* The key: the arguments' bucket or their exact sizes; constants are never rounded. Returns its
 * hash. */
static unsigned make_key(const tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                         bool exact, int64_t key[TILE_MAX_ARGUMENTS]) {
    uint64_t hash = exact;
    for (unsigned i = 0; i < count; i++) {
        const tile_type *type = tile_abi_arg_at(kernel->head, i)->type;
        bool counts = type->kind == TILE_TYPE_SCALAR && !tile_scalar_is_floating(type->scalar);
        bool as_it_is = is_constant(kernel, i) || (counts && exact);
        key[i] = as_it_is                              ? arguments[i].integer
                 : counts && kernel->has_bucket_points ? tile_bucket(arguments[i].integer)
                                                       : 0;
        hash = (hash ^ (uint64_t)key[i]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return (unsigned)(hash >> (64 - TILE_BUCKET_HEAD_BITS));
}

static kernel_bucket *find_bucket(tile_kernel *kernel, const tile_argument *arguments,
                                  unsigned count, bool exact) {
    int64_t key[TILE_MAX_ARGUMENTS];
    unsigned head = make_key(kernel, arguments, count, exact, key);
    kernel_bucket *bucket = atomic_load_explicit(&kernel->buckets[head], memory_order_acquire);
    while (bucket &&
           (bucket->is_exact != exact || memcmp(bucket->key, key, sizeof *key * count) != 0))
        bucket = bucket->next;
    return bucket;
}

/* The bucket of these arguments, in this order: what was set for it, the tuned point of their exact
 * sizes, the point of the bucket. NULL: unknown. */
static kernel_bucket *find_either(tile_kernel *kernel, const tile_argument *arguments,
                                  unsigned count) {
    kernel_bucket *bucket = find_bucket(kernel, arguments, count, false), *exact = NULL;
    if (bucket && bucket->is_set) return bucket;
    if (atomic_load_explicit(&kernel->has_exact, memory_order_acquire))
        exact = find_bucket(kernel, arguments, count, true);
    return exact ? exact : bucket;
}

/* Adds a bucket without a point before the others of its key. Call it under the context's lock. */
static kernel_bucket *add_bucket(tile_kernel *kernel, const tile_argument *arguments,
                                 unsigned count, kernel_bucket new_one) {
    kernel_bucket *bucket = tile_malloc(sizeof *bucket + sizeof *bucket->key * count);
    *bucket = new_one;
    unsigned head = make_key(kernel, arguments, count, bucket->is_exact, bucket->key);
    bucket->next = atomic_load_explicit(&kernel->buckets[head], memory_order_relaxed);
    atomic_store_explicit(&kernel->buckets[head], bucket, memory_order_release);
    if (bucket->is_exact) atomic_store_explicit(&kernel->has_exact, true, memory_order_release);
    return bucket;
}

/* The model needs the clock of a GPU. On a CPU device all points are equal. */
static bool has_model(const tile_kernel *kernel) {
    return kernel->has_open_tune && kernel->device->clock;
}

/* Only kernels without bindings have tuned points. */
static bool is_tuned(const tile_kernel *kernel) {
    return kernel->has_bucket_points && !kernel->binding_count;
}

bool tile_kernel_looks_up(const tile_kernel *kernel) {
    const tile_device *device = kernel->device;
    return has_model(kernel) || (is_tuned(kernel) && (device->cache || device->tuned));
}

kernel_point *tile_find_point(tile_kernel *kernel, const tile_argument *arguments, unsigned count) {
    bool constants = !tile_arg_set_is_empty(&kernel->constants);
    if (!kernel->has_bucket_points && !constants) return kernel->first;
    const kernel_bucket *bucket = find_either(kernel, arguments, count);
    if (bucket) return atomic_load_explicit(&bucket->point, memory_order_acquire);
    return constants || kernel->needs_sizes || tile_kernel_looks_up(kernel) ? NULL : kernel->first;
}

/* Compiles the point of a bucket and then adds the bucket. */
static tile_status attach_bucket(tile_kernel *kernel, const tile_argument *arguments,
                                 unsigned count, const tile_binding *bindings,
                                 unsigned binding_count, bool is_set) {
    kernel_point *point;
    tile_status status = add_special_point(kernel, arguments, bindings, binding_count, &point);
    if (status == TILE_OK)
        add_bucket(kernel, arguments, count, (kernel_bucket){.point = point, .is_set = is_set});
    return status;
}

tile_status tile_set_bucket(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                            const tile_binding *bindings, unsigned binding_count) {
    return attach_bucket(kernel, arguments, count, bindings, binding_count, true);
}

/* Tuned points --------------------------------------------------------------------------------- */

typedef struct listing {
    tile_kernel *kernel;
    const tile_argument *arguments; /* of the launch */
    unsigned count;
} listing;

/* The newest point applies to the bucket; each point applies to its exact sizes. */
static void add_tuned(const tile_point_key *key, const tile_tuned_point *tuned, void *user) {
    const listing *l = user;
    tile_kernel *kernel = l->kernel;
    tile_argument measured[TILE_MAX_ARGUMENTS];
    int64_t sizes[TILE_MAX_ARGUMENTS] = {0};
    kernel_bucket bucket = {.point = NULL};
    bucket.bindings = tile_read_bindings(tuned->bindings, &kernel->arena, &bucket.binding_count);
    /* A point without bindings is valid only without `tune`: the kernel was faster unsplit. */
    if (!bucket.bindings || (!bucket.binding_count && kernel->has_open_tune)) return;
    if (!find_bucket(kernel, l->arguments, l->count, false))
        add_bucket(kernel, l->arguments, l->count, bucket);
    const tile_function *f = tile_module_find(kernel->module, kernel->name);
    if (!tile_read_sizes(f, key->sizes, sizes)) return;
    for (unsigned i = 0; i < l->count; i++) measured[i] = (tile_argument){.integer = sizes[i]};
    bucket.is_exact = true;
    if (!find_bucket(kernel, measured, l->count, true))
        add_bucket(kernel, measured, l->count, bucket);
}

/* Adds the tuned points of the arguments' bucket. Call it under the context's lock. */
static void list_tuned(tile_kernel *kernel, const tile_argument *arguments, unsigned count) {
    int64_t integers[TILE_MAX_ARGUMENTS];
    listing l = {kernel, arguments, count};
    for (unsigned i = 0; i < count; i++) integers[i] = arguments[i].integer;
    const tile_function *f = tile_module_find(kernel->module, kernel->name);
    if (is_tuned(kernel)) tile_list_tuned(kernel->device, f, integers, add_tuned, &l);
}

/* What is chosen ------------------------------------------------------------------------------- */

static void pass_remarks(const tile_diagnostic *d, void *user) {
    const tile_diversion *to = user;
    if (to->sink && (d->severity == TILE_WARNING || d->severity == TILE_REMARK))
        to->sink(d, to->user);
}

/* Sets the bucket's point to the one that the model predicts to be fastest, or, if that one does
 * not compile, to the fastest one that fits the target. Returns TILE_UNAVAILABLE without an error
 * if there is none. Call it under the context's lock. */
static tile_status add_chosen(tile_kernel *kernel, const tile_argument *arguments, unsigned count) {
    tile_arena arena = {0};
    unsigned bound = 0;
    int64_t sizes[TILE_MAX_ARGUMENTS];
    tile_context *context = kernel->device->context;
    tile_diversion to;
    if (!has_model(kernel)) return TILE_UNAVAILABLE;
    for (unsigned i = 0; i < count; i++) sizes[i] = arguments[i].integer;
    to = tile_context_divert(context, pass_remarks, &to);
    const tile_binding *bindings =
        tune_choose_point(kernel->device, kernel->module, kernel->name, kernel->bindings,
                          kernel->binding_count, sizes, &arena, &bound);
    tile_status status = TILE_UNAVAILABLE;
    if (bindings) status = attach_bucket(kernel, arguments, count, bindings, bound, false);
    if (bindings && status != TILE_OK) {
        bindings = tune_choose_fitting_point(kernel->device, kernel->module, kernel->name,
                                             kernel->bindings, kernel->binding_count, sizes, &arena,
                                             &bound);
        if (bindings) status = attach_bucket(kernel, arguments, count, bindings, bound, false);
    }
    if (status != TILE_OK) status = TILE_UNAVAILABLE;
    tile_context_restore(&to);
    tile_arena_reset(&arena);
    return status;
}

/* Searches the exact sizes for a point that allows them. */
typedef struct exact_search {
    tile_kernel *kernel;
    const tile_argument *arguments;
    unsigned count;
    const tile_binding *first; /* of the first such point; NULL: there is none */
    unsigned first_count;
    kernel_point *found; /* the first one that compiles */
} exact_search;

static bool try_exact(const tile_bound_params *point, void *user) {
    exact_search *s = user;
    tile_kernel *kernel = s->kernel;
    const char *why;
    unsigned bound;
    for (size_t i = 0; i < point->f->where_count; i++)
        if (!tile_where_holds(point, i)) return true;
    if (!tune_plan_allows(point, kernel->device->num_sms, &kernel->arena, &why)) return true;
    const tile_binding *bindings =
        tune_name_point(point, kernel->bindings, kernel->binding_count, &kernel->arena, &bound);
    if (!s->first) s->first = bindings, s->first_count = bound;
    return add_special_point(kernel, s->arguments, bindings, bound, &s->found) != TILE_OK;
}

/* If only a kernel in a loop does not allow any point, the launch reports which one. */
static tile_status refuse_sizes(const tile_kernel *kernel, const tile_argument *arguments,
                                unsigned count) {
    const kernel_point *point = tile_find_point((tile_kernel *)(uintptr_t)kernel, arguments, count);
    return point && tile_own_wheres_hold(point, arguments) ? TILE_OK
                                                           : tile_refuse_sizes(kernel, arguments);
}

/* The point of the arguments' bucket does not allow their exact sizes: takes the first point that
 * does. Call it under the context's lock. */
static tile_status add_allowed(tile_kernel *kernel, const tile_argument *arguments,
                               unsigned count) {
    tile_arena arena = {0};
    int64_t sizes[TILE_MAX_ARGUMENTS];
    const tile_function *f = tile_module_find(kernel->module, kernel->name);
    exact_search s = {.kernel = kernel, .arguments = arguments, .count = count};
    tile_diversion to;
    for (unsigned i = 0; i < count; i++) sizes[i] = arguments[i].integer;
    to = tile_context_divert(kernel->device->context, pass_remarks, &to);
    const tile_pass_option *given =
        tune_make_options(kernel->bindings, kernel->binding_count, &arena);
    tile_visit_all_points(f, given, kernel->binding_count, sizes, &arena, try_exact, &s);
    tile_context_restore(&to);
    tile_arena_reset(&arena);
    if (!s.first) return refuse_sizes(kernel, arguments, count);
    tile_status status =
        s.found ? TILE_OK /* else reports why the first one does not compile */
                : add_special_point(kernel, arguments, s.first, s.first_count, &s.found);
    if (status == TILE_OK)
        add_bucket(kernel, arguments, count, (kernel_bucket){.point = s.found, .is_exact = true});
    return status;
}

/* A search for the first point of these sizes that compiles. */
typedef struct sized_search {
    tile_kernel *kernel;
    const tile_argument *arguments;
    unsigned count, tried;
    bool any;                      /* there is such a point, or all other sizes use it too */
    const tile_bound_param *first; /* the point that all other sizes use */
    tile_status status;
} sized_search;

static bool keep_first(const tile_bound_params *point, void *user) {
    *(const tile_bound_param **)user = point->params;
    return false;
}

static bool same_values(const tile_function *f, const tile_bound_param *a,
                        const tile_bound_param *b) {
    for (size_t i = 0; i < f->param_count; i++)
        if (a[i].value != b[i].value) return false;
    return true;
}

static bool try_sized(const tile_bound_params *point, void *user) {
    enum { MAX_TRIALS = 64 };
    sized_search *s = user;
    tile_kernel *kernel = s->kernel;
    unsigned bound;
    s->any = true;
    if (s->first && same_values(point->f, point->params, s->first)) return false;
    const tile_binding *bindings =
        tune_name_point(point, kernel->bindings, kernel->binding_count, &kernel->arena, &bound);
    s->status = attach_bucket(kernel, s->arguments, s->count, bindings, bound, false);
    return s->status != TILE_OK && ++s->tried < MAX_TRIALS;
}

/* If the set of points depends on sizes, sets the bucket's point to the first one that exists for
 * its sizes. If there is none, takes one that exists for the exact sizes. Returns TILE_UNAVAILABLE
 * if all other sizes use this point too, if no point compiles, or if no point has the bound values.
 * Call it under the context's lock. */
static tile_status add_sized(tile_kernel *kernel, const tile_argument *arguments, unsigned count) {
    tile_arena arena = {0};
    int64_t sizes[TILE_MAX_ARGUMENTS];
    const tile_function *f = tile_module_find(kernel->module, kernel->name);
    sized_search s = {
        .kernel = kernel, .arguments = arguments, .count = count, .status = TILE_UNAVAILABLE};
    tile_diversion to;
    if (!kernel->needs_sizes) return TILE_UNAVAILABLE;
    for (unsigned i = 0; i < count; i++) sizes[i] = arguments[i].integer;
    to = tile_context_divert(kernel->device->context, pass_remarks, &to);
    const tile_pass_option *given =
        tune_make_options(kernel->bindings, kernel->binding_count, &arena);
    tile_visit_points(f, given, kernel->binding_count, NULL, &arena, keep_first, &s.first);
    tile_visit_points(f, given, kernel->binding_count, sizes, &arena, try_sized, &s);
    tile_context_restore(&to);
    tile_arena_reset(&arena);
    if (s.first && !s.any) return add_allowed(kernel, arguments, count);
    return s.status == TILE_OK ? TILE_OK : TILE_UNAVAILABLE;
}

/* Finds the point of arguments whose bucket is unknown. Call it under the context's lock. */
static tile_status visit_bucket(tile_kernel *kernel, const tile_argument *arguments,
                                unsigned count) {
    kernel_bucket *bucket = find_either(kernel, arguments, count);
    kernel_point *point;
    if (!bucket) {
        list_tuned(kernel, arguments, count);
        bucket = find_either(kernel, arguments, count);
    }
    if (bucket && bucket->point) return TILE_OK; /* another thread added it */
    /* A tuned point that no longer compiles has been reported and is ignored. */
    bool compiles = bucket && add_special_point(kernel, arguments, bucket->bindings,
                                                bucket->binding_count, &point) == TILE_OK;
    if (compiles) {
        atomic_store_explicit(&bucket->point, point, memory_order_release);
        return TILE_OK;
    }
    tile_status status = add_chosen(kernel, arguments, count);
    if (status == TILE_UNAVAILABLE) status = add_sized(kernel, arguments, count);
    if (status == TILE_UNAVAILABLE)
        status =
            attach_bucket(kernel, arguments, count, kernel->bindings, kernel->binding_count, false);
    const kernel_bucket *whole = find_bucket(kernel, arguments, count, false);
    if (status == TILE_OK && bucket && whole) /* the exact sizes use the bucket's new point, too */
        atomic_store_explicit(&bucket->point, whole->point, memory_order_release);
    return status;
}

static tile_status refuse_point(const tile_kernel *kernel, const kernel_point *point,
                                const tile_argument *arguments) {
    return tile_own_wheres_hold(point, arguments) ? TILE_OK
                                                  : tile_refuse_point(kernel, point, arguments);
}

tile_status tile_visit_bucket(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                              void *stream, kernel_point **out) {
    const kernel_bucket *bucket = find_either(kernel, arguments, count);
    *out = tile_find_point(kernel, arguments, count);
    if (*out && (!kernel->has_open_tune || (bucket && bucket->is_set)))
        return refuse_point(kernel, *out, arguments);
    tile_status status = tile_refuse_capture(kernel->device, kernel->name, stream);
    if (status != TILE_OK) return status;
    tile_context_lock(kernel->device->context);
    status = visit_bucket(kernel, arguments, count);
    *out = tile_find_point(kernel, arguments, count);
    if (status == TILE_OK && !tile_point_allows(*out, arguments)) {
        status = kernel->has_open_tune ? add_allowed(kernel, arguments, count)
                                       : refuse_point(kernel, *out, arguments);
        *out = tile_find_point(kernel, arguments, count);
    }
    tile_context_unlock(kernel->device->context);
    return status;
}

tile_arg_set tile_find_constants(const tile_function *f, const tile_binding *bindings,
                                 unsigned binding_count) {
    tile_arg_set constants = {{0}};
    for (unsigned i = 0; i < f->arg_count && i < TILE_MAX_ARGUMENTS; i++) {
        bool open = f->args[i].is_const && !f->args[i].known;
        for (unsigned b = 0; b < binding_count && open; b++) {
            const char *name = bindings[b].name;
            open = tile_function_find_param(f, name, strlen(name)) ||
                   strcmp(name + (*name == '%'), f->args[i].name) != 0;
        }
        if (open) tile_arg_set_add(&constants, i);
    }
    return constants;
}
