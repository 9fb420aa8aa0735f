/* The CUDA device: selection of GPU and context, memory, and the table of operations. All work uses
 * the context that was current when the device was created, or else the GPU's primary context. A
 * calling thread's own current context is restored afterwards. */
#include "runtime/cuda/device.h"

#include <stdlib.h>
#include <string.h>

#include "lib/support/options.h"
#include "lib/support/target.h"
#include "tile/cache.h"

static const tile_loc no_location = {0, 0, 0};

/* Contexts ------------------------------------------------------------------------------------ */

/* If it fails, leave does nothing. */
static tile_status enter(cuda_device *d, CUcontext *before) {
    *before = d->context;
    tile_status status = tile_cuda_check(d, d->driver->cuCtxGetCurrent(before), "cuCtxGetCurrent");
    if (status == TILE_OK && *before != d->context)
        status = tile_cuda_check(d, d->driver->cuCtxSetCurrent(d->context), "cuCtxSetCurrent");
    return status;
}

/* Returns the given status, that of the work done inside. */
static tile_status leave(cuda_device *d, CUcontext before, tile_status status) {
    if (before != d->context) d->driver->cuCtxSetCurrent(before);
    return status;
}

/* The operations ------------------------------------------------------------------------------ */

static tile_status cuda_allocate(tile_device *device, size_t bytes, uint64_t *address) {
    cuda_device *d = (cuda_device *)device;
    CUdeviceptr memory = 0;
    CUcontext before;
    tile_status status = enter(d, &before);
    if (status != TILE_OK) return status;
    status =
        leave(d, before, tile_cuda_check(d, d->driver->cuMemAlloc(&memory, bytes), "cuMemAlloc"));
    *address = memory;
    return status;
}

static void cuda_release(tile_device *device, uint64_t address, size_t bytes) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    (void)bytes;
    if (enter(d, &before) != TILE_OK) return;
    d->driver->cuMemFree(address);
    leave(d, before, TILE_OK);
}

static tile_status cuda_write(tile_device *device, uint64_t address, const void *data,
                              size_t bytes) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    tile_status status = enter(d, &before);
    if (status != TILE_OK) return status;
    CUresult result = d->driver->cuMemcpyHtoD(address, data, bytes);
    return leave(d, before, tile_cuda_check(d, result, "cuMemcpyHtoD"));
}

static tile_status cuda_read(tile_device *device, uint64_t address, void *data, size_t bytes) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    tile_status status = enter(d, &before);
    if (status != TILE_OK) return status;
    CUresult result = d->driver->cuMemcpyDtoH(data, address, bytes);
    return leave(d, before, tile_cuda_check(d, result, "cuMemcpyDtoH"));
}

static tile_status cuda_prepare(tile_device *device, tile_variant *variant) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    tile_status status = enter(d, &before);
    return status == TILE_OK ? leave(d, before, tile_cuda_prepare(d, variant)) : status;
}

static void cuda_discard(tile_device *device, tile_variant *variant) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    enter(d, &before); /* even if it fails, host memory must be freed */
    tile_cuda_discard(d, variant);
    leave(d, before, TILE_OK);
}

static tile_status cuda_launch(tile_device *device, const tile_launch *launch) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    tile_status status = enter(d, &before);
    return status == TILE_OK ? leave(d, before, tile_cuda_launch(d, launch)) : status;
}

/* A map that the driver rejects is not an error. */
static tile_status cuda_encode(tile_device *device, const tile_tensor_map *array,
                               unsigned char *encoded, const char **why) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    tile_status status = enter(d, &before);
    if (status != TILE_OK) return status;
    CUresult result = tile_driver_encode(d->driver, array, encoded);
    if (result && d->driver->cuGetErrorString(result, why))
        *why = "a value that the driver does not report";
    return leave(d, before, result ? TILE_UNAVAILABLE : TILE_OK);
}

static tile_status cuda_reserve(tile_device *device, const tile_launch *launch) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    tile_status status = enter(d, &before);
    return status == TILE_OK ? leave(d, before, tile_cuda_reserve(d, launch)) : status;
}

static tile_status cuda_is_capturing(tile_device *device, void *stream, bool *capturing) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    tile_status status = enter(d, &before);
    return status == TILE_OK ? leave(d, before, tile_cuda_is_capturing(d, stream, capturing))
                             : status;
}

static tile_status cuda_synchronize(tile_device *device) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    tile_status status = enter(d, &before);
    if (status != TILE_OK) return status;
    status = tile_cuda_check(d, d->driver->cuCtxSynchronize(), "cuCtxSynchronize");
    if (status != TILE_OK) tile_cuda_mark_scratch_dirty(d);
    return leave(d, before, status);
}

