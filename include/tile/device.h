/* Devices run kernels: the CPU device executes the IR and checks it, the CUDA device runs its PTX.
 *
 * Buffers live in the device's memory. A launch checks its arguments (count, kinds, device,
 * alignment to the element), evaluates the grid and the scratch sizes, picks the variant of the
 * kernel that the arguments' divisibility allows, and starts it. CUDA launches do not wait; the CPU
 * device runs the kernel at once.
 *
 * Ownership: buffers and kernels are destroyed before their device, a device before its context.
 * Errors: bad arguments are TILE_INVALID, what the driver or the system refuses TILE_FAILED, what a
 * kernel does wrong while it runs TILE_FAULT (on the CPU from the launch, on CUDA from whichever
 * call waits next); each after a diagnostic. */
#ifndef TILE_DEVICE_H
#define TILE_DEVICE_H

#include "tile/compile.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tile_device tile_device;
typedef struct tile_buffer tile_buffer;
typedef struct tile_kernel tile_kernel;

/* What the CPU device saw; sums over all launches since it was made. */
typedef struct tile_cpu_counts {
    uint64_t barriers;       /* blocks passing a barrier */
    uint64_t bank_conflicts; /* wavefronts beyond the fewest possible, level 3 */
    uint64_t sectors;        /* 32-byte sectors of global memory touched by warps, level 3 */
    uint64_t operations;     /* IR operations executed, per warp or block */
} tile_cpu_counts;

typedef struct tile_device_options {
    size_t size;       /* sizeof(tile_device_options) */
    unsigned level;    /* CPU: which level of the IR runs, 2 or 3; 0: 3 */
    uint64_t seed;     /* CPU: order of blocks and warps, and where they are preempted: before
                          writes to global memory and after releases. 0: natural order, in which
                          one warp of every second block rests before its first write, and who
                          releases lets those go on that wait. The same seed, the same order */
    const char *ptxas; /* CUDA: path of the assembler, NULL: the driver assembles */
    int ordinal;       /* CUDA: which device, if no context is current */
    /* CPU: kernels are compiled for this target, and what code for it cannot do is refused. NULL:
     * everything that the IR says runs, with the shared memory of sm_90. */
    const tile_target *target;
    /* CPU: a launch that executes more operations than this (as tile_cpu_counts counts them) is
     * TILE_FAULT, so that a loop without end has one. 0: no limit. */
    uint64_t max_operations;
    unsigned sms; /* CPU: num_sms of host expressions; 0: 132. CUDA: the device's are counted */
} tile_device_options;

/* options may be NULL. */
TILE_API tile_status tile_device_create_cpu(tile_context *context,
                                            const tile_device_options *options,
                                            tile_device **device);
/* TILE_UNAVAILABLE where there is no driver or no GPU. Works in the calling thread's current CUDA
 * context, or else in the device's primary one. */
TILE_API tile_status tile_device_create_cuda(tile_context *context,
                                             const tile_device_options *options,
                                             tile_device **device);
TILE_API void tile_device_destroy(tile_device *device);
TILE_API const char *tile_device_name(const tile_device *device); /* "cpu", or the GPU's name */
TILE_API bool tile_device_is_cuda(const tile_device *device);
/* What code for this device is made for. */
TILE_API const tile_target *tile_device_target(const tile_device *device);
/* Streaming multiprocessors: num_sms of host expressions in a launch on this device. */
TILE_API unsigned tile_device_num_sms(const tile_device *device);
/* All zero on CUDA. */
TILE_API tile_cpu_counts tile_device_counts(const tile_device *device);

/* Memory of its own; its contents are undefined (NaN on the CPU). */
TILE_API tile_status tile_buffer_create(tile_device *device, size_t bytes, tile_buffer **buffer);
/* A buffer over memory that the caller keeps: a host pointer (CPU) or a CUdeviceptr (CUDA). */
TILE_API tile_status tile_buffer_wrap(tile_device *device, uint64_t address, size_t bytes,
                                      tile_buffer **buffer);
TILE_API void tile_buffer_destroy(tile_buffer *buffer);
/* Copies that are done when the call returns. CUDA: they wait for launches on the default stream
 * and on streams that synchronise with it, not on others. TILE_INVALID if the bytes are not all
 * inside the buffer. */
TILE_API tile_status tile_buffer_write(tile_buffer *buffer, size_t offset, const void *data,
                                       size_t bytes);
TILE_API tile_status tile_buffer_read(const tile_buffer *buffer, size_t offset, void *data,
                                      size_t bytes);
TILE_API size_t tile_buffer_size(const tile_buffer *buffer);

/* A kernel of a module of the device's context, with its parameters bound, ready for this device.
 * The module (not yet instantiated; it is cloned) may be destroyed afterwards. Compiles the variant
 * that assumes what the kernel declares; others are compiled when a launch needs them. */
TILE_API tile_status tile_kernel_create(tile_device *device, const tile_module *module,
                                        const char *kernel, const tile_binding *bindings,
                                        unsigned binding_count, tile_kernel **out);
TILE_API void tile_kernel_destroy(tile_kernel *kernel);
/* The declared variant's; borrowed. */
TILE_API const tile_abi *tile_kernel_abi(const tile_kernel *kernel);
TILE_API const tile_blob *tile_kernel_ptx(const tile_kernel *kernel); /* CUDA; empty on the CPU */

typedef struct tile_kernel_attributes {
    int registers;    /* per thread */
    int local_bytes;  /* per thread: spills and stack */
    int shared_bytes; /* per block */
    int max_threads;  /* per block */
} tile_kernel_attributes;

/* CUDA only; TILE_UNSUPPORTED elsewhere. */
TILE_API tile_status tile_kernel_get_attributes(tile_kernel *kernel,
                                                tile_kernel_attributes *attributes);

/* An argument, at most 64 of them: a buffer for a pointer (with an offset in bytes), an integer or
 * a float for a scalar. */
typedef struct tile_argument {
    tile_buffer *buffer;
    size_t offset;
    int64_t integer;
    double number;
} tile_argument;

/* stream: a CUstream or NULL. The CPU device ignores it. A stream that is being captured needs one
 * launch of the kernel before, if it has scratch memory. An empty grid is no error and launches
 * nothing. */
TILE_API tile_status tile_kernel_launch(tile_kernel *kernel, const tile_argument *arguments,
                                        unsigned argument_count, void *stream);
/* Waits for everything launched; reports what went wrong meanwhile. */
TILE_API tile_status tile_device_synchronize(tile_device *device);
/* Milliseconds of one launch on the device, on the default stream: the median over `repeats`
 * launches (at least one) after `warmup` ones; with flush_l2 a buffer larger than the L2 is written
 * before each. CPU: wall time. */
TILE_API tile_status tile_kernel_time(tile_kernel *kernel, const tile_argument *arguments,
                                      unsigned argument_count, unsigned warmup, unsigned repeats,
                                      bool flush_l2, double *milliseconds);

#ifdef __cplusplus
}
#endif

#endif
