/* The CUDA device: modules, scratch, launches and times, in the caller's context and on its stream. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/cuda/driver.h"
#include "runtime/device.h"

/* Memory that launches on one stream share: they run one after the other. */
typedef struct scratch {
    struct scratch *next;
    void *stream;
    CUdeviceptr clean, plain;
    size_t clean_bytes, plain_bytes;
} scratch;

/* A loaded module by its PTX: variants of equal text share one. */
typedef struct cuda_module {
    struct cuda_module *next;
    char *ptx;
    size_t size;
    unsigned uses;
    CUmodule module;
} cuda_module;

typedef struct cuda_code {
    cuda_module *module;
    CUfunction function;
} cuda_code;

typedef struct cuda_device {
    tile_device base;
    const tile_driver *driver;
    CUdevice device;
    CUcontext primary; /* retained by us; NULL if the caller's context is used */
    char name[128];
    char *ptxas;
    int l2_bytes;
    scratch *scratches;
    cuda_module *modules;
    CUdeviceptr flush;
    bool failed; /* a launch has failed: clean scratch may be dirty */
} cuda_device;

static tile_status check(cuda_device *d, CUresult result, const char *what) {
    return tile_driver_check(d->base.context, d->driver, result, what);
}

/* Memory ------------------------------------------------------------------------------------------- */

static tile_status cuda_allocate(tile_device *device, size_t bytes, uint64_t *address) {
    cuda_device *d = (cuda_device *)device;
    CUdeviceptr memory = 0;
    tile_status status = check(d, d->driver->cuMemAlloc(&memory, bytes), "cuMemAlloc");
    *address = memory;
    return status;
}

static void cuda_release(tile_device *device, uint64_t address, size_t bytes) {
    cuda_device *d = (cuda_device *)device;
    (void)bytes;
    d->driver->cuMemFree(address);
}

static tile_status cuda_write(tile_device *device, uint64_t address, const void *data, size_t bytes) {
    cuda_device *d = (cuda_device *)device;
    return check(d, d->driver->cuMemcpyHtoD(address, data, bytes), "cuMemcpyHtoD");
}

static tile_status cuda_read(tile_device *device, uint64_t address, void *data, size_t bytes) {
    cuda_device *d = (cuda_device *)device;
    return check(d, d->driver->cuMemcpyDtoH(data, address, bytes), "cuMemcpyDtoH");
}

/* Code --------------------------------------------------------------------------------------------- */

static tile_status load_image(cuda_device *d, const void *image, CUmodule *module) {
    static const tile_loc no_place = {0, 0, 0};
    char log[4096] = "";
    CUjit_option options[2] = {TILE_CU_JIT_ERROR_LOG_BUFFER, TILE_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[2] = {log, (void *)(uintptr_t)sizeof log};
    tile_status status = check(d, d->driver->cuModuleLoadDataEx(module, image, 2, options, values),
                               "cuModuleLoadDataEx");
    if (status != TILE_OK && log[0])
        tile_report(d->base.context, TILE_NOTE, no_place, "%s", log);
    return status;
}

/* By ptxas where the caller named one: side by side in several processes, unlike the driver. */
static tile_status load_module(cuda_device *d, const tile_blob *ptx, CUmodule *module) {
    tile_blob cubin = {NULL, 0};
    if (!d->ptxas)
        return load_image(d, ptx->data, module);
    tile_status status = tile_assemble(d->base.context, ptx, d->base.target, d->ptxas, &cubin);
    if (status == TILE_OK)
        status = load_image(d, cubin.data, module);
    tile_blob_destroy(&cubin);
    return status;
}

static tile_status find_module(cuda_device *d, const tile_blob *ptx, cuda_module **out) {
    for (cuda_module *m = d->modules; m; m = m->next)
        if (m->size == ptx->size && memcmp(m->ptx, ptx->data, ptx->size) == 0) {
            m->uses++;
            *out = m;
            return TILE_OK;
        }
    CUmodule loaded;
    tile_status status = load_module(d, ptx, &loaded);
    if (status != TILE_OK)
        return status;
    cuda_module *m = tile_malloc(sizeof *m);
    *m = (cuda_module){.next = d->modules, .size = ptx->size, .uses = 1, .module = loaded};
    m->ptx = tile_malloc(ptx->size);
    memcpy(m->ptx, ptx->data, ptx->size);
    d->modules = *out = m;
    return TILE_OK;
}

static void drop_module(cuda_device *d, cuda_module *module) {
    if (--module->uses)
        return;
    for (cuda_module **at = &d->modules; *at; at = &(*at)->next)
        if (*at == module) {
            *at = module->next;
            break;
        }
    d->driver->cuModuleUnload(module->module);
    free(module->ptx);
    free(module);
}

static void cuda_discard(tile_device *device, tile_variant *variant) {
    cuda_code *code = variant->code;
    if (code->module)
        drop_module((cuda_device *)device, code->module);
    free(code);
    variant->code = NULL;
}

static tile_status cuda_prepare(tile_device *device, tile_variant *variant) {
    cuda_device *d = (cuda_device *)device;
    cuda_code *code = tile_malloc(sizeof *code);
    *code = (cuda_code){NULL, NULL};
    variant->code = code;
    tile_status status = find_module(d, &variant->ptx, &code->module);
    if (status == TILE_OK)
        status = check(d, d->driver->cuModuleGetFunction(&code->function, code->module->module,
                                                         tile_abi_entry(variant->abi)),
                       "cuModuleGetFunction");
    if (status == TILE_OK)
        status = check(d, d->driver->cuFuncSetAttribute(
                              code->function, TILE_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                              (int)tile_abi_shared_bytes(variant->abi)),
                       "cuFuncSetAttribute");
    return status;
}

static tile_status cuda_attributes(tile_device *device, tile_variant *variant,
                                   tile_kernel_attributes *attributes) {
    cuda_device *d = (cuda_device *)device;
    CUfunction function = ((cuda_code *)variant->code)->function;
    const struct {
        int *value;
        CUfunction_attribute attribute;
    } wanted[] = {
        {&attributes->registers, TILE_CU_FUNC_ATTRIBUTE_NUM_REGS},
        {&attributes->local_bytes, TILE_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES},
        {&attributes->shared_bytes, TILE_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES},
        {&attributes->max_threads, TILE_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK},
    };
    tile_status status = TILE_OK;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status == TILE_OK; i++)
        status = check(d, d->driver->cuFuncGetAttribute(wanted[i].value, wanted[i].attribute, function),
                       "cuFuncGetAttribute");
    attributes->shared_bytes += (int)tile_abi_shared_bytes(variant->abi);
    return status;
}