static tile_status cuda_time(tile_device *device, const tile_timed *timed, double *seconds) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    tile_status status = enter(d, &before);
    return status == TILE_OK ? leave(d, before, tile_cuda_time(d, timed, seconds)) : status;
}

static tile_status cuda_attributes(tile_device *device, tile_variant *variant,
                                   tile_kernel_attributes *attributes) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    tile_status status = enter(d, &before);
    return status == TILE_OK ? leave(d, before, tile_cuda_attributes(d, variant, attributes))
                             : status;
}

static tile_status cuda_fill(tile_device *device, uint64_t address, unsigned char byte,
                             size_t bytes) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    tile_status status = enter(d, &before);
    if (status != TILE_OK) return status;
    CUresult result = d->driver->cuMemsetD8Async(address, byte, bytes, NULL);
    return leave(d, before, tile_cuda_check(d, result, "cuMemsetD8Async"));
}

static void cuda_describe(const tile_device *device, tile_device_options *options) {
    const cuda_device *d = (const cuda_device *)device;
    *options = (tile_device_options){.size = sizeof *options,
                                     .ptxas = device->ptxas,
                                     .ordinal = (int)d->device,
                                     .target = device->target};
}

static tile_status cuda_residency(tile_device *device, tile_variant *variant, int *blocks) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    tile_status status = enter(d, &before);
    if (status != TILE_OK) return status;
    CUresult result = d->driver->cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks, tile_cuda_function(variant), 32 * (int)tile_abi_warps(variant->abi),
        tile_abi_shared_bytes(variant->abi));
    return leave(d, before,
                 tile_cuda_check(d, result, "cuOccupancyMaxActiveBlocksPerMultiprocessor"));
}

static tile_status cuda_clusters(tile_device *device, tile_variant *variant, int *clusters) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    tile_status status = enter(d, &before);
    if (status != TILE_OK) return status;
    return leave(d, before, tile_cuda_clusters(d, variant, clusters));
}

static unsigned cuda_power_limit(tile_device *device) {
    return tile_cuda_power_limit((cuda_device *)device);
}

static void cuda_destroy(tile_device *device) {
    cuda_device *d = (cuda_device *)device;
    CUcontext before;
    enter(d, &before);
    tile_cuda_free_scratch(d);
    tile_cuda_free_timing(d);
    leave(d, before, TILE_OK);
    if (d->retained) d->driver->cuDevicePrimaryCtxRelease(d->device);
    free(d->ptxas);
    free(d);
}

static const tile_device_ops cuda_ops = {
    .wants = TILE_WANT_PTX,
    .destroy = cuda_destroy,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .write = cuda_write,
    .read = cuda_read,
    .prepare = cuda_prepare,
    .discard = cuda_discard,
    .launch = cuda_launch,
    .encode = cuda_encode,
    .reserve = cuda_reserve,
    .is_capturing = cuda_is_capturing,
    .synchronize = cuda_synchronize,
    .time = cuda_time,
    .fill = cuda_fill,
    .describe = cuda_describe,
    .residency = cuda_residency,
    .clusters = cuda_clusters,
    .power_limit = cuda_power_limit,
    .attributes = cuda_attributes,
};

bool tile_device_is_cuda(const tile_device *device) {
    return device && device->ops == &cuda_ops;
}

/* Creation
 * -------------------------------------------------------------------------------------- */

static tile_status choose_context(cuda_device *d, int ordinal) {
    tile_status status =
        tile_cuda_check(d, d->driver->cuCtxGetCurrent(&d->context), "cuCtxGetCurrent");
    if (status != TILE_OK) return status;
    if (d->context)
        return tile_cuda_check(d, d->driver->cuCtxGetDevice(&d->device), "cuCtxGetDevice");
    status = tile_cuda_check(d, d->driver->cuDeviceGet(&d->device, ordinal), "cuDeviceGet");
    if (status != TILE_OK) return status;
    status = tile_cuda_check(d, d->driver->cuDevicePrimaryCtxRetain(&d->context, d->device),
                             "cuDevicePrimaryCtxRetain");
    d->retained = status == TILE_OK;
    return status;
}

static tile_status take_target(cuda_device *d, const tile_target *wanted, unsigned capability) {
    d->base.target = wanted;
    if (tile_target_runs_on(wanted, capability)) return TILE_OK;
    tile_report(d->base.context, TILE_ERROR, no_location,
                "code for %s does not run on %s, whose compute capability is %u.%u", wanted->name,
                d->name, capability / 10, capability % 10);
    return TILE_UNSUPPORTED;
}

