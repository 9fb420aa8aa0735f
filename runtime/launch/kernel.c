/* What all devices share when they launch kernels: grids, scratch sizes, tables. */
#include "runtime/launch/kernel.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/ir/function.h"
#include "lib/ir/remark.h"
#include "lib/ir/syntax.h"
#include "lib/launch/data.h"
#include "lib/support/context.h"
#include "lib/tuning/space.h"
#include "passes/passes.h"
#include "runtime/device/arguments.h"
#include "runtime/device/map.h"
#include "runtime/device/measure.h"
#include "runtime/device/table.h"
#include "runtime/launch/tuned.h"
#include "runtime/model/choose.h"

static const tile_loc no_location = {0, 0, 0};

/* Kernels ------------------------------------------------------------------------------------- */

/* Finds errors in the bindings before anything is compiled. */
static tile_status set_bindings(tile_kernel *kernel, const tile_binding *bindings, unsigned count) {
    tile_module *bound = tile_module_clone(kernel->module);
    tile_status status = tile_instantiate(bound, kernel->name, bindings, count);
    if (status == TILE_OK) {
        const tile_function *function = tile_module_find(kernel->module, kernel->name);
        kernel->bindings = tile_keep_bindings(kernel, bindings, count);
        kernel->binding_count = count;
        kernel->constants = tile_find_constants(function, bindings, count);
        kernel->head = tile_arguments_create(bound, kernel->name);
        if (!kernel->head) status = TILE_INVALID;
    }
    tile_module_destroy(bound);
    return status;
}

/* Returns whether bindings of parameters alone leave `tune` parameters open. */
static bool has_choice(const tile_function *f, const tile_binding *bindings, unsigned count) {
    unsigned open = 0;
    for (size_t i = 0; i < f->param_count; i++) open += tile_is_tuned(f, f->params[i].name);
    for (unsigned i = 0; i < count; i++) {
        if (!tile_function_find_param(f, bindings[i].name, strlen(bindings[i].name))) return false;
        open -= tile_is_tuned(f, bindings[i].name);
    }
    return open > 0;
}

/* Schedules a compute. The resulting kernel or plan replaces the compute in the kernel's module. */
static tile_status schedule(tile_kernel *kernel, tile_binding *bindings, unsigned *count) {
    const char *name;
    tile_status status =
        tile_schedule(kernel->module, kernel->name, kernel->device->target, bindings, count, &name);
    if (status == TILE_OK) kernel->name = tile_arena_string(&kernel->arena, name, strlen(name));
    return status;
}

static tile_status open_kernel(tile_kernel *kernel, const tile_function *function,
                               const tile_binding *bindings, unsigned binding_count) {
    kernel_point *first;
    tile_device *device = kernel->device;
    tile_status status = TILE_OK;
    if (function->kind == TILE_FUNC) {
        tile_report(device->context, TILE_ERROR, no_location,
                    "@%s is a func and cannot be launched: launch a kernel that calls it",
                    function->name);
        return TILE_INVALID;
    }
    if (tile_function_get_kind(function) == TILE_COMPUTE) {
        if (!tile_bindings_are_complete(device->context, bindings, binding_count))
            return TILE_INVALID;
        tile_binding *left = TILE_NEW_ARRAY(&kernel->arena, tile_binding, binding_count + 1u);
        for (unsigned i = 0; i < binding_count; i++) left[i] = bindings[i];
        status = schedule(kernel, left, &binding_count);
        if (status != TILE_OK) return status;
        bindings = left;
        function = tile_module_find(kernel->module, kernel->name);
    }
    status = set_bindings(kernel, bindings, binding_count);
    kernel->has_open_tune = status == TILE_OK && has_choice(function, bindings, binding_count);
    kernel->needs_sizes = kernel->has_open_tune && tile_needs_sizes(function);
    kernel->has_bucket_points = kernel->has_open_tune || (status == TILE_OK && !binding_count &&
                                                          tile_has_tuned_split(device, function));
    if (status != TILE_OK || tile_kernel_looks_up(kernel)) return status;
    status = tile_take_first(kernel, &first);
    if (status == TILE_UNSUPPORTED && binding_count && !device->store) /* not while tuning */
        tile_note_fitting_point(kernel->module, kernel->name, bindings, binding_count,
                                device->target);
    return status;
}