/* Scratch ------------------------------------------------------------------------------------------ */

static scratch *scratch_of(cuda_device *d, void *stream) {
    for (scratch *s = d->scratches; s; s = s->next)
        if (s->stream == stream)
            return s;
    scratch *s = tile_malloc(sizeof *s);
    *s = (scratch){.next = d->scratches, .stream = stream};
    d->scratches = s;
    return s;
}

/* Grows one of the two memories; what is outgrown may still be in use by launches in flight. */
static tile_status reserve(cuda_device *d, void *stream, CUdeviceptr *memory, size_t *have, size_t want,
                           bool clean) {
    if (want <= *have)
        return TILE_OK;
    tile_status status = check(d, d->driver->cuStreamSynchronize(stream), "cuStreamSynchronize");
    if (status == TILE_OK && *memory)
        status = check(d, d->driver->cuMemFree(*memory), "cuMemFree");
    *memory = 0;
    *have = 0;
    if (status == TILE_OK)
        status = check(d, d->driver->cuMemAlloc(memory, want), "cuMemAlloc");
    if (status == TILE_OK && clean)
        status = check(d, d->driver->cuMemsetD8Async(*memory, 0, want, stream), "cuMemsetD8Async");
    if (status == TILE_OK)
        *have = want;
    return status;
}

static tile_status prepare_scratch(cuda_device *d, const tile_launch *launch, scratch **out) {
    scratch *s = *out = scratch_of(d, launch->stream);
    tile_status status = reserve(d, launch->stream, &s->clean, &s->clean_bytes,
                                 (size_t)launch->clean_bytes, true);
    if (status == TILE_OK)
        status = reserve(d, launch->stream, &s->plain, &s->plain_bytes, (size_t)launch->plain_bytes, false);
    if (status == TILE_OK && d->failed && s->clean) {
        d->failed = false;
        status = check(d, d->driver->cuMemsetD8Async(s->clean, 0, s->clean_bytes, launch->stream),
                       "cuMemsetD8Async");
    }
    return status;
}

/* Launches ----------------------------------------------------------------------------------------- */

enum { MAX_PARAMETERS = 66 };

/* One parameter's bytes; the driver reads as many as the kernel declares. */
typedef union parameter {
    CUdeviceptr address;
    int64_t integer;
    double f64;
    float f32;
    unsigned char bytes[8];
} parameter;

static void fill_parameter(parameter *p, const tile_type *type, const tile_argument *argument) {
    if (type->kind == TILE_TYPE_PTR)
        p->address = argument->buffer->address + argument->offset;
    else if (tile_scalar_is_floating(type->scalar))
        tile_scalar_write(type->scalar, p->bytes, argument->number);
    else
        p->integer = argument->integer; /* little-endian: narrower integers are its first bytes */
}