static tile_status describe(cuda_device *d, const tile_target *target) {
    int major = 0, minor = 0, num_sms = 0, memory_clock = 0, memory_bus = 0, clock = 0;
    tile_status status = tile_cuda_check(
        d, d->driver->cuDeviceGetName(d->name, sizeof d->name, d->device), "cuDeviceGetName");
    const struct {
        int *value;
        CUdevice_attribute attribute;
    } wanted[] = {
        {&major, TILE_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
        {&minor, TILE_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
        {&num_sms, TILE_CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT},
        {&memory_clock, TILE_CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE},
        {&memory_bus, TILE_CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH},
        {&clock, TILE_CU_DEVICE_ATTRIBUTE_CLOCK_RATE},
        {&d->l2_bytes, TILE_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status == TILE_OK; i++)
        status = tile_cuda_check(
            d, d->driver->cuDeviceGetAttribute(wanted[i].value, wanted[i].attribute, d->device),
            "cuDeviceGetAttribute");
    d->base.name = d->name;
    d->base.num_sms = (unsigned)num_sms;
    d->base.memory_clock = (unsigned)memory_clock;
    d->base.memory_bus = (unsigned)memory_bus;
    d->base.clock = (unsigned)clock;
    d->base.target = tile_target_for((unsigned)(10 * major + minor));
    if (status == TILE_OK && !d->base.target) {
        tile_report(d->base.context, TILE_ERROR, no_location,
                    "%s has compute capability %d.%d; 8.0 is needed", d->name, major, minor);
        return TILE_UNSUPPORTED;
    }
    if (status != TILE_OK || !target) return status;
    return take_target(d, target, (unsigned)(10 * major + minor));
}

/* Checks that there is a GPU with that number. */
static tile_status check_ordinal(tile_context *context, const tile_driver *driver, int ordinal) {
    int count = 0;
    tile_status status =
        tile_driver_check(context, driver, driver->cuDeviceGetCount(&count), "cuDeviceGetCount");
    if (status != TILE_OK) return TILE_UNAVAILABLE;
    if (ordinal >= 0 && ordinal < count) return TILE_OK;
    if (count == 0)
        tile_report(context, TILE_ERROR, no_location, "the CUDA driver finds no GPU");
    else
        tile_report(context, TILE_ERROR, no_location,
                    "there is no GPU %d: the driver finds %d, numbered from 0", ordinal, count);
    return TILE_UNAVAILABLE;
}

tile_status tile_cuda_device_create(tile_context *context, const tile_driver *driver,
                                    const tile_device_options *options, tile_device **device) {
    tile_device_options taken;
    *device = NULL;
    if (!TILE_TAKE_OPTIONS(context, tile_device_options, &taken, options)) return TILE_INVALID;
    if (taken.target && !tile_target_check(context, no_location, taken.target)) return TILE_INVALID;
    const tile_target *wanted = taken.target ? tile_target_find(taken.target->name) : NULL;
    tile_status status = check_ordinal(context, driver, taken.ordinal);
    if (status != TILE_OK) return status;
    cuda_device *d = tile_malloc(sizeof *d);
    *d =
        (cuda_device){.base = {.ops = &cuda_ops, .context = context, .level = 3}, .driver = driver};
    d->trace = taken.trace;
    d->trace_user = taken.trace_user;
    d->base.stamps = taken.trace != NULL;
    if (taken.ptxas) {
        d->ptxas = tile_malloc(strlen(taken.ptxas) + 1);
        strcpy(d->ptxas, taken.ptxas);
        d->base.ptxas = d->ptxas;
    }
    status = choose_context(d, taken.ordinal);
    if (status == TILE_OK) status = describe(d, wanted);
    if (status != TILE_OK) {
        cuda_destroy(&d->base);
        return status;
    }
    d->base.tuned = taken.tuned;
    if (taken.cache_dir) tile_cache_create(context, taken.cache_dir, NULL, &d->base.cache);
    *device = &d->base;
    return TILE_OK;
}

tile_status tile_device_create_cuda(tile_context *context, const tile_device_options *options,
                                    tile_device **device) {
    TILE_GUARD(context, TILE_OUT_OF_MEMORY)
    *device = NULL;
    if (!context) return TILE_INVALID;
    const tile_driver *driver = tile_driver_open(context);
    return driver ? tile_cuda_device_create(context, driver, options, device) : TILE_UNAVAILABLE;
}
