/* What all devices have in common when kernels are launched: variants, argument checks, launches.
 */
#include "runtime/device.h"

#include <stdlib.h>
#include <string.h>

#include "lib/codegen/legal.h"
#include "lib/ir/scalar.h"
#include "lib/support/integer.h"

struct tile_kernel {
    tile_device *device;
    tile_module *module; /* not instantiated: variants are cloned from it */
    const char *name;
    tile_arena arena;
    const tile_binding *bindings;
    unsigned binding_count;
    bool as_written;        /* at level 3: there is one variant, which its author made */
    tile_variant *variants; /* the first one assumes what the kernel declares */
};

static const tile_loc no_place = {0, 0, 0};

/* Variants ------------------------------------------------------------------------------------ */

static void destroy_variant(tile_device *device, tile_variant *variant) {
    if (variant->code) device->ops->discard(device, variant);
    tile_artifact_destroy(variant->artifact);
    tile_module_destroy(variant->module);
    free(variant->divisors);
    free(variant);
}

/* Brings variant->module to the level that the device wants, and makes what else it wants. */
static tile_status build_variant(tile_kernel *kernel, tile_variant *variant,
                                 const uint64_t *divisors) {
    const tile_device *device = kernel->device;
    const tile_build_options build = {.size = sizeof build,
                                      .target = device->target,
                                      .wants = device->ops->wants,
                                      .level = device->level};
    tile_status status = tile_instantiate(variant->module, kernel->name, kernel->bindings,
                                          kernel->binding_count, divisors);
    if (status == TILE_OK)
        status = tile_artifact_build(variant->module, kernel->name, &build, &variant->artifact);
    if (status != TILE_OK) return status;
    const tile_artifact_kernel *made = tile_artifact_kernel_at(variant->artifact, 0);
    variant->function = tile_module_find(variant->module, kernel->name);
    variant->abi = made->abi;
    variant->ptx = made->ptx;
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

static tile_status add_variant(tile_kernel *kernel, const uint64_t *divisors, tile_variant **out) {
    tile_variant *variant = tile_malloc(sizeof *variant);
    *variant = (tile_variant){.module = tile_module_clone(kernel->module)};
    tile_status status = build_variant(kernel, variant, divisors);
    if (status == TILE_OK) status = check_target(kernel, variant);
    if (status == TILE_OK) status = kernel->device->ops->prepare(kernel->device, variant);
    if (status != TILE_OK) {
        destroy_variant(kernel->device, variant);
        return status;
    }
    unsigned count = tile_abi_arg_count(variant->abi);
    variant->divisors = tile_malloc(sizeof(uint64_t) * (count + 1u));
    for (unsigned i = 0; i < count; i++)
        variant->divisors[i] = tile_abi_arg_at(variant->abi, i)->divisible;
    tile_variant **end = &kernel->variants;
    while (*end) end = &(*end)->next;
    *end = variant;
    *out = variant;
    return TILE_OK;
}

/* Far from the driver's limit, 4 KB of parameters, and more than kernels have. */
enum { MAX_ARGUMENTS = 64 };

static bool variant_equals(const tile_variant *variant, const uint64_t *divisors, unsigned count) {
    for (unsigned i = 0; i < count; i++)
        if (variant->divisors[i] != divisors[i]) return false;
    return true;
}

/* What an argument's divisor is taken of: an address, or an integer without its sign. */
static uint64_t magnitude(const tile_abi_arg *arg, const tile_argument *argument) {
    if (arg->type->kind == TILE_TYPE_PTR) return argument->buffer->address + argument->offset;
    return argument->integer < 0 ? 0 - (uint64_t)argument->integer : (uint64_t)argument->integer;
}

/* What was lowered under an assumption cannot be lowered again without it. */
static tile_status refuse_variant(const tile_kernel *kernel, const tile_abi_arg *arg) {
    tile_report(kernel->device->context, TILE_ERROR, no_place,
                "@%s: argument %%%s must be divisible by %u%s: the kernel is at level 3 and relies "
                "on it",
                kernel->name, arg->name, arg->divisible,
                arg->type->kind == TILE_TYPE_PTR ? " (its address, in bytes)" : "");
    return TILE_INVALID;
}

/* The variant for these arguments: it assumes as much as they allow of what the kernel declares. */
static tile_status find_variant(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                                tile_variant **out) {
    const tile_abi *abi = kernel->variants->abi;
    uint64_t divisors[MAX_ARGUMENTS];
    for (unsigned i = 0; i < count; i++) {
        const tile_abi_arg *arg = tile_abi_arg_at(abi, i);
        divisors[i] = tile_gcd(arg->divisible, magnitude(arg, &arguments[i]));
        if (kernel->as_written && divisors[i] != arg->divisible) return refuse_variant(kernel, arg);
    }
    tile_variant *variant = kernel->variants;
    while (variant && !variant_equals(variant, divisors, count)) variant = variant->next;
    *out = variant;
    return variant ? TILE_OK : add_variant(kernel, divisors, out);
}

/* Kernels ------------------------------------------------------------------------------------- */

/* For later variants; the first one has shown that they are complete. */
static void keep_bindings(tile_kernel *kernel) {
    tile_binding *kept = TILE_NEW_ARRAY(&kernel->arena, tile_binding, kernel->binding_count + 1u);
    for (unsigned i = 0; i < kernel->binding_count; i++) {
        const char *name = kernel->bindings[i].name, *value = kernel->bindings[i].value;
        kept[i].name = tile_arena_string(&kernel->arena, name, strlen(name));
        kept[i].value = tile_arena_string(&kernel->arena, value, strlen(value));
    }
    kernel->bindings = kept;
}

tile_status tile_kernel_create(tile_device *device, const tile_module *module, const char *name,
                               const tile_binding *bindings, unsigned binding_count,
                               tile_kernel **out) {
    *out = NULL;
    if (!device) return TILE_INVALID;
    const tile_function *function = tile_module_find(module, name);
    if (!function || tile_function_get_kind(function) != TILE_KERNEL) {
        tile_report(device->context, TILE_ERROR, no_place, "there is no kernel @%s",
                    name ? name : "");
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
                            .as_written = tile_function_level(function) == 3};
    kernel->name = tile_arena_string(&kernel->arena, name, strlen(name));
    kernel->bindings = bindings;
    kernel->binding_count = binding_count;
    tile_variant *variant;
    tile_status status = add_variant(kernel, NULL, &variant);
    if (status != TILE_OK) {
        tile_kernel_destroy(kernel);
        return status;
    }
    keep_bindings(kernel);
    *out = kernel;
    return TILE_OK;
}

void tile_kernel_destroy(tile_kernel *kernel) {
    if (!kernel) return;
    for (tile_variant *variant = kernel->variants, *next; variant; variant = next) {
        next = variant->next;
        destroy_variant(kernel->device, variant);
    }
    tile_module_destroy(kernel->module);
    tile_arena_reset(&kernel->arena);
    free(kernel);
}

const tile_abi *tile_kernel_abi(const tile_kernel *kernel) {
    return kernel ? kernel->variants->abi : NULL;
}

const tile_blob *tile_kernel_ptx(const tile_kernel *kernel) {
    return kernel ? &kernel->variants->ptx : NULL;
}

tile_status tile_kernel_get_attributes(tile_kernel *kernel, tile_kernel_attributes *attributes) {
    if (!kernel) return TILE_INVALID;
    if (kernel->device->ops->attributes)
        return kernel->device->ops->attributes(kernel->device, kernel->variants, attributes);
    tile_report(kernel->device->context, TILE_ERROR, no_place, "device %s has no kernel attributes",
                kernel->device->name);
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
    if (arg->type->kind != TILE_TYPE_PTR) {
        if (argument->buffer)
            return refuse_argument(kernel, arg->name, "is a scalar, not a buffer");
        return tile_integer_fits(arg->type->scalar, argument->integer)
                   ? TILE_OK
                   : refuse_argument(kernel, arg->name, "does not fit its type");
    }
    if (!argument->buffer)
        return refuse_argument(kernel, arg->name, "is a pointer and needs a buffer");
    if (argument->buffer->device != kernel->device)
        return refuse_argument(kernel, arg->name, "is a buffer of another device");
    if (argument->offset > argument->buffer->bytes)
        return refuse_argument(kernel, arg->name, "begins behind the end of its buffer");
    if ((argument->buffer->address + argument->offset) % tile_scalar_bytes(arg->type->scalar))
        return refuse_argument(kernel, arg->name, "is not aligned to its element type");
    return TILE_OK;
}

static tile_status resolve(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                           tile_launch *launch) {
    if (!kernel) return TILE_INVALID;
    const tile_abi *abi = kernel->variants->abi;
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
    int64_t integers[MAX_ARGUMENTS];
    const tile_launch_facts facts = {.size = sizeof facts, .num_sms = kernel->device->num_sms};
    tile_status status = TILE_OK;
    for (unsigned i = 0; i < count && status == TILE_OK; i++) {
        status = check_argument(kernel, tile_abi_arg_at(abi, i), &arguments[i]);
        integers[i] = arguments[i].integer;
    }
    *launch =
        (tile_launch){.arguments = arguments, .argument_count = count, .num_sms = facts.num_sms};
    if (status == TILE_OK) status = find_variant(kernel, arguments, count, &launch->variant);
    if (status == TILE_OK)
        status = tile_abi_grid(launch->variant->abi, integers, &facts, launch->grid);
    if (status == TILE_OK)
        status = tile_abi_scratch(launch->variant->abi, integers, &facts, &launch->clean_bytes,
                                  &launch->plain_bytes);
    return status;
}

/* A grid with an empty dim has no blocks: nothing is to be done. */
static bool is_empty(const tile_launch *launch) {
    return !launch->grid[0] || !launch->grid[1] || !launch->grid[2];
}

tile_status tile_kernel_launch(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                               void *stream) {
    tile_launch launch;
    tile_status status = resolve(kernel, arguments, count, &launch);
    if (status != TILE_OK || is_empty(&launch)) return status;
    launch.stream = stream;
    return kernel->device->ops->launch(kernel->device, &launch);
}

enum { MAX_REPEATS = 1000000 };

tile_status tile_kernel_time(tile_kernel *kernel, const tile_argument *arguments, unsigned count,
                             unsigned warmup, unsigned repeats, bool flush_l2,
                             double *milliseconds) {
    tile_launch launch;
    *milliseconds = 0;
    if (kernel && (warmup > MAX_REPEATS || repeats > MAX_REPEATS)) {
        tile_report(kernel->device->context, TILE_ERROR, no_place,
                    "%u and %u launches are more than the %d that are timed", warmup, repeats,
                    MAX_REPEATS);
        return TILE_INVALID;
    }
    tile_status status = resolve(kernel, arguments, count, &launch);
    if (status != TILE_OK || is_empty(&launch)) return status;
    return kernel->device->ops->time(kernel->device, &launch, warmup, repeats ? repeats : 1,
                                     flush_l2, milliseconds);
}
