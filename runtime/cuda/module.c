/* From a variant's cubin or PTX to a loaded function.
 *
 * With a cache there is a cubin. Without one, PTX is assembled here, or by the driver, which has
 * its own disk cache. A module is loaded once per device for all variants with equal text.
 */
#include "runtime/cuda/device.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/launch/data.h"

/* Modules ------------------------------------------------------------------------------------- */

struct cuda_module {
    struct cuda_module *next;
    tile_blob ptx;
    unsigned uses;
    CUmodule module;
};

typedef struct cuda_code {
    cuda_module *module;
    CUfunction function;
    atomic_int clusters; /* that run concurrently; 0: not queried yet */
} cuda_code;

enum { LOG_BYTES = 8192 };

static tile_status load_image(cuda_device *d, const void *image, CUmodule *module) {
    char *log = tile_malloc(LOG_BYTES);
    log[0] = 0;
    CUjit_option options[] = {TILE_CU_JIT_ERROR_LOG_BUFFER,
                              TILE_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)LOG_BYTES};
    tile_status status = tile_cuda_check(
        d, d->driver->cuModuleLoadDataEx(module, image, 2, options, values), "cuModuleLoadDataEx");
    if (status != TILE_OK && log[0])
        tile_report(d->base.context, TILE_NOTE, (tile_loc){0}, "%s", log);
    free(log);
    return status;
}

static tile_status load(cuda_device *d, const tile_variant *variant, CUmodule *module) {
    if (variant->cubin.size) return load_image(d, variant->cubin.data, module);
    if (!d->ptxas) return load_image(d, variant->ptx.data, module);
    tile_blob code = {NULL, 0};
    tile_status status =
        tile_assemble(d->base.context, &variant->ptx, d->base.target, d->ptxas, &code);
    if (status == TILE_OK) status = load_image(d, code.data, module);
    tile_blob_destroy(&code);
    return status;
}

static tile_blob copy_blob(const tile_blob *blob) {
    tile_blob copy = {tile_malloc(blob->size + 1), blob->size};
    memcpy(copy.data, blob->data, blob->size);
    copy.data[copy.size] = 0;
    return copy;
}

static tile_status acquire_module(cuda_device *d, const tile_variant *variant, cuda_module **out) {
    const tile_blob *ptx = &variant->ptx;
    for (cuda_module *m = d->modules; m; m = m->next)
        if (m->ptx.size == ptx->size && memcmp(m->ptx.data, ptx->data, ptx->size) == 0) {
            m->uses++;
            *out = m;
            return TILE_OK;
        }
    CUmodule loaded = NULL;
    tile_status status = load(d, variant, &loaded);
    if (status != TILE_OK) return status;
    cuda_module *m = tile_malloc(sizeof *m);
    *m = (cuda_module){.next = d->modules, .ptx = copy_blob(ptx), .uses = 1, .module = loaded};
    d->modules = *out = m;
    return TILE_OK;
}

static void release_module(cuda_device *d, cuda_module *module) {
    if (--module->uses) return;
    cuda_module **at = &d->modules;
    while (*at != module) at = &(*at)->next;
    *at = module->next;
    d->driver->cuModuleUnload(module->module);
    tile_blob_destroy(&module->ptx);
    free(module);
}

/* Functions ----------------------------------------------------------------------------------- */

/* Larger clusters need a GPU with room for them, and an attribute of the function. */
enum { PORTABLE_CLUSTER = 8 };

static int64_t cluster_blocks(const tile_abi *abi) {
    return abi->cluster[0] * abi->cluster[1] * abi->cluster[2];
}

static tile_status set_attribute(cuda_device *d, CUfunction function, CUfunction_attribute what,
                                 int value) {
    return tile_cuda_check(d, d->driver->cuFuncSetAttribute(function, what, value),
                           "cuFuncSetAttribute");
}

tile_status tile_cuda_prepare(cuda_device *d, tile_variant *variant) {
    cuda_code *code = tile_malloc(sizeof *code);
    *code = (cuda_code){.module = NULL};
    variant->code = code;
    tile_status status = acquire_module(d, variant, &code->module);
    if (status == TILE_OK)
        status =
            tile_cuda_check(d,
                            d->driver->cuModuleGetFunction(&code->function, code->module->module,
                                                           tile_abi_entry(variant->abi)),
                            "cuModuleGetFunction");
    if (status == TILE_OK)
        status =
            set_attribute(d, code->function, TILE_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                          (int)tile_abi_shared_bytes(variant->abi));
    if (status == TILE_OK && cluster_blocks(variant->abi) > PORTABLE_CLUSTER)
        status = set_attribute(d, code->function,
                               TILE_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    return status;
}

void tile_cuda_discard(cuda_device *d, tile_variant *variant) {
    cuda_code *code = variant->code;
    if (code->module) release_module(d, code->module);
    free(code);
    variant->code = NULL;
}

CUmodule tile_cuda_module(const tile_variant *variant) {
    return ((const cuda_code *)variant->code)->module->module;
}

CUfunction tile_cuda_function(const tile_variant *variant) {
    return ((const cuda_code *)variant->code)->function;
}

tile_status tile_cuda_clusters(cuda_device *d, tile_variant *variant, int *clusters) {
    cuda_code *code = variant->code;
    const tile_abi *abi = variant->abi;
    const CUlaunchConfig config = {.gridDimX = (unsigned)abi->cluster[0],
                                   .gridDimY = (unsigned)abi->cluster[1],
                                   .gridDimZ = (unsigned)abi->cluster[2],
                                   .blockDimX = 32 * tile_abi_warps(abi),
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .sharedMemBytes = tile_abi_shared_bytes(abi)};
    *clusters = atomic_load_explicit(&code->clusters, memory_order_relaxed);
    if (*clusters) return TILE_OK;
    tile_status status = tile_cuda_check(
        d, d->driver->cuOccupancyMaxActiveClusters(clusters, code->function, &config),
        "cuOccupancyMaxActiveClusters");
    atomic_store_explicit(&code->clusters, *clusters, memory_order_relaxed);
    return status;
}

tile_status tile_cuda_attributes(cuda_device *d, tile_variant *variant,
                                 tile_kernel_attributes *attributes) {
    CUfunction function = tile_cuda_function(variant);
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
        status = tile_cuda_check(
            d, d->driver->cuFuncGetAttribute(wanted[i].value, wanted[i].attribute, function),
            "cuFuncGetAttribute");
    if (status == TILE_OK) attributes->shared_bytes += (int)tile_abi_shared_bytes(variant->abi);
    return status;
}