tile_status tile_kernel_create(tile_device *device, const tile_module *module, const char *name,
                               const tile_binding *bindings, unsigned binding_count,
                               tile_kernel **out) {
    TILE_GUARD(device ? device->context : NULL, TILE_OUT_OF_MEMORY)
    *out = NULL;
    if (!device) return TILE_INVALID;
    const tile_function *function = tile_module_find(module, name);
    if (!function) {
        tile_report(device->context, TILE_ERROR, no_location,
                    "there is no kernel @%s, nor such a plan or compute", name ? name : "");
        return TILE_INVALID;
    }
    if (tile_module_context(module) != device->context) {
        tile_report(device->context, TILE_ERROR, no_location,
                    "@%s belongs to a module of another context than device %s", name,
                    device->name);
        return TILE_INVALID;
    }
    tile_kernel *kernel = tile_malloc(sizeof *kernel);
    *kernel = (tile_kernel){.device = device, .module = tile_module_clone(module)};
    kernel->name = tile_arena_string(&kernel->arena, name, strlen(name));
    tile_function *own = tile_module_find(kernel->module, name);
    tile_status status =
        tile_resolve_tuning(own, device->target, bindings, bindings ? binding_count : 0);
    if (status == TILE_OK) status = tile_plan_take_points(own);
    if (status == TILE_OK) status = open_kernel(kernel, own, bindings, binding_count);
    if (status == TILE_OK)
        *out = kernel;
    else
        tile_kernel_destroy(kernel);
    return status;
}

void tile_kernel_destroy(tile_kernel *kernel) {
    if (!kernel) return;
    for (kernel_point *point = kernel->points, *next; point; point = next) {
        next = point->next;
        tile_destroy_point(kernel->device, point);
    }
    tile_abi_destroy(kernel->head);
    tile_module_destroy(kernel->module);
    for (unsigned i = 0; i < 1 << TILE_BUCKET_HEAD_BITS; i++)
        for (kernel_bucket *bucket = kernel->buckets[i], *next; bucket; bucket = next) {
            next = bucket->next;
            free(bucket);
        }
    tile_arena_reset(&kernel->arena);
    free(kernel);
}

/* The first point; NULL after a diagnostic if it does not compile. The kernel is logically const:
 * what a query needs is made on the first query. */
static const kernel_point *first_of(const tile_kernel *kernel) {
    kernel_point *first = NULL;
    if (kernel) tile_take_first((tile_kernel *)(uintptr_t)kernel, &first);
    return first;
}

const tile_abi *tile_kernel_abi(const tile_kernel *kernel) {
    const kernel_point *first = first_of(kernel);
    return first && !first->plan ? tile_first_variant(first)->abi : NULL;
}

const tile_blob *tile_kernel_ptx(const tile_kernel *kernel) {
    static const tile_blob none = {NULL, 0};
    const kernel_point *first = first_of(kernel);
    if (!first) return kernel ? &none : NULL;
    return first->plan ? &none : &tile_first_variant(first)->ptx;
}

tile_status tile_kernel_get_attributes(tile_kernel *kernel, tile_kernel_attributes *attributes) {
    TILE_GUARD(kernel ? kernel->device->context : NULL, TILE_OUT_OF_MEMORY)
    kernel_point *first;
    if (!kernel) return TILE_INVALID;
    tile_status status = tile_take_first(kernel, &first);
    if (status != TILE_OK) return status;
    if (kernel->device->ops->attributes && !first->plan)
        return kernel->device->ops->attributes(kernel->device, tile_first_variant(first),
                                               attributes);
    if (first->plan)
        tile_report(kernel->device->context, TILE_ERROR, no_location,
                    "@%s is a plan: its kernels have attributes", kernel->name);
    else
        tile_report(kernel->device->context, TILE_ERROR, no_location,
                    "device %s has no kernel attributes", kernel->device->name);
    return TILE_UNSUPPORTED;
}

