/* Launches on the caller's stream, and their scratch memory.
 *
 * Scratch belongs to a stream, whose launches run one after the other. It grows by doubling. Old
 * chunks are kept until the end, because launches in flight and captured graphs may still use them.
 * So a launch allocates and clears only when it needs more than all launches before it on that
 * stream, and never waits. A kernel leaves clean scratch clean. After a failed launch its state is
 * unknown, and it is cleared before the next use. A captured graph shares the scratch of the stream
 * on which it was captured: the two must not run concurrently.
 *
 * Several threads may launch concurrently. Streams and their memory are only added, under the
 * context's lock, and published when they are complete. */
#include "runtime/cuda/device.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "lib/ir/function.h"
#include "lib/launch/data.h"
#include "lib/support/context.h"

static const tile_loc no_location = {0, 0, 0};

/* Scratch ------------------------------------------------------------------------------------- */

typedef struct chunk {
    struct chunk *next; /* outgrown chunks */
    CUdeviceptr address;
    size_t bytes;
} chunk;

struct cuda_scratch {
    struct cuda_scratch *next;
    CUstream stream;
    chunk *_Atomic clean, *_Atomic plain;
    atomic_bool needs_clear;
};

/* NULL if the stream has none yet. */
static cuda_scratch *find_scratch(cuda_device *d, CUstream stream) {
    cuda_scratch *s = atomic_load_explicit(&d->scratches, memory_order_acquire);
    while (s && s->stream != stream) s = s->next;
    return s;
}

/* Call it under the context's lock. */
static cuda_scratch *add_scratch(cuda_device *d, CUstream stream) {
    cuda_scratch *s = find_scratch(d, stream);
    if (s) return s;
    s = tile_malloc(sizeof *s);
    *s = (cuda_scratch){.next = d->scratches, .stream = stream};
    atomic_store_explicit(&d->scratches, s, memory_order_release);
    return s;
}

tile_status tile_cuda_is_capturing(cuda_device *d, CUstream stream, bool *capturing) {
    CUstreamCaptureStatus found = TILE_CU_STREAM_CAPTURE_STATUS_NONE;
    tile_status status =
        tile_cuda_check(d, d->driver->cuStreamIsCapturing(stream, &found), "cuStreamIsCapturing");
    *capturing = found != TILE_CU_STREAM_CAPTURE_STATUS_NONE;
    return status;
}

/* A captured graph would repeat the clearing, and an allocation would end the capture. */
static tile_status refuse_capture(cuda_device *d, CUstream stream) {
    bool capturing;
    tile_status status = tile_cuda_is_capturing(d, stream, &capturing);
    if (status != TILE_OK || !capturing) return status;
    tile_report(d->base.context, TILE_ERROR, no_location,
                "scratch memory cannot be allocated while the stream is being captured; call "
                "tile_kernel_prepare with this stream and these arguments before the capture");
    return TILE_UNSUPPORTED;
}

static tile_status clear(cuda_device *d, const chunk *memory, CUstream stream) {
    return tile_cuda_check(d, d->driver->cuMemsetD8Async(memory->address, 0, memory->bytes, stream),
                           "cuMemsetD8Async");
}

static bool is_short(const chunk *memory, size_t want) {
    return want > (memory ? memory->bytes : 0);
}

static tile_status grow(cuda_device *d, chunk *_Atomic *memory, size_t want) {
    size_t doubled = *memory ? 2 * (*memory)->bytes : 0;
    chunk *bigger = tile_malloc(sizeof *bigger);
    *bigger = (chunk){.next = *memory, .bytes = want > doubled ? want : doubled};
    tile_status status =
        tile_cuda_check(d, d->driver->cuMemAlloc(&bigger->address, bigger->bytes), "cuMemAlloc");
    if (status == TILE_OK)
        atomic_store_explicit(memory, bigger, memory_order_release);
    else
        free(bigger);
    return status;
}

static bool lacks(const cuda_scratch *s, size_t clean, size_t plain) {
    return is_short(s->clean, clean) || (clean && s->needs_clear) || is_short(s->plain, plain);
}

/* Call it under the context's lock. New or dirty chunks are cleared before they are published. */
static tile_status provide(cuda_device *d, cuda_scratch *s, size_t clean, size_t plain) {
    if (!lacks(s, clean, plain)) return TILE_OK;
    bool dirty = is_short(s->clean, clean) || (clean && s->needs_clear);
    tile_status status = refuse_capture(d, s->stream);
    if (status == TILE_OK && is_short(s->plain, plain)) status = grow(d, &s->plain, plain);
    if (status == TILE_OK && is_short(s->clean, clean)) {
        s->needs_clear = true;
        status = grow(d, &s->clean, clean);
    }
    if (status == TILE_OK && dirty) {
        status = clear(d, s->clean, s->stream);
        s->needs_clear = status != TILE_OK;
    }
    return status;
}

/* *out is NULL if the launch needs none. */
static tile_status take_scratch(cuda_device *d, const tile_launch *launch, cuda_scratch **out) {
    size_t clean = (size_t)launch->clean_bytes, plain = (size_t)launch->plain_bytes;
    *out = NULL;
    if (!clean && !plain) return TILE_OK;
    *out = find_scratch(d, launch->stream);
    if (*out && !lacks(*out, clean, plain)) return TILE_OK;
    tile_context_lock(d->base.context);
    *out = add_scratch(d, launch->stream);
    tile_status status = provide(d, *out, clean, plain);
    tile_context_unlock(d->base.context);
    return status;
}

tile_status tile_cuda_reserve(cuda_device *d, const tile_launch *launch) {
    cuda_scratch *s;
    return take_scratch(d, launch, &s);
}