static tile_status cuda_launch(tile_device *device, const tile_launch *launch) {
    cuda_device *d = (cuda_device *)device;
    static const tile_loc no_place = {0, 0, 0};
    const tile_abi *abi = launch->variant->abi;
    parameter values[MAX_PARAMETERS];
    void *pointers[MAX_PARAMETERS];
    unsigned count = launch->argument_count;
    scratch *s;
    if (count + 2 > MAX_PARAMETERS || launch->grid[1] > 65535 || launch->grid[2] > 65535 ||
        launch->grid[0] > INT32_MAX) {
        tile_report(device->context, TILE_ERROR, no_place,
                    "@%s: %u arguments and a grid of %lld x %lld x %lld blocks are more than a launch takes",
                    tile_abi_entry(abi), count, (long long)launch->grid[0], (long long)launch->grid[1],
                    (long long)launch->grid[2]);
        return TILE_UNSUPPORTED;
    }
    tile_status status = prepare_scratch(d, launch, &s);
    if (status != TILE_OK)
        return status;
    for (unsigned i = 0; i < count; i++)
        fill_parameter(&values[i], tile_abi_arg_at(abi, i)->type, &launch->arguments[i]);
    if (tile_abi_has_clean_scratch(abi))
        values[count++].address = s->clean;
    if (tile_abi_has_plain_scratch(abi))
        values[count++].address = s->plain;
    for (unsigned i = 0; i < count; i++)
        pointers[i] = &values[i];
    CUresult result = d->driver->cuLaunchKernel(
        ((cuda_code *)launch->variant->code)->function, (unsigned)launch->grid[0],
        (unsigned)launch->grid[1], (unsigned)launch->grid[2], 32 * tile_abi_warps(abi), 1, 1,
        tile_abi_shared_bytes(abi), launch->stream, pointers, NULL);
    d->failed |= result != 0;
    return check(d, result, "cuLaunchKernel");
}

static tile_status cuda_synchronize(tile_device *device) {
    cuda_device *d = (cuda_device *)device;
    CUresult result = d->driver->cuCtxSynchronize();
    d->failed |= result != 0;
    return check(d, result, "cuCtxSynchronize");
}

/* Times -------------------------------------------------------------------------------------------- */