/* Launches ------------------------------------------------------------------------------------ */

static tile_status check_count(const tile_kernel *kernel, const tile_argument *arguments,
                               unsigned count) {
    if (!kernel) return TILE_INVALID;
    const tile_abi *abi = kernel->head;
    if (count != tile_abi_arg_count(abi) || count > TILE_MAX_ARGUMENTS) {
        tile_report(kernel->device->context, TILE_ERROR, no_location,
                    "@%s takes %u arguments (at most %d), not %u", kernel->name,
                    tile_abi_arg_count(abi), TILE_MAX_ARGUMENTS, count);
        return TILE_INVALID;
    }
    if (count && !arguments) {
        tile_report(kernel->device->context, TILE_ERROR, no_location, "@%s: no arguments are given",
                    kernel->name);
        return TILE_INVALID;
    }
    return TILE_OK;
}

/* A grid with an extent of 0 has no blocks: there is nothing to launch. */
static bool is_empty(const tile_launch *launch) {
    return !launch->grid[0] || !launch->grid[1] || !launch->grid[2];
}

/* The point of these arguments. It is compiled if no launch has used their bucket, unless the
 * stream is being captured. */
static tile_status take_point(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                              void *stream, kernel_point **point) {
    int64_t numbers[TILE_MAX_ARGUMENTS];
    tile_status status = check_count(kernel, arguments, count);
    if (status != TILE_OK) return status;
    *point = tile_find_point(kernel, arguments, count);
    if (*point && tile_point_allows(*point, arguments)) return TILE_OK;
    status = tile_check_arguments(kernel->device, kernel->name, kernel->head, arguments, numbers);
    return status == TILE_OK ? tile_visit_bucket(kernel, arguments, count, stream, point) : status;
}

/* Reported once: from then on the next variant exists. */
static void report_fallback(const tile_kernel *kernel, const kernel_point *point, unsigned next,
                            const char *why) {
    char text[200];
    const tile_abi *abi = tile_first_variant(point)->abi;
    if (next >= tile_abi_variant_count(abi) || tile_find_variant(point, next)) return;
    snprintf(text, sizeof text, "a tensor map cannot be encoded for these arguments: it needs %s",
             why);
    tile_missed_at(tile_module_find(kernel->module, kernel->name), TILE_NO_OP, "no TMA", NULL, "%s",
                   text);
}

/* Finds the first variant, from `next` on, whose conditions hold and whose tensor maps can be
 * encoded. */
static tile_status take_variant(tile_kernel *kernel, kernel_point *point, const int64_t *numbers,
                                unsigned next, tile_launch *launch) {
    const tile_abi *abi = tile_first_variant(point)->abi;
    const char *why;
    unsigned end = next < abi->flat_from ? abi->flat_from : abi->variant_count;
    do {
        why = NULL;
        tile_status status =
            tile_take_variant(kernel, point, numbers, next, launch->stream, &launch->variant);
        if (status == TILE_OK) status = tile_take_maps(kernel->device, numbers, launch, &why);
        if (status != TILE_UNAVAILABLE || !why) return status;
        next = tile_abi_variant(launch->variant->abi) + 1;
        report_fallback(kernel, point, next, why);
    } while (next < end &&
             tile_abi_pick_variant_from(abi, next, numbers) < tile_abi_variant_count(abi));
    tile_report(kernel->device->context, TILE_ERROR, no_location,
                "@%s: a tensor map cannot be encoded for these arguments: it needs %s",
                kernel->name, why);
    return TILE_UNSUPPORTED;
}

/* Finds the variant and its grid. If the grid exceeds the limits of a launch, it finds a variant
 * with a flat grid. */
