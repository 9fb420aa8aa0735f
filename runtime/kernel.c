/* What all devices have in common when kernels are launched: variants, argument checks, launches.
 */
#include "runtime/plan.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/codegen/abi_data.h"
#include "lib/codegen/legal.h"
#include "lib/ir/function.h"
#include "lib/ir/scalar.h"
#include "lib/ir/syntax.h"
#include "lib/support/context.h"
#include "lib/support/integer.h"
#include "passes/common/bind_params.h"
#include "runtime/table.h"
#include "runtime/tuned.h"

/* A kernel with its parameters bound. Points and variants are only ever added, under the context's
 * lock, and published when they are whole: launches find them without a lock. */
typedef struct kernel_point {
    struct kernel_point *next; /* older */
    const tile_binding *bindings;
    unsigned binding_count;
    tile_plan *plan;                                   /* of a plan, which has no variants */
    tile_variant *_Atomic variants[TILE_MAX_VARIANTS]; /* as the abi numbers them; NULL: not
                                                          compiled yet, which the first one is */
} kernel_point;

/* Which point the arguments of a bucket take. */
typedef struct kernel_bucket {
    struct kernel_bucket *next; /* older: the newest one of a key holds */
    kernel_point *point;
    int64_t key[];
} kernel_bucket;

enum { BUCKET_HEADS = 64 };

struct tile_kernel {
    tile_device *device;
    tile_module *module; /* not instantiated: variants are cloned from it */
    const char *name;
    tile_arena arena;
    bool is_plan; /* its name is a plan's */
    bool picks;   /* made without bindings: each launch takes the point of its bucket */
    kernel_point *points;
    uint64_t constants; /* a set of arguments: {const}, and no binding says their values. Each
                           launch takes the point that was made for its values */
    kernel_point
        *first; /* of the given bindings; without: what takes every bucket without its own */
    kernel_bucket *_Atomic buckets[BUCKET_HEADS];
};

static const tile_loc no_place = {0, 0, 0};

/* Variants ------------------------------------------------------------------------------------ */

static void destroy_variant(tile_device *device, tile_variant *variant) {
    if (variant->code) device->ops->discard(device, variant);
    tile_artifact_destroy(variant->artifact);
    tile_module_destroy(variant->module);
    free(variant);
}

/* tile_artifact_build. Without an assembler the driver takes the PTX: it keeps what it makes of it
 * on disk by itself, and its linker, which would give us the cubin, makes slower code of it. */
static tile_status build(const tile_kernel *kernel, tile_module *module, unsigned variant,
                         tile_artifact **artifact) {
    const tile_device *device = kernel->device;
    bool keeps_cubin = device->cache && device->ptxas;
    const tile_build_options options = {.size = sizeof options,
                                        .target = device->target,
                                        .wants = keeps_cubin ? TILE_WANT_CUBIN : device->ops->wants,
                                        .level = device->level,
                                        .variant = variant,
                                        .no_remarks = kernel->first != NULL, /* they were made */
                                        .ptxas = device->ptxas,
                                        .cache = device->cache};
    return tile_artifact_build(module, kernel->name, &options, artifact);
}

/* Brings variant->module to the level that the device wants, and makes what else it wants. */
static tile_status build_variant(tile_kernel *kernel, const kernel_point *point,
                                 tile_variant *variant, unsigned index) {
    tile_status status =
        tile_instantiate(variant->module, kernel->name, point->bindings, point->binding_count);
    if (status == TILE_OK) status = build(kernel, variant->module, index, &variant->artifact);
    if (status != TILE_OK) return status;
    const tile_artifact_kernel *made = tile_artifact_kernel_at(variant->artifact, 0);
    variant->function = tile_module_find(variant->module, kernel->name);
    variant->abi = made->abi;
    variant->ptx = made->ptx;
    variant->cubin = made->cubin;
    return TILE_OK;
}

/* Whether code for the device's target could be made of what runs; at level 2 a copy is lowered to
 * see. */
static tile_status check_target(const tile_kernel *kernel, const tile_variant *variant) {
    const tile_device *device = kernel->device;
    const tile_pass_options passes = {
        .size = sizeof passes, .target = device->target, .kernel = kernel->name};
    unsigned ptx_version;
    if (!device->is_faithful) return TILE_OK;
    tile_module *copy = tile_module_clone(variant->module);
    tile_status status = TILE_OK;
    if (tile_function_level(variant->function) < 3)
        status = tile_run_passes(copy, "lower-tiles", &passes);
    if (status == TILE_OK)
        status =
            tile_emit_check(tile_module_find(copy, kernel->name), device->target, &ptx_version);
    tile_module_destroy(copy);
    return status;
}

