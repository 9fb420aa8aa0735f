/* Variants of a point: the kernel compiled under one set of conditions on its arguments. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/codegen/legal.h"
#include "lib/ir/function.h"
#include "lib/ir/remark.h"
#include "lib/launch/data.h"
#include "lib/support/context.h"
#include "passes/passes.h"
#include "runtime/compile/store.h"
#include "runtime/device/map.h"
#include "runtime/launch/kernel.h"

static const tile_loc no_location = {0, 0, 0};

void tile_destroy_variant(tile_device *device, tile_variant *variant) {
    if (variant->code) device->ops->discard(device, variant);
    tile_artifact_destroy(variant->artifact);
    tile_module_destroy(variant->module);
    tile_map_cache_destroy(variant->maps);
    free(variant);
}

/* Calls tile_artifact_build. Without an assembler the driver compiles the PTX. It has its own disk
 * cache, and its linker API, which would return the cubin, generates slower code. */
static tile_status build(const tile_kernel *kernel, tile_module *module, unsigned variant,
                         tile_artifact **artifact) {
    const tile_device *device = kernel->device;
    bool silent = kernel->points && !device->context->remarks;
    bool keeps_cubin = (device->cache || device->store) && device->ptxas;
    const tile_build_options options = {.size = sizeof options,
                                        .target = device->target,
                                        .wants = keeps_cubin ? TILE_WANT_CUBIN : device->ops->wants,
                                        .level = device->level,
                                        .pipeline = device->pipeline,
                                        .variant = variant,
                                        .no_remarks = silent, /* they were reported before */
                                        .ptxas = device->ptxas,
                                        /* Stamps name operations of this very function, so its code
                                         * is not cached. */
                                        .cache = device->stamps ? NULL : device->cache,
                                        .stamps = device->stamps};
    if (device->store)
        return tile_store_build(device->store, device->store_log, module, kernel->name, &options,
                                artifact);
    return tile_artifact_build(module, kernel->name, &options, artifact);
}

/* Lowers variant->module, which is instantiated, to the device's level, and makes the other parts
 * that the device needs. */
static tile_status build_variant(tile_kernel *kernel, tile_variant *variant, unsigned index) {
    tile_status status = build(kernel, variant->module, index, &variant->artifact);
    if (status != TILE_OK) return status;
    const tile_artifact_kernel *made = tile_artifact_kernel_at(variant->artifact, 0);
    variant->function = tile_module_find(variant->module, kernel->name);
    variant->abi = made->abi;
    variant->ptx = made->ptx;
    variant->cubin = made->cubin;
    variant->maps = tile_map_cache_create(variant->abi);
    return TILE_OK;
}

/* Checks that the variant could be compiled for the device's target. At level 2 a copy is lowered
 * for this. */
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
            tile_emit_check(tile_module_find(copy, kernel->name), device->target, 0, &ptx_version);
    tile_module_destroy(copy);
    return status;
}

tile_status tile_add_variant(tile_kernel *kernel, kernel_point *point, unsigned index,
                             tile_module *module, tile_variant **out) {
    tile_variant *variant = tile_malloc(sizeof *variant);
    *variant = (tile_variant){.module = module};
    tile_status status = build_variant(kernel, variant, index);
    if (status == TILE_OK) status = check_target(kernel, variant);
    if (status == TILE_OK) status = kernel->device->ops->prepare(kernel->device, variant);
    if (status != TILE_OK) {
        tile_destroy_variant(kernel->device, variant);
        return status;
    }
    atomic_store_explicit(&point->variants[index], variant, memory_order_release);
    *out = variant;
    return TILE_OK;
}

/* Reports which condition of the first variant a launch does not meet. */
static void report_condition(const tile_function *f, const tile_abi *abi,
                             const tile_condition *condition, const int64_t *numbers) {
    char why[200];
    const tile_abi_arg *arg = tile_abi_arg_at(abi, condition->arg);
    int64_t number = arg ? numbers[condition->arg] : 0;
    switch (condition->kind) {
    case TILE_CONDITION_divisible:
        if (tile_type_is_address(arg->type))
            snprintf(why, sizeof why,
                     "%%%s lies at a multiple of %" PRId64 " bytes, not of %" PRId64, arg->name,
                     number & -number, condition->value);
        else
            snprintf(why, sizeof why, "%%%s is %" PRId64 ", which is not a multiple of %" PRId64,
                     arg->name, number, condition->value);
        tile_missed_at(f, TILE_NO_OP, "narrow accesses",
                       "launch with such a multiple, for which there is other code", "%s", why);
        break;
    case TILE_CONDITION_tensor_map:
        snprintf(why, sizeof why, "a tensor map of %%%s needs %s", arg->name,
                 tile_abi_map_fault(abi, condition->arg, numbers));
        tile_missed_at(f, TILE_NO_OP, "no TMA",
                       "launch with such an array, for which there is other code", "%s", why);
        break;
    case TILE_CONDITION_value: break; /* the kernel is made for this value, and there is no other */
    case TILE_CONDITION_grid:
        snprintf(why, sizeof why,
                 "the grid has more than %" PRId64 " blocks along y or z, and is launched along x",
                 condition->value);
        tile_missed_at(f, TILE_NO_OP, "flat grid",
                       "write the largest extent first, or `persistent`", "%s", why);
        break;
    }
}