static tile_status take_grid(tile_kernel *kernel, kernel_point *point, const int64_t *numbers,
                             const tile_launch_facts *facts, tile_launch *launch) {
    const tile_abi *abi = tile_first_variant(point)->abi;
    tile_status status = take_variant(kernel, point, numbers, 0, launch);
    if (status == TILE_OK)
        status = tile_abi_find_grid(launch->variant->abi, numbers, facts, launch->grid);
    if (status != TILE_OK || tile_abi_grid_fits(launch->grid)) return status;
    unsigned next = tile_abi_variant(launch->variant->abi);
    if (next < abi->flat_from && abi->flat_from < abi->variant_count) {
        status = take_variant(kernel, point, numbers, abi->flat_from, launch);
        if (status == TILE_OK)
            status = tile_abi_find_grid(launch->variant->abi, numbers, facts, launch->grid);
    }
    return status == TILE_OK ? tile_abi_check_grid(launch->variant->abi, launch->grid) : status;
}

/* Compiles missing variants of a point without a plan, unless the stream is being captured. */
static tile_status resolve(tile_kernel *kernel, kernel_point *point, const tile_argument *arguments,
                           unsigned count, void *stream, tile_launch *launch) {
    int64_t numbers[TILE_MAX_ARGUMENTS];
    const tile_abi *abi = tile_first_variant(point)->abi;
    const tile_launch_facts facts = {.size = sizeof facts, .num_sms = kernel->device->num_sms};
    tile_status status =
        tile_check_arguments(kernel->device, kernel->name, abi, arguments, numbers);
    *launch = (tile_launch){.arguments = arguments,
                            .argument_count = count,
                            .num_sms = facts.num_sms,
                            .stream = stream};
    if (status == TILE_OK) status = take_grid(kernel, point, numbers, &facts, launch);
    if (status == TILE_OK)
        status = tile_abi_scratch(launch->variant->abi, numbers, &facts, &launch->clean_bytes,
                                  &launch->plain_bytes);
    if (status == TILE_OK && !is_empty(launch))
        status = tile_take_tables(kernel->device, numbers, launch);
    return status;
}

/* Checks that all blocks of the launch can run at the same time. */
static tile_status find_room(tile_device *device, const tile_launch *launch,
                             tile_step_launch *step) {
    int blocks = 0;
    if (!device->ops->residency) return TILE_OK; /* the launch itself will fail */
    tile_status status = device->ops->residency(device, launch->variant, &blocks);
    const int64_t *cluster = launch->variant->abi->cluster;
    int64_t together = cluster[0] * cluster[1] * cluster[2];
    step->room = (int64_t)blocks * device->num_sms / together * together;
    if (status == TILE_OK && together > 1 && device->ops->clusters) {
        int clusters = 0;
        status = device->ops->clusters(device, launch->variant, &clusters);
        step->room = clusters * together;
    }
    step->refused =
        status == TILE_OK && launch->grid[0] > step->room / launch->grid[1] / launch->grid[2];
    return status;
}

tile_status tile_kernel_take_step(tile_kernel *kernel, const tile_argument *arguments,
                                  unsigned count, tile_step_launch *step, tile_step_mode mode) {
    tile_launch launch;
    kernel_point *point;
    const tile_device_ops *ops = kernel->device->ops;
    tile_status status = take_point(kernel, arguments, count, step->stream, &point);
    if (status != TILE_OK) return status;
    assert(!point->plan && "the kernels of a plan have one step each");
    status = resolve(kernel, point, arguments, count, step->stream, &launch);
    step->launched = status == TILE_OK && !is_empty(&launch);
    if (!step->launched) return status;
    launch.resident = step->resident;
    if (step->resident) status = find_room(kernel->device, &launch, step);
    if (status != TILE_OK || step->refused) return status;
    launch.overlaps = step->overlaps;
    launch.overlapped = step->overlapped;
    switch (mode) {
    case TILE_STEP_CHECK: return status;
    case TILE_STEP_PREPARE: return ops->reserve ? ops->reserve(kernel->device, &launch) : status;
    case TILE_STEP_RUN: break;
    }
    status = tile_device_launch(kernel->device, &launch);
    step->refused = step->resident && status == TILE_UNAVAILABLE;
    return step->refused ? TILE_OK : status;
}