/* Under the context's lock. */
static tile_status add_variant(tile_kernel *kernel, kernel_point *point, unsigned index,
                               tile_variant **out) {
    tile_variant *variant = tile_malloc(sizeof *variant);
    *variant = (tile_variant){.module = tile_module_clone(kernel->module)};
    tile_status status = build_variant(kernel, point, variant, index);
    if (status == TILE_OK) status = check_target(kernel, variant);
    if (status == TILE_OK) status = kernel->device->ops->prepare(kernel->device, variant);
    if (status != TILE_OK) {
        destroy_variant(kernel->device, variant);
        return status;
    }
    atomic_store_explicit(&point->variants[index], variant, memory_order_release);
    *out = variant;
    return TILE_OK;
}

static tile_variant *find_variant(const kernel_point *point, unsigned index) {
    return atomic_load_explicit(&point->variants[index], memory_order_acquire);
}

static tile_variant *first_variant(const kernel_point *point) {
    return find_variant(point, 0);
}

/* No variant is for these arguments: the last one says why. */
static tile_status refuse_conditions(const tile_kernel *kernel, const tile_abi *abi,
                                     const int64_t *numbers) {
    unsigned last = tile_abi_variant_count(abi) - 1, i = 0;
    const tile_condition *condition;
    while ((condition = tile_abi_condition_at(abi, last, i)) &&
           tile_condition_holds(condition, numbers[condition->arg]))
        i++;
    if (!condition) return TILE_INVALID;
    const tile_abi_arg *arg = tile_abi_arg_at(abi, condition->arg);
    switch (condition->kind) {
    case TILE_CONDITION_divisible:
        tile_report(kernel->device->context, TILE_ERROR, no_place,
                    "@%s: argument %%%s must be divisible by %" PRId64
                    "%s: the kernel is at level 3 and relies on it",
                    kernel->name, arg->name, condition->value,
                    tile_type_is_address(arg->type) ? " (its address, in bytes)" : "");
        break;
    case TILE_CONDITION_value:
        tile_report(kernel->device->context, TILE_ERROR, no_place,
                    "@%s: argument %%%s must be %" PRId64 ", for which the kernel was made",
                    kernel->name, arg->name, condition->value);
        break;
    }
    return TILE_INVALID;
}

/* The variant for these arguments (numbers: as tile_abi_pick_variant takes them): the first whose
 * conditions hold. */
static tile_status take_variant(tile_kernel *kernel, kernel_point *point, const int64_t *numbers,
                                void *stream, tile_variant **out) {
    const tile_abi *abi = first_variant(point)->abi;
    unsigned index = tile_abi_pick_variant(abi, numbers);
    if (index == tile_abi_variant_count(abi)) return refuse_conditions(kernel, abi, numbers);
    if ((*out = find_variant(point, index))) return TILE_OK;
    tile_status status = tile_refuse_capture(kernel->device, kernel->name, stream);
    if (status != TILE_OK) return status;
    tile_context_lock(kernel->device->context);
    *out = find_variant(point, index); /* another thread may have been here */
    status = *out ? TILE_OK : add_variant(kernel, point, index, out);
    tile_context_unlock(kernel->device->context);
    return status;
}

/* Points -------------------------------------------------------------------------------------- */

static const tile_binding *keep_bindings(tile_kernel *kernel, const tile_binding *bindings,
                                         unsigned count) {
    tile_binding *kept = TILE_NEW_ARRAY(&kernel->arena, tile_binding, count + 1u);
    for (unsigned i = 0; i < count; i++) {
        const char *name = bindings[i].name, *value = bindings[i].value;
        kept[i].name = tile_arena_string(&kernel->arena, name, strlen(name));
        kept[i].value = tile_arena_string(&kernel->arena, value, strlen(value));
    }
    return kept;
}