void tile_cuda_mark_scratch_dirty(cuda_device *d) {
    cuda_scratch *s = atomic_load_explicit(&d->scratches, memory_order_acquire);
    for (; s; s = s->next) s->needs_clear = true;
}

static void free_chunks(cuda_device *d, chunk *memory) {
    for (chunk *next; memory; memory = next) {
        next = memory->next;
        d->driver->cuMemFree(memory->address);
        free(memory);
    }
}

void tile_cuda_free_scratch(cuda_device *d) {
    for (cuda_scratch *s = d->scratches, *next; s; s = next) {
        next = s->next;
        free_chunks(d, s->clean);
        free_chunks(d, s->plain);
        free(s);
    }
    d->scratches = NULL;
}

/* Launches ------------------------------------------------------------------------------------ */

/* The bytes of one parameter. The driver reads the size that the kernel declares. */
typedef union parameter {
    CUdeviceptr address;
    int64_t integer;
    unsigned char bytes[8];
} parameter;

static void fill_argument(parameter *p, const tile_type *type, const tile_argument *argument) {
    if (tile_type_is_address(type))
        p->address = argument->buffer->address + argument->offset;
    else if (tile_scalar_is_floating(type->scalar))
        tile_scalar_write(type->scalar, p->bytes, argument->number);
    else
        p->integer = argument->integer; /* little-endian: narrower integers are the first bytes */
}

/* The memory is NULL if the launch does not need it. */
static CUdeviceptr address_of(const chunk *memory) {
    return memory ? memory->address : 0;
}

/* s may be NULL. */
static void fill_parameter(parameter *p, const tile_launch *launch, const cuda_scratch *s,
                           const tile_abi_parameter *what) {
    switch (what->kind) {
    case TILE_PARAMETER_argument:
        fill_argument(p, tile_abi_arg_at(launch->variant->abi, what->index)->type,
                      &launch->arguments[what->index]);
        break;
    case TILE_PARAMETER_clean_scratch: p->address = s ? address_of(s->clean) : 0; break;
    case TILE_PARAMETER_scratch: p->address = s ? address_of(s->plain) : 0; break;
    case TILE_PARAMETER_table: p->address = launch->tables[what->index].address; break;
    case TILE_PARAMETER_tensor_map: break; /* copied from launch->maps */
    }
}

static tile_status check_parameters(cuda_device *d, const tile_launch *launch) {
    unsigned count = tile_abi_parameter_count(launch->variant->abi);
    if (count <= TILE_MAX_PARAMETERS) return TILE_OK;
    tile_report(d->base.context, TILE_ERROR, no_location,
                "@%s: the kernel has %u parameters, and a launch takes at most %d",
                tile_abi_entry(launch->variant->abi), count, TILE_MAX_PARAMETERS);
    return TILE_UNSUPPORTED;
}

/* The attributes that the launch needs; returns their number. */
static unsigned fill_attributes(const tile_launch *launch, CUlaunchAttribute attributes[2]) {
    unsigned count = 0;
    if (launch->resident)
        attributes[count++] =
            (CUlaunchAttribute){.id = TILE_CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.number = 1};
    if (launch->overlaps)
        attributes[count++] = (CUlaunchAttribute){
            .id = TILE_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, .value.number = 1};
    return count;
}

static tile_status start(cuda_device *d, const tile_launch *launch, void **parameters) {
    const tile_abi *abi = launch->variant->abi;
    CUlaunchAttribute attributes[2];
    const CUlaunchConfig config = {.gridDimX = (unsigned)launch->grid[0],
                                   .gridDimY = (unsigned)launch->grid[1],
                                   .gridDimZ = (unsigned)launch->grid[2],
                                   .blockDimX = 32 * tile_abi_warps(abi),
                                   .blockDimY = 1,
                                   .blockDimZ = 1,
                                   .sharedMemBytes = tile_abi_shared_bytes(abi),
                                   .hStream = launch->stream,
                                   .attrs = attributes,
                                   .numAttrs = fill_attributes(launch, attributes)};
    CUresult result =
        d->driver->cuLaunchKernelEx(&config, tile_cuda_function(launch->variant), parameters, NULL);
    if (launch->resident && result == TILE_CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE)
        return TILE_UNAVAILABLE; /* the caller may have a fallback */
    return tile_cuda_check(d, result, "cuLaunchKernelEx");
}

tile_status tile_cuda_launch(cuda_device *d, const tile_launch *launch) {
    const tile_abi *abi = launch->variant->abi;
    parameter values[TILE_MAX_PARAMETERS];
    void *pointers[TILE_MAX_PARAMETERS];
    unsigned count = tile_abi_parameter_count(abi);
    cuda_scratch *s;
    tile_status status = check_parameters(d, launch);
    if (status == TILE_OK) status = tile_abi_check_grid(abi, launch->grid);
    if (status == TILE_OK) status = take_scratch(d, launch, &s);
    if (status != TILE_OK) return status;
    for (unsigned i = 0; i < count; i++) {
        const tile_abi_parameter *what = tile_abi_parameter_at(abi, i);
        fill_parameter(&values[i], launch, s, what);
        pointers[i] = what->kind == TILE_PARAMETER_tensor_map
                          ? (void *)(uintptr_t)launch->maps[what->index].encoded
                          : &values[i];
    }
    status = start(d, launch, pointers);
    if (status == TILE_OK && d->trace)
        status = tile_cuda_report_stamps(d, launch, tile_cuda_module(launch->variant));
    if (status != TILE_OK && status != TILE_UNAVAILABLE) tile_cuda_mark_scratch_dirty(d);
    return status;
}