tile_status tile_kernel_launch(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                               void *stream) {
    TILE_GUARD(kernel ? kernel->device->context : NULL, TILE_OUT_OF_MEMORY)
    tile_launch launch;
    kernel_point *point;
    tile_status status = take_point(kernel, arguments, count, stream, &point);
    if (status != TILE_OK) return status;
    if (point->plan) return tile_plan_run(point->plan, arguments, stream, false);
    status = resolve(kernel, point, arguments, count, stream, &launch);
    if (status != TILE_OK || is_empty(&launch)) return status;
    return tile_device_launch(kernel->device, &launch);
}

tile_status tile_kernel_prepare(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                                void *stream) {
    TILE_GUARD(kernel ? kernel->device->context : NULL, TILE_OUT_OF_MEMORY)
    tile_launch launch;
    kernel_point *point;
    tile_status status = take_point(kernel, arguments, count, stream, &point);
    if (status != TILE_OK) return status;
    if (point->plan) return tile_plan_run(point->plan, arguments, stream, true);
    status = resolve(kernel, point, arguments, count, stream, &launch);
    if (status != TILE_OK || is_empty(&launch) || !kernel->device->ops->reserve) return status;
    return kernel->device->ops->reserve(kernel->device, &launch);
}

tile_status tile_kernel_variant(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                                const tile_abi **abi) {
    TILE_GUARD(kernel ? kernel->device->context : NULL, TILE_OUT_OF_MEMORY)
    tile_launch launch;
    kernel_point *point;
    *abi = NULL;
    tile_status status = take_point(kernel, arguments, count, NULL, &point);
    if (status != TILE_OK) return status;
    if (point->plan) return TILE_OK;
    status = resolve(kernel, point, arguments, count, NULL, &launch);
    if (status == TILE_OK) *abi = launch.variant->abi;
    return status;
}

tile_status tile_kernel_point(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                              const tile_binding **bindings, unsigned *binding_count) {
    TILE_GUARD(kernel ? kernel->device->context : NULL, TILE_OUT_OF_MEMORY)
    kernel_point *point;
    *bindings = NULL;
    *binding_count = 0;
    tile_status status = take_point(kernel, arguments, count, NULL, &point);
    if (status != TILE_OK) return status;
    *bindings = point->params;
    *binding_count = point->param_count;
    return TILE_OK;
}

/* The bindings, plus those of the kernel's own bindings whose parameter they do not name. */
static const tile_binding *add_own(const tile_kernel *kernel, const tile_binding *bindings,
                                   unsigned *count, tile_arena *arena) {
    unsigned given = *count;
    tile_binding *all = TILE_NEW_ARRAY(arena, tile_binding, given + kernel->binding_count + 1u);
    for (unsigned i = 0; i < given; i++) all[i] = bindings[i];
    for (unsigned k = 0; k < kernel->binding_count; k++) {
        bool named = false;
        for (unsigned i = 0; i < given; i++)
            named |= strcmp(bindings[i].name, kernel->bindings[k].name) == 0;
        if (!named) all[(*count)++] = kernel->bindings[k];
    }
    return all;
}

