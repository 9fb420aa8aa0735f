/* A fake driver that only counts and records the calls of the CUDA device. */
#ifndef TILE_TEST_UNIT_CUDA_FIXTURE_H
#define TILE_TEST_UNIT_CUDA_FIXTURE_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/cuda/device.h"

static struct {
    int devices, major, minor, retained, capturing;
    CUcontext current;
    CUresult launch_result, wait_result, load_result;
    unsigned allocations, frees, loads, unloads, clears, launches;
    CUdeviceptr next, cleared;
    size_t cleared_bytes;
    CUstream cleared_on;
    CUcontext launched_in;
    unsigned grid[3], block, shared, attributes;
    int large_clusters;
    int32_t n;
    float s;
    CUdeviceptr x, clean, plain, table;
    char image[64];
    unsigned all_count; /* of the parameters, expected */
    uint64_t all[TILE_MAX_PARAMETERS];
} gpu;

static char contexts[2];
#define CALLERS ((CUcontext)(void *)&contexts[0])
#define PRIMARY ((CUcontext)(void *)&contexts[1])
static char streams[2];
#define STREAM(i) ((CUstream)(void *)&streams[i])

static CUresult error_text(CUresult error, const char **text) {
    *text = error == TILE_CUDA_ERROR_ILLEGAL_ADDRESS ? "illegal" : "refused";
    return 0;
}

static CUresult count_devices(int *count) {
    *count = gpu.devices;
    return 0;
}

static CUresult device_get(CUdevice *device, int ordinal) {
    *device = ordinal;
    return 0;
}

static CUresult device_name(char *name, int length, CUdevice device) {
    snprintf(name, (size_t)length, "GPU %d", device);
    return 0;
}

static CUresult bus_id(char *id, int length, CUdevice device) {
    snprintf(id, (size_t)length, "0000:%02x:00.0", device);
    return 0;
}

static CUresult device_attribute(int *value, CUdevice_attribute attribute, CUdevice device) {
    (void)device;
    *value = attribute == TILE_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? gpu.major
             : attribute == TILE_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? gpu.minor
                                                                              : 1 << 20;
    return 0;
}

static CUresult retain(CUcontext *context, CUdevice device) {
    (void)device;
    gpu.retained++;
    *context = PRIMARY;
    return 0;
}

static CUresult let_go(CUdevice device) {
    (void)device;
    gpu.retained--;
    return 0;
}

static CUresult get_current(CUcontext *context) {
    *context = gpu.current;
    return 0;
}

static CUresult set_current(CUcontext context) {
    gpu.current = context;
    return 0;
}

static CUresult context_device(CUdevice *device) {
    *device = 7;
    return 0;
}

static CUresult synchronize(void) {
    return gpu.wait_result;
}

static CUresult load(CUmodule *module, const void *image, unsigned count, CUjit_option *options,
                     void **values) {
    cr_assert_eq(count, 2);
    cr_assert_eq(options[0], TILE_CU_JIT_ERROR_LOG_BUFFER);
    snprintf(gpu.image, sizeof gpu.image, "%s", (const char *)image);
    if (gpu.load_result) strcpy(values[0], "line 1: what is this");
    gpu.loads++;
    *module = (CUmodule)(void *)image;
    return gpu.load_result;
}

static CUresult unload(CUmodule module) {
    (void)module;
    gpu.unloads++;
    return 0;
}

static CUresult get_function(CUfunction *function, CUmodule module, const char *name) {
    (void)module;
    *function = (CUfunction)(void *)&gpu;
    return strcmp(name, "k") == 0 ? 0 : 500;
}

static CUresult set_attribute(CUfunction function, CUfunction_attribute attribute, int value) {
    bool large = attribute == TILE_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
    (void)function;
    if (large) gpu.large_clusters = value;
    return attribute == TILE_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || large ? 0 : 1;
}

static CUresult allocate(CUdeviceptr *address, size_t bytes) {
    *address = gpu.next;
    gpu.next += (bytes + 255) / 256 * 256;
    gpu.allocations++;
    return 0;
}

static CUresult release(CUdeviceptr address) {
    cr_assert_neq(address, 0);
    gpu.frees++;
    return 0;
}

static CUresult clear(CUdeviceptr address, unsigned char value, size_t bytes, CUstream stream) {
    cr_assert_eq(value, 0);
    gpu.clears++;
    gpu.cleared = address;
    gpu.cleared_bytes = bytes;
    gpu.cleared_on = stream;
    return 0;
}

static CUresult is_capturing(CUstream stream, CUstreamCaptureStatus *status) {
    (void)stream;
    *status = gpu.capturing;
    return 0;
}

static CUresult launch(const CUlaunchConfig *config, CUfunction function, void **parameters,
                       void **extra) {
    cr_assert_eq((void *)function, (void *)&gpu);
    cr_assert(config->blockDimY == 1 && config->blockDimZ == 1 && !extra);
    gpu.launches++;
    gpu.launched_in = gpu.current;
    memcpy(gpu.grid, (unsigned[]){config->gridDimX, config->gridDimY, config->gridDimZ},
           sizeof gpu.grid);
    gpu.block = config->blockDimX;
    gpu.shared = config->sharedMemBytes;
    gpu.attributes = 0;
    for (unsigned i = 0; i < gpu.all_count; i++) memcpy(&gpu.all[i], parameters[i], 8);
    for (unsigned i = 0; i < config->numAttrs; i++) {
        cr_assert_eq(config->attrs[i].value.number, 1);
        gpu.attributes |= 1u << config->attrs[i].id;
    }
    memcpy(&gpu.n, parameters[0], sizeof gpu.n);
    memcpy(&gpu.s, parameters[1], sizeof gpu.s);
    memcpy(&gpu.x, parameters[2], sizeof gpu.x);
    memcpy(&gpu.clean, parameters[3], sizeof gpu.clean);
    memcpy(&gpu.plain, parameters[4], sizeof gpu.plain);
    memcpy(&gpu.table, parameters[5], sizeof gpu.table);
    return gpu.launch_result;
}

/* Functions that are missing here must not be called. */
static const tile_driver fake = {
    .cuGetErrorName = error_text,
    .cuGetErrorString = error_text,
    .cuDeviceGet = device_get,
    .cuDeviceGetCount = count_devices,
    .cuDeviceGetName = device_name,
    .cuDeviceGetAttribute = device_attribute,
    .cuDeviceGetPCIBusId = bus_id,
    .cuDevicePrimaryCtxRetain = retain,
    .cuDevicePrimaryCtxRelease = let_go,
    .cuCtxGetCurrent = get_current,
    .cuCtxSetCurrent = set_current,
    .cuCtxGetDevice = context_device,
    .cuCtxSynchronize = synchronize,
    .cuModuleLoadDataEx = load,
    .cuModuleUnload = unload,
    .cuModuleGetFunction = get_function,
    .cuFuncSetAttribute = set_attribute,
    .cuMemAlloc = allocate,
    .cuMemFree = release,
    .cuMemsetD8Async = clear,
    .cuStreamIsCapturing = is_capturing,
    .cuLaunchKernelEx = launch,
};

#endif