static void destroy_point(tile_device *device, kernel_point *point) {
    tile_plan_destroy(point->plan);
    for (unsigned i = 0; i < TILE_MAX_VARIANTS; i++)
        if (point->variants[i]) destroy_variant(device, point->variants[i]);
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

/* Under the context's lock. The point of these bindings, with the variant that assumes what the
 * kernel declares. */
static tile_status add_point(tile_kernel *kernel, const tile_binding *bindings, unsigned count,
                             kernel_point **out) {
    for (*out = kernel->points; *out; *out = (*out)->next)
        if (point_equals(*out, bindings, count)) return TILE_OK;
    kernel_point *point = tile_malloc(sizeof *point);
    *point = (kernel_point){.next = kernel->points, .bindings = bindings, .binding_count = count};
    tile_variant *variant;
    tile_status status = kernel->is_plan
                             ? tile_plan_create(kernel->device, kernel->module, kernel->name,
                                                bindings, count, &point->plan)
                             : add_variant(kernel, point, 0, &variant);
    if (status != TILE_OK) {
        destroy_point(kernel->device, point);
        return status;
    }
    point->bindings = keep_bindings(kernel, bindings, count); /* known to be complete only now */
    kernel->points = *out = point;
    return TILE_OK;
}

/* What is known of the arguments, at any point. */
static const tile_abi *arguments_of(const tile_kernel *kernel) {
    return kernel->is_plan ? tile_plan_head(kernel->first->plan)
                           : first_variant(kernel->first)->abi;
}

/* Far from the driver's limit, 4 KB of parameters, and more than kernels have. */
enum { MAX_ARGUMENTS = 64 };

static bool is_constant(const tile_kernel *kernel, unsigned arg) {
    return kernel->constants >> arg & 1;
}

/* The point of these bindings and the values of the constants among the arguments. Under the
 * context's lock. */
static tile_status add_special_point(tile_kernel *kernel, const tile_argument *arguments,
                                     const tile_binding *bindings, unsigned count,
                                     kernel_point **out) {
    const tile_abi *abi = arguments_of(kernel);
    if (!kernel->constants) return add_point(kernel, bindings, count, out);
    if (!tile_bindings_are_complete(kernel->device->context, bindings, count)) return TILE_INVALID;
    tile_arena arena = {0};
    tile_binding *all = TILE_NEW_ARRAY(&arena, tile_binding, count + MAX_ARGUMENTS);
    for (unsigned i = 0; i < count; i++) all[i] = bindings[i];
    for (unsigned i = 0; i < MAX_ARGUMENTS; i++) {
        if (!is_constant(kernel, i)) continue;
        all[count].name = tile_arena_format(&arena, "%%%s", tile_abi_arg_at(abi, i)->name);
        all[count++].value = tile_arena_format(&arena, "%" PRId64, arguments[i].integer);
    }
    tile_status status = add_point(kernel, all, count, out);
    tile_arena_reset(&arena);
    return status;
}

/* The arguments' bucket as key, constants as they are; returns its hash. */
static unsigned make_key(const tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                         int64_t key[MAX_ARGUMENTS]) {
    const tile_abi *abi = arguments_of(kernel);
    uint64_t hash = 0;
    for (unsigned i = 0; i < count; i++) {
        const tile_type *type = tile_abi_arg_at(abi, i)->type;
        bool counts = type->kind == TILE_TYPE_SCALAR && !tile_scalar_is_floating(type->scalar);
        key[i] = is_constant(kernel, i)    ? arguments[i].integer
                 : counts && kernel->picks ? tile_bucket(arguments[i].integer)
                                           : 0;
        hash = (hash ^ (uint64_t)key[i]) * UINT64_C(0x9e3779b97f4a7c15);
    }
    return (unsigned)(hash >> 58);
}

/* Whether buckets have points that nobody has set: those of constants, and tuned ones. */
static bool has_hidden_points(const tile_kernel *kernel) {
    return kernel->constants || (kernel->picks && kernel->device->cache);
}

/* NULL if no launch has been in this bucket, and it may have a point of its own. */
static kernel_point *find_point(tile_kernel *kernel, const tile_argument *arguments,
                                unsigned count) {
    int64_t key[MAX_ARGUMENTS];
    if (!kernel->picks && !kernel->constants) return kernel->first;
    unsigned head = make_key(kernel, arguments, count, key);
    kernel_bucket *bucket = atomic_load_explicit(&kernel->buckets[head], memory_order_acquire);
    while (bucket && memcmp(bucket->key, key, sizeof *key * count) != 0) bucket = bucket->next;
    return bucket ? bucket->point : has_hidden_points(kernel) ? NULL : kernel->first;
}

/* From now on launches in the bucket of these arguments take the point of these bindings. Under the
 * context's lock. */
static tile_status add_bucket(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                              const tile_binding *bindings, unsigned binding_count) {
    kernel_bucket *bucket = tile_malloc(sizeof *bucket + sizeof *bucket->key * MAX_ARGUMENTS);
    unsigned head = make_key(kernel, arguments, count, bucket->key);
    tile_status status =
        add_special_point(kernel, arguments, bindings, binding_count, &bucket->point);
    bucket->next = kernel->buckets[head];
    if (status == TILE_OK)
        atomic_store_explicit(&kernel->buckets[head], bucket, memory_order_release);
    else
        free(bucket);
    return status;
}

/* "m=96 n=4096": integers in the order of the arguments. */
static const char *bucket_text(const tile_kernel *kernel, const tile_argument *arguments,
                               unsigned count, tile_arena *arena) {
    const tile_abi *abi = arguments_of(kernel);
    int64_t key[MAX_ARGUMENTS];
    const char *text = "";
    make_key(kernel, arguments, count, key);
    for (unsigned i = 0; i < count; i++) {
        const tile_abi_arg *arg = tile_abi_arg_at(abi, i);
        if (arg->type->kind == TILE_TYPE_SCALAR && !tile_scalar_is_floating(arg->type->scalar))
            text = tile_arena_format(arena, "%s%s%s=%" PRId64, text, *text ? " " : "", arg->name,
                                     key[i]);
    }
    return text;
}

/* Gives the bucket the point that the device's cache has for it; TILE_UNAVAILABLE without a report
 * if it has none. One that does not compile any more has been reported, and is none. Under the
 * context's lock. */
static tile_status add_tuned(tile_kernel *kernel, const tile_argument *arguments, unsigned count) {
    tile_arena arena = {0};
    unsigned bound = 0;
    tile_binding *bindings = NULL;
    if (kernel->picks)
        bindings = tile_find_tuned(kernel->device, tile_module_find(kernel->module, kernel->name),
                                   bucket_text(kernel, arguments, count, &arena), &arena, &bound);
    tile_status status = TILE_UNAVAILABLE;
    if (bindings && add_bucket(kernel, arguments, count, bindings, bound) == TILE_OK)
        status = TILE_OK;
    tile_arena_reset(&arena);
    return status;
}

/* The point of a bucket that no launch has been in. */
static tile_status meet_bucket(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                               void *stream, kernel_point **out) {
    const kernel_point *first = kernel->first;
    tile_status status = tile_refuse_capture(kernel->device, kernel->name, stream);
    if (status != TILE_OK) return status;
    tile_context_lock(kernel->device->context);
    if (!find_point(kernel, arguments, count)) { /* another thread may have been here */
        status = add_tuned(kernel, arguments, count);
        if (status == TILE_UNAVAILABLE)
            status = add_bucket(kernel, arguments, count, first->bindings, first->binding_count);
    }
    *out = find_point(kernel, arguments, count);
    tile_context_unlock(kernel->device->context);
    return status;
}

/* Kernels ------------------------------------------------------------------------------------- */

/* The bindings have been found to be right. */
static uint64_t find_constants(const tile_function *f, const tile_binding *bindings,
                               unsigned binding_count) {
    uint64_t constants = 0;
    for (unsigned i = 0; i < f->arg_count && i < MAX_ARGUMENTS; i++) {
        bool open = f->args[i].is_const && !f->args[i].known;
        for (unsigned b = 0; b < binding_count && open; b++) {
            const char *name = bindings[b].name;
            open = tile_function_find_param(f, name, strlen(name)) ||
                   strcmp(name + (*name == '%'), f->args[i].name) != 0;
        }
        constants |= (uint64_t)open << i;
    }
    return constants;
}

tile_status tile_kernel_create(tile_device *device, const tile_module *module, const char *name,
                               const tile_binding *bindings, unsigned binding_count,
                               tile_kernel **out) {
    *out = NULL;
    if (!device) return TILE_INVALID;
    const tile_function *function = tile_module_find(module, name);
    if (!function || tile_function_get_kind(function) == TILE_COMPUTE) {
        tile_report(device->context, TILE_ERROR, no_place,
                    "there is no kernel @%s, nor such a plan", name ? name : "");
        return TILE_INVALID;
    }
    if (tile_module_context(module) != device->context) {
        tile_report(device->context, TILE_ERROR, no_place,
                    "@%s belongs to a module of another context than device %s", name,
                    device->name);
        return TILE_INVALID;
    }
    tile_kernel *kernel = tile_malloc(sizeof *kernel);
    *kernel = (tile_kernel){.device = device,
                            .module = tile_module_clone(module),
                            .is_plan = tile_function_get_kind(function) == TILE_PLAN};
    kernel->name = tile_arena_string(&kernel->arena, name, strlen(name));
    kernel->picks = !binding_count && function->tune_count;
    tile_context_lock(device->context);
    tile_status status = add_point(kernel, bindings, binding_count, &kernel->first);
    tile_context_unlock(device->context);
    if (status == TILE_OK)
        *out = kernel;
    else
        tile_kernel_destroy(kernel);
    if (status == TILE_OK) kernel->constants = find_constants(function, bindings, binding_count);
    return status;
}

void tile_kernel_destroy(tile_kernel *kernel) {
    if (!kernel) return;
    for (kernel_point *point = kernel->points, *next; point; point = next) {
        next = point->next;
        destroy_point(kernel->device, point);
    }
    tile_module_destroy(kernel->module);
    for (unsigned i = 0; i < BUCKET_HEADS; i++)
        for (kernel_bucket *bucket = kernel->buckets[i], *next; bucket; bucket = next) {
            next = bucket->next;
            free(bucket);
        }
    tile_arena_reset(&kernel->arena);
    free(kernel);
}

const tile_abi *tile_kernel_abi(const tile_kernel *kernel) {
    return kernel && !kernel->is_plan ? first_variant(kernel->first)->abi : NULL;
}

const tile_blob *tile_kernel_ptx(const tile_kernel *kernel) {
    static const tile_blob none = {NULL, 0};
    if (kernel && kernel->is_plan) return &none;
    return kernel ? &first_variant(kernel->first)->ptx : NULL;
}

tile_status tile_kernel_get_attributes(tile_kernel *kernel, tile_kernel_attributes *attributes) {
    if (!kernel) return TILE_INVALID;
    if (kernel->device->ops->attributes && !kernel->is_plan)
        return kernel->device->ops->attributes(kernel->device, first_variant(kernel->first),
                                               attributes);
    if (kernel->is_plan)
        tile_report(kernel->device->context, TILE_ERROR, no_place,
                    "@%s is a plan: its kernels have attributes", kernel->name);
    else
        tile_report(kernel->device->context, TILE_ERROR, no_place,
                    "device %s has no kernel attributes", kernel->device->name);
    return TILE_UNSUPPORTED;
}

/* Launches ------------------------------------------------------------------------------------ */

static tile_status refuse_argument(const tile_kernel *kernel, const char *name, const char *why) {
    tile_report(kernel->device->context, TILE_ERROR, no_place, "@%s: argument %%%s %s",
                kernel->name, name, why);
    return TILE_INVALID;
}

static tile_status check_argument(const tile_kernel *kernel, const tile_abi_arg *arg,
                                  const tile_argument *argument) {
    if (!tile_type_is_address(arg->type)) {
        if (argument->buffer)
            return refuse_argument(kernel, arg->name, "is a scalar, not a buffer");
        return tile_integer_fits(arg->type->scalar, argument->integer)
                   ? TILE_OK
                   : refuse_argument(kernel, arg->name, "does not fit its type");
    }
    if (!argument->buffer)
        return refuse_argument(kernel, arg->name,
                               arg->type->kind == TILE_TYPE_VIEW
                                   ? "is a view and needs a buffer"
                                   : "is a pointer and needs a buffer");
    if (argument->buffer->device != kernel->device)
        return refuse_argument(kernel, arg->name, "is a buffer of another device");
    if (argument->offset > argument->buffer->bytes)
        return refuse_argument(kernel, arg->name, "begins past the end of its buffer");
    if ((argument->buffer->address + argument->offset) % tile_scalar_bytes(arg->type->scalar))
        return refuse_argument(kernel, arg->name, "is not aligned to its element type");
    return TILE_OK;
}

/* Whether the buffer holds what the view reaches. */
static tile_status check_view(const tile_kernel *kernel, const tile_abi *abi, unsigned index,
                              const int64_t *integers, const tile_argument *argument) {
    const tile_buffer *buffer = argument->buffer;
    int64_t before, behind;
    tile_status status = tile_abi_view_bytes(abi, index, integers, &before, &behind);
    if (status != TILE_OK) return status;
    if ((uint64_t)before <= argument->offset &&
        (uint64_t)behind <= buffer->bytes - argument->offset)
        return TILE_OK;
    bool low = (uint64_t)before > argument->offset;
    tile_report(kernel->device->context, TILE_ERROR, no_place,
                "@%s: the view %%%s reaches %" PRId64 " bytes %s the offset %zu of its buffer, "
                "where there are %zu: %s",
                kernel->name, tile_abi_arg_at(abi, index)->name, low ? before : behind,
                low ? "before" : "from", argument->offset,
                low ? argument->offset : buffer->bytes - argument->offset,
                low ? "give a larger offset, or other extents or strides"
                    : "give a larger buffer, or other extents or strides");
    return TILE_INVALID;
}

static tile_status check_count(const tile_kernel *kernel, const tile_argument *arguments,
                               unsigned count) {
    if (!kernel) return TILE_INVALID;
    const tile_abi *abi = arguments_of(kernel);
    if (count != tile_abi_arg_count(abi) || count > MAX_ARGUMENTS) {
        tile_report(kernel->device->context, TILE_ERROR, no_place,
                    "@%s takes %u arguments (at most %d), not %u", kernel->name,
                    tile_abi_arg_count(abi), MAX_ARGUMENTS, count);
        return TILE_INVALID;
    }
    if (count && !arguments) {
        tile_report(kernel->device->context, TILE_ERROR, no_place, "@%s: no arguments are given",
                    kernel->name);
        return TILE_INVALID;
    }
    return TILE_OK;
}

/* What conditions and host expressions read: an address or an integer. */
static int64_t number_of(const tile_argument *argument) {
    if (!argument->buffer) return argument->integer;
    return (int64_t)(argument->buffer->address + argument->offset);
}

/* A grid with an empty dim has no blocks: nothing is to be done. */
static bool is_empty(const tile_launch *launch) {
    return !launch->grid[0] || !launch->grid[1] || !launch->grid[2];
}

/* Compiles what is missing, but not while the stream is being captured. */
static tile_status resolve(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                           void *stream, tile_launch *launch) {
    int64_t numbers[MAX_ARGUMENTS];
    tile_status status = check_count(kernel, arguments, count);
    if (status != TILE_OK) return status;
    kernel_point *point = find_point(kernel, arguments, count);
    const tile_abi *abi = first_variant(point ? point : kernel->first)->abi;
    const tile_launch_facts facts = {.size = sizeof facts, .num_sms = kernel->device->num_sms};
    for (unsigned i = 0; i < count && status == TILE_OK; i++) {
        status = check_argument(kernel, tile_abi_arg_at(abi, i), &arguments[i]);
        numbers[i] = number_of(&arguments[i]);
        if (status == TILE_OK && tile_abi_arg_at(abi, i)->type->kind == TILE_TYPE_VIEW)
            status = check_view(kernel, abi, i, numbers, &arguments[i]);
    }
    *launch = (tile_launch){.arguments = arguments,
                            .argument_count = count,
                            .num_sms = facts.num_sms,
                            .stream = stream};
    if (status == TILE_OK && !point) status = meet_bucket(kernel, arguments, count, stream, &point);
    if (status == TILE_OK) status = take_variant(kernel, point, numbers, stream, &launch->variant);
    if (status == TILE_OK)
        status = tile_abi_grid(launch->variant->abi, numbers, &facts, launch->grid);
    if (status == TILE_OK)
        status = tile_abi_scratch(launch->variant->abi, numbers, &facts, &launch->clean_bytes,
                                  &launch->plain_bytes);
    if (status == TILE_OK && !is_empty(launch))
        status = tile_take_tables(kernel->device, numbers, launch);
    return status;
}

tile_status tile_kernel_take_step(tile_kernel *kernel, const tile_argument *arguments,
                                  unsigned count, tile_step_launch *step, tile_step_mode mode) {
    tile_launch launch;
    const tile_device_ops *ops = kernel->device->ops;
    tile_status status = resolve(kernel, arguments, count, step->stream, &launch);
    step->launched = status == TILE_OK && !is_empty(&launch);
    if (!step->launched) return status;
    launch.overlaps = step->overlaps;
    launch.overlapped = step->overlapped;
    switch (mode) {
    case TILE_STEP_CHECK: return status;
    case TILE_STEP_PREPARE: return ops->reserve ? ops->reserve(kernel->device, &launch) : status;
    case TILE_STEP_RUN: return ops->launch(kernel->device, &launch);
    }
    return status;
}

/* The plan that these arguments take. */
static tile_status take_plan(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                             void *stream, tile_plan **plan) {
    tile_status status = check_count(kernel, arguments, count);
    if (status != TILE_OK) return status;
    kernel_point *point = find_point(kernel, arguments, count);
    if (!point) status = meet_bucket(kernel, arguments, count, stream, &point);
    if (status == TILE_OK) *plan = point->plan;
    return status;
}

static tile_status run_plan(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                            void *stream, bool prepare) {
    tile_plan *plan;
    tile_status status = take_plan(kernel, arguments, count, stream, &plan);
    return status == TILE_OK ? tile_plan_run(plan, arguments, stream, prepare) : status;
}

tile_status tile_kernel_launch(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                               void *stream) {
    tile_launch launch;
    if (kernel && kernel->is_plan) return run_plan(kernel, arguments, count, stream, false);
    tile_status status = resolve(kernel, arguments, count, stream, &launch);
    if (status != TILE_OK || is_empty(&launch)) return status;
    return kernel->device->ops->launch(kernel->device, &launch);
}

tile_status tile_kernel_prepare(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                                void *stream) {
    tile_launch launch;
    if (kernel && kernel->is_plan) return run_plan(kernel, arguments, count, stream, true);
    tile_status status = resolve(kernel, arguments, count, stream, &launch);
    if (status != TILE_OK || is_empty(&launch) || !kernel->device->ops->reserve) return status;
    return kernel->device->ops->reserve(kernel->device, &launch);
}

tile_status tile_kernel_variant(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                                const tile_abi **abi) {
    tile_launch launch;
    *abi = NULL;
    if (kernel && kernel->is_plan) {
        tile_report(kernel->device->context, TILE_ERROR, no_place,
                    "@%s is a plan: its kernels have variants", kernel->name);
        return TILE_UNSUPPORTED;
    }
    tile_status status = resolve(kernel, arguments, count, NULL, &launch);
    if (status == TILE_OK) *abi = launch.variant->abi;
    return status;
}

tile_status tile_kernel_set_point(tile_kernel *kernel, const tile_argument *arguments,
                                  unsigned count, const tile_binding *bindings,
                                  unsigned binding_count) {
    tile_status status = check_count(kernel, arguments, count);
    if (status != TILE_OK) return status;
    if (!kernel->picks) {
        tile_report(kernel->device->context, TILE_ERROR, no_place,
                    "@%s was made with bindings, or has no 'tune', and has no other point",
                    kernel->name);
        return TILE_INVALID;
    }
    tile_context_lock(kernel->device->context);
    status = add_bucket(kernel, arguments, count, bindings, binding_count);
    tile_context_unlock(kernel->device->context);
    return status;
}

enum { MAX_REPEATS = 1000000 };

tile_status tile_kernel_time(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                             unsigned warmup, unsigned repeats, bool flush_l2,
                             double *milliseconds) {
    tile_launch launch;
    *milliseconds = 0;
    if (kernel && (warmup > MAX_REPEATS || repeats > MAX_REPEATS)) {
        tile_report(kernel->device->context, TILE_ERROR, no_place,
                    "%u launches to warm up and %u timed ones: at most %d each", warmup, repeats,
                    MAX_REPEATS);
        return TILE_INVALID;
    }
    tile_plan *plan;
    tile_status status;
    if (kernel && kernel->is_plan) {
        status = take_plan(kernel, arguments, count, NULL, &plan);
        return status == TILE_OK ? tile_plan_time(plan, arguments, warmup, repeats ? repeats : 1,
                                                  flush_l2, milliseconds)
                                 : status;
    }
    status = resolve(kernel, arguments, count, NULL, &launch);
    if (status != TILE_OK || is_empty(&launch)) return status;
    return kernel->device->ops->time(kernel->device, &launch, warmup, repeats ? repeats : 1,
                                     flush_l2, milliseconds);
}