tile_status tile_kernel_set_point(tile_kernel *kernel, const tile_argument *arguments,
                                  unsigned count, const tile_binding *bindings,
                                  unsigned binding_count) {
    TILE_GUARD(kernel ? kernel->device->context : NULL, TILE_OUT_OF_MEMORY)
    tile_status status = check_count(kernel, arguments, count);
    if (status != TILE_OK) return status;
    if (!kernel->has_bucket_points) {
        tile_report(kernel->device->context, TILE_ERROR, no_location,
                    "@%s has no other point: it has no 'tune', or all parameters that 'tune' names "
                    "are bound",
                    kernel->name);
        return TILE_INVALID;
    }
    if (!tile_bindings_are_complete(kernel->device->context, bindings, binding_count))
        return TILE_INVALID;
    tile_arena arena = {0};
    bindings = add_own(kernel, bindings, &binding_count, &arena);
    tile_context_lock(kernel->device->context);
    status = tile_set_bucket(kernel, arguments, count, bindings, binding_count);
    tile_context_unlock(kernel->device->context);
    tile_arena_reset(&arena);
    return status;
}

tile_status tile_kernel_rank_points(tile_kernel *kernel, const tile_argument *arguments,
                                    unsigned count, tile_rank_visit visit, void *user) {
    TILE_GUARD(kernel ? kernel->device->context : NULL, TILE_OUT_OF_MEMORY)
    int64_t sizes[TILE_MAX_ARGUMENTS] = {0};
    tile_status status = check_count(kernel, arguments, count);
    if (status != TILE_OK || !visit) return TILE_INVALID;
    if (!kernel->has_open_tune) return TILE_OK;
    for (unsigned i = 0; i < count; i++) sizes[i] = arguments[i].integer;
    tile_context_lock(kernel->device->context);
    tune_rank_points(kernel->device, kernel->module, kernel->name, kernel->bindings,
                     kernel->binding_count, sizes, visit, user);
    tile_context_unlock(kernel->device->context);
    return TILE_OK;
}

/* Times --------------------------------------------------------------------------------------- */

typedef struct timed_launch {
    tile_device *device;
    tile_launch launch;
} timed_launch;

static tile_status launch_timed(void *user) {
    timed_launch *timed = user;
    return tile_device_launch(timed->device, &timed->launch);
}

static tile_status measure_kernel(tile_kernel *kernel, kernel_point *point,
                                  const tile_argument *arguments, unsigned count, void *stream,
                                  const tile_measure_options *options, tile_measurement *out) {
    tile_device *device = kernel->device;
    timed_launch launch = {.device = device};
    const tile_timed timed = {.launch = launch_timed, .user = &launch, .stream = stream};
    tile_status status = resolve(kernel, point, arguments, count, stream, &launch.launch);
    if (status != TILE_OK || is_empty(&launch.launch)) return status;
    if (device->ops->reserve) status = device->ops->reserve(device, &launch.launch);
    return status == TILE_OK ? tile_measure_timed(device, &timed, 1, options, out) : status;
}

tile_status tile_measure(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                         void *stream, const tile_measure_options *options, tile_measurement *out) {
    TILE_GUARD(kernel ? kernel->device->context : NULL, TILE_OUT_OF_MEMORY)
    tile_measure_options taken;
    kernel_point *point;
    *out = (tile_measurement){0};
    if (!kernel) return TILE_INVALID;
    tile_status status = tile_take_measure_options(kernel->device->context, options, &taken);
    if (status != TILE_OK) return status;
    status = take_point(kernel, arguments, count, stream, &point);
    if (status != TILE_OK) return status;
    return point->plan ? tile_plan_measure(point->plan, arguments, stream, &taken, out)
                       : measure_kernel(kernel, point, arguments, count, stream, &taken, out);
}

tile_status tile_kernel_time(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                             unsigned warmup, unsigned repeats, bool flush_l2,
                             double *milliseconds) {
    TILE_GUARD(kernel ? kernel->device->context : NULL, TILE_OUT_OF_MEMORY)
    const tile_measure_options options = {.size = sizeof options,
                                          .warmup = warmup,
                                          .repeats = repeats,
                                          .flush = flush_l2 ? TILE_FLUSH_DIRTY : TILE_FLUSH_NONE};
    tile_measurement taken;
    tile_status status = tile_measure(kernel, arguments, count, NULL, &options, &taken);
    *milliseconds = 1e3 * taken.median;
    return status;
}