/* Reports why a launch uses a later variant. */
static void report_conditions(const tile_kernel *kernel, const tile_abi *abi,
                              const int64_t *numbers) {
    const tile_function *f = tile_module_find(kernel->module, kernel->name);
    const tile_condition *condition;
    for (unsigned i = 0; (condition = tile_abi_condition_at(abi, 0, i)); i++)
        if (!tile_condition_holds(abi, condition, numbers))
            report_condition(f, abi, condition, numbers);
}

/* Compiles a variant that is not the first. */
static tile_status add_later_variant(tile_kernel *kernel, kernel_point *point, unsigned index,
                                     const int64_t *numbers, tile_variant **out) {
    report_conditions(kernel, tile_first_variant(point)->abi, numbers);
    tile_module *module = tile_module_clone(kernel->module);
    const tile_diversion diversion = /* the point's remarks were already reported */
        tile_context_divert(kernel->device->context, NULL, NULL);
    tile_status status = tile_instantiate_for(module, kernel->name, point->bindings,
                                              point->binding_count, kernel->device->target);
    tile_context_restore(&diversion);
    if (status == TILE_OK) return tile_add_variant(kernel, point, index, module, out);
    tile_module_destroy(module);
    return status;
}

tile_variant *tile_find_variant(const kernel_point *point, unsigned index) {
    return atomic_load_explicit(&point->variants[index], memory_order_acquire);
}

tile_variant *tile_first_variant(const kernel_point *point) {
    return tile_find_variant(point, 0);
}

/* No variant accepts these arguments: reports why the last one does not. */
static tile_status refuse_conditions(const tile_kernel *kernel, const tile_abi *abi,
                                     const int64_t *numbers) {
    unsigned last = tile_abi_variant_count(abi) - 1, i = 0; /* no condition on the grid */
    const tile_condition *condition;
    while ((condition = tile_abi_condition_at(abi, last, i)) &&
           tile_condition_holds(abi, condition, numbers))
        i++;
    if (!condition) return TILE_INVALID;
    const tile_abi_arg *arg = tile_abi_arg_at(abi, condition->arg);
    switch (condition->kind) {
    case TILE_CONDITION_divisible:
        tile_report(kernel->device->context, TILE_ERROR, no_location,
                    "@%s: argument %%%s must be divisible by %" PRId64
                    "%s: the kernel is at level 3 and relies on it",
                    kernel->name, arg->name, condition->value,
                    tile_type_is_address(arg->type) ? " (its address, in bytes)" : "");
        break;
    case TILE_CONDITION_tensor_map:
        tile_report(kernel->device->context, TILE_ERROR, no_location,
                    "@%s: a tensor map cannot describe the array of argument %%%s: it needs an "
                    "address and strides that are multiples of 16 bytes, extents of at least 1 and "
                    "contiguous elements in a row; the kernel is at level 3 and relies on it",
                    kernel->name, arg->name);
        break;
    case TILE_CONDITION_value:
        tile_report(kernel->device->context, TILE_ERROR, no_location,
                    "@%s: argument %%%s must be %" PRId64 ", for which the kernel was compiled",
                    kernel->name, arg->name, condition->value);
        break;
    case TILE_CONDITION_grid: break;
    }
    return TILE_INVALID;
}

tile_status tile_take_variant(tile_kernel *kernel, kernel_point *point, const int64_t *numbers,
                              unsigned first, void *stream, tile_variant **out) {
    const tile_abi *abi = tile_first_variant(point)->abi;
    unsigned index = tile_abi_pick_variant_from(abi, first, numbers);
    if (index == tile_abi_variant_count(abi)) return refuse_conditions(kernel, abi, numbers);
    if ((*out = tile_find_variant(point, index))) return TILE_OK;
    tile_status status = tile_refuse_capture(kernel->device, kernel->name, stream);
    if (status != TILE_OK) return status;
    tile_context_lock(kernel->device->context);
    *out = tile_find_variant(point, index); /* another thread may have added it */
    status = *out ? TILE_OK : add_later_variant(kernel, point, index, numbers, out);
    tile_context_unlock(kernel->device->context);
    return status;
}