static int by_size(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static tile_status flush_cache(cuda_device *d, CUstream stream) {
    size_t bytes = (size_t)d->l2_bytes * 4;
    if (!d->flush && check(d, d->driver->cuMemAlloc(&d->flush, bytes), "cuMemAlloc") != TILE_OK)
        return TILE_FAILED;
    return check(d, d->driver->cuMemsetD8Async(d->flush, 0, bytes, stream), "cuMemsetD8Async");
}

static tile_status time_once(cuda_device *d, const tile_launch *launch, bool flush, CUevent start,
                             CUevent end, float *milliseconds) {
    tile_status status = flush ? flush_cache(d, launch->stream) : TILE_OK;
    if (status == TILE_OK)
        status = check(d, d->driver->cuEventRecord(start, launch->stream), "cuEventRecord");
    if (status == TILE_OK)
        status = cuda_launch(&d->base, launch);
    if (status == TILE_OK)
        status = check(d, d->driver->cuEventRecord(end, launch->stream), "cuEventRecord");
    if (status == TILE_OK)
        status = check(d, d->driver->cuEventSynchronize(end), "cuEventSynchronize");
    if (status == TILE_OK)
        status = check(d, d->driver->cuEventElapsedTime(milliseconds, start, end), "cuEventElapsedTime");
    return status;
}

static tile_status cuda_time(tile_device *device, const tile_launch *launch, unsigned warmup,
                             unsigned repeats, bool flush, double *milliseconds) {
    cuda_device *d = (cuda_device *)device;
    CUevent start = NULL, end = NULL;
    float *times = tile_malloc(sizeof *times * repeats), ignored;
    tile_status status = check(d, d->driver->cuEventCreate(&start, 0), "cuEventCreate");
    if (status == TILE_OK)
        status = check(d, d->driver->cuEventCreate(&end, 0), "cuEventCreate");
    for (unsigned i = 0; i < warmup && status == TILE_OK; i++)
        status = time_once(d, launch, flush, start, end, &ignored);
    for (unsigned i = 0; i < repeats && status == TILE_OK; i++)
        status = time_once(d, launch, flush, start, end, &times[i]);
    if (status == TILE_OK) {
        qsort(times, repeats, sizeof *times, by_size);
        *milliseconds = times[repeats / 2];
    }
    free(times);
    if (start)
        d->driver->cuEventDestroy(start);
    if (end)
        d->driver->cuEventDestroy(end);
    return status;
}

/* The device --------------------------------------------------------------------------------------- */

static void cuda_destroy(tile_device *device) {
    cuda_device *d = (cuda_device *)device;
    for (scratch *s = d->scratches, *next; s; s = next) {
        next = s->next;
        if (s->clean)
            d->driver->cuMemFree(s->clean);
        if (s->plain)
            d->driver->cuMemFree(s->plain);
        free(s);
    }
    if (d->flush)
        d->driver->cuMemFree(d->flush);
    if (d->primary) {
        d->driver->cuCtxSetCurrent(NULL);
        d->driver->cuDevicePrimaryCtxRelease(d->device);
    }
    free(d->ptxas);
    free(d);
}

static const tile_device_ops cuda_ops = {
    .destroy = cuda_destroy,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .write = cuda_write,
    .read = cuda_read,
    .prepare = cuda_prepare,
    .discard = cuda_discard,
    .launch = cuda_launch,
    .synchronize = cuda_synchronize,
    .time = cuda_time,
    .attributes = cuda_attributes,
};

static tile_status enter_context(cuda_device *d, int ordinal) {
    CUcontext current = NULL;
    tile_status status = check(d, d->driver->cuCtxGetCurrent(&current), "cuCtxGetCurrent");
    if (status == TILE_OK && current)
        return check(d, d->driver->cuCtxGetDevice(&d->device), "cuCtxGetDevice");
    if (status == TILE_OK)
        status = check(d, d->driver->cuDeviceGet(&d->device, ordinal), "cuDeviceGet");
    if (status == TILE_OK)
        status = check(d, d->driver->cuDevicePrimaryCtxRetain(&d->primary, d->device),
                       "cuDevicePrimaryCtxRetain");
    if (status == TILE_OK)
        status = check(d, d->driver->cuCtxSetCurrent(d->primary), "cuCtxSetCurrent");
    return status;
}

/* The target with the most features that the GPU runs: the `a` form fits exactly one capability,
 * plain ones fit all later minor versions and generations. */
static const tile_target *choose_target(int capability) {
    const tile_target *best = NULL;
    for (unsigned i = 0; tile_target_at(i); i++) {
        const tile_target *target = tile_target_at(i);
        int wanted = (int)target->compute_capability;
        if (target->arch_specific ? wanted == capability : wanted <= capability)
            best = target;
    }
    return best;
}

static tile_status describe(cuda_device *d) {
    static const tile_loc no_place = {0, 0, 0};
    int major = 0, minor = 0;
    tile_status status = check(d, d->driver->cuDeviceGetName(d->name, sizeof d->name, d->device),
                               "cuDeviceGetName");
    const struct {
        int *value;
        CUdevice_attribute attribute;
    } wanted[] = {
        {&major, TILE_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
        {&minor, TILE_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
        {&d->l2_bytes, TILE_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status == TILE_OK; i++)
        status = check(d, d->driver->cuDeviceGetAttribute(wanted[i].value, wanted[i].attribute, d->device),
                       "cuDeviceGetAttribute");
    d->base.name = d->name;
    d->base.target = choose_target(10 * major + minor);
    if (status == TILE_OK && !d->base.target) {
        tile_report(d->base.context, TILE_ERROR, no_place, "%s has compute capability %d.%d; 8.0 is needed",
                    d->name, major, minor);
        return TILE_UNSUPPORTED;
    }
    return status;
}

tile_status tile_device_create_cuda(tile_context *context, const tile_device_options *options,
                                    tile_device **device) {
    static const tile_loc no_place = {0, 0, 0};
    int count = 0;
    *device = NULL;
    const tile_driver *driver = tile_driver_open(context);
    if (!driver)
        return TILE_UNAVAILABLE;
    if (driver->cuDeviceGetCount(&count) || count == 0) {
        tile_report(context, TILE_ERROR, no_place, "the CUDA driver finds no GPU");
        return TILE_UNAVAILABLE;
    }
    cuda_device *d = tile_malloc(sizeof *d);
    *d = (cuda_device){.base = {.ops = &cuda_ops, .context = context, .is_cuda = true, .level = 3},
                       .driver = driver};
    if (options && options->ptxas) {
        d->ptxas = tile_malloc(strlen(options->ptxas) + 1);
        strcpy(d->ptxas, options->ptxas);
    }
    tile_status status = enter_context(d, options ? options->ordinal : 0);
    if (status == TILE_OK)
        status = describe(d);
    if (status != TILE_OK) {
        cuda_destroy(&d->base);
        return status;
    }
    *device = &d->base;
    return TILE_OK;
}
