/* Private header of runtime/cuda. */
#ifndef TILE_RUNTIME_CUDA_DEVICE_H
#define TILE_RUNTIME_CUDA_DEVICE_H

#include "runtime/cuda/driver/driver.h"
#include "runtime/device/device.h"

typedef struct cuda_module cuda_module;   /* module.c */
typedef struct cuda_scratch cuda_scratch; /* launch.c */

typedef struct cuda_device {
    tile_device base;
    const tile_driver *driver;
    CUdevice device;
    CUcontext context; /* used for all work of the device */
    bool retained;     /* it is the primary context, which we retain */
    char name[128];
    char *ptxas;
    int l2_bytes;
    void (*trace)(const tile_trace_event *event, void *user); /* NULL: no trace is requested */
    void *trace_user;
    bool power_is_asked;
    unsigned power_limit; /* mW, after the first query */
    cuda_scratch *_Atomic scratches;
    cuda_module *modules;
    /* For measurements, allocated when first needed. */
    CUdeviceptr flush; /* a buffer */
    CUmodule flush_module;
    CUfunction flush_reader;
    CUevent start, end;
} cuda_device;

/* tile_device_create_cuda with a given driver. */
tile_status tile_cuda_device_create(tile_context *context, const tile_driver *driver,
                                    const tile_device_options *options, tile_device **device);

static inline tile_status tile_cuda_check(cuda_device *d, CUresult result, const char *what) {
    return tile_driver_check(d->base.context, d->driver, result, what);
}

/* The GPU's power limit in milliwatts at the first query, from NVML; 0 if unknown. Call it under
 * the context's lock. */
unsigned tile_cuda_power_limit(cuda_device *d);

/* The following functions need the device's context to be current. */

/* Sets variant->code. If it fails, discard frees what has been set. */
tile_status tile_cuda_prepare(cuda_device *d, tile_variant *variant);
void tile_cuda_discard(cuda_device *d, tile_variant *variant);
/* How many clusters of the variant run concurrently. */
tile_status tile_cuda_clusters(cuda_device *d, tile_variant *variant, int *clusters);
tile_status tile_cuda_attributes(cuda_device *d, tile_variant *variant,
                                 tile_kernel_attributes *attributes);
CUmodule tile_cuda_module(const tile_variant *variant);
/* stamps.c: waits for the launch and reports its stamps as trace events. */
tile_status tile_cuda_report_stamps(cuda_device *d, const tile_launch *launch, CUmodule module);
CUfunction tile_cuda_function(const tile_variant *variant);

/* map.c. encoded: aligned to 64 bytes. */
CUresult tile_driver_encode(const tile_driver *driver, const tile_tensor_map *array,
                            unsigned char *encoded);

tile_status tile_cuda_launch(cuda_device *d, const tile_launch *launch);
/* Allocates the scratch memory that the launch needs. */
tile_status tile_cuda_reserve(cuda_device *d, const tile_launch *launch);
tile_status tile_cuda_is_capturing(cuda_device *d, CUstream stream, bool *capturing);
/* time.c: the operation `time` of the device. */
tile_status tile_cuda_time(cuda_device *d, const tile_timed *timed, double *seconds);
void tile_cuda_free_timing(cuda_device *d);
/* The PTX of the kernel that reads a buffer. Parameters: its address, its size in units of 16
 * bytes, and an address for a word that is never written. */
extern const char tile_cuda_read_ptx[];
/* Called after a failed launch: clean scratch must be cleared before its next use. */
void tile_cuda_mark_scratch_dirty(cuda_device *d);
void tile_cuda_free_scratch(cuda_device *d);

#endif
