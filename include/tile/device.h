/* Devices run kernels: the CPU device executes the IR and checks it, the CUDA device runs its PTX.
 *
 * Buffers live in the device's memory. A launch checks its arguments (count, kinds, device,
 * alignment to the element, and that a buffer holds all of its view), evaluates the grid and the
 * scratch sizes, picks the first variant of the kernel whose conditions hold, and starts it. CUDA
 * launches do not wait; the CPU device runs the kernel at once. A launch compiles and allocates
 * only what it is the first to need; tile_kernel_prepare does that beforehand.
 *
 * Threads: on a CUDA device several threads may call tile_kernel_launch at once, for one kernel or
 * several, on one stream or several, while no other call uses the context; what they report reaches
 * the sink one by one. Everything else is as in base.h.
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

typedef struct tile_tuned_table tile_tuned_table; /* tile/tuned.h */

/* What the CPU device saw; sums over all launches since it was made. */
typedef struct tile_cpu_counts {
    uint64_t barriers;       /* blocks passing a barrier */
    uint64_t bank_conflicts; /* wavefronts beyond the fewest possible, level 3 */
    uint64_t sectors;        /* 32-byte sectors of global memory touched by warps, level 3 */
    uint64_t operations;     /* IR operations executed, per warp or block */
} tile_cpu_counts;

/* What one of an event's warps does from tick `begin` to tick `end`. */
typedef enum tile_trace_kind {
    TILE_TRACE_OPERATION,  /* on memory, or a product, or a part of synchronisation */
    TILE_TRACE_ARITHMETIC, /* several operations in a row that are none of these, from the first on
                            */
    TILE_TRACE_WAIT,       /* for other warps, or for what goes on in the background */
    TILE_TRACE_BACKGROUND, /* a copy or product that was started here, and goes on beside the warp
                            */
} tile_trace_kind;

/* Valid only while the receiver runs. On the CPU device a tick is about a cycle, by fixed costs:
 * order and overlap are what the program says, lengths are a rough model, and every block begins at
 * tick 0. On CUDA a tick is a nanosecond since the launch's first stamp; what is told is what
 * synchronises and what lies between ("between", TILE_TRACE_ARITHMETIC), of the
 * first 512 warps of the grid and about 1000 such operations of each. */
typedef struct tile_trace_event {
    tile_trace_kind kind;
    const char *operation;
    const char *file; /* "" where there is no place */
    uint32_t line, column;
    uint64_t begin, end;
    int64_t block[3];
    unsigned warp, warps; /* of the block; several that the CPU device runs as one at level 2 */
    unsigned group;       /* in roles: its group's number */
} tile_trace_event;

typedef struct tile_device_options {
    size_t size;       /* sizeof(tile_device_options) */
    unsigned level;    /* CPU: which level of the IR runs, 2 or 3; 0: 3 */
    uint64_t seed;     /* CPU: order of blocks and warps, and where they are preempted: before
                          writes to global memory and after releases. 0: natural order, in which
                          one warp of every second block rests before its first write, and who
                          releases lets those go on that wait. The same seed, the same order */
    const char *ptxas; /* CUDA: path of the assembler, NULL: the driver assembles */
    int ordinal;       /* CUDA: which device, if no context is current */
    /* Kernels are compiled for this target, and what code for it cannot do is refused. NULL: on the
     * CPU everything that the IR says, with the shared memory of sm_90; CUDA: the target with the
     * most features that the GPU runs. Another one is of its generation (TILE_UNSUPPORTED if not),
     * like sm_90 on an H200: then dots are mma.sync, and copies cp.async. */
    const tile_target *target;
    /* CPU: a launch that executes more operations than this (as tile_cpu_counts counts them) is
     * TILE_FAULT, so that a loop without end has one. 0: no limit. */
    uint64_t max_operations;
    unsigned sms; /* CPU: num_sms of host expressions; 0: 132. CUDA: the device's are counted */
    /* The folder of a cache (tile/cache.h) with tuned points; CUDA: what is to be compiled is
     * looked for there first, too, and kept: cubins if there is an assembler, else PTX, whose
     * cubins the driver keeps. NULL: none. */
    const char *cache_dir;
    /* Tuned points that are looked for where the cache has none; must outlive the device. NULL:
     * none. */
    const tile_tuned_table *tuned;
    /* Receives what the warps of all launches do, on the thread that launches; an event comes when
     * it ends. CUDA: code is compiled with stamps, each launch is waited for, and nothing is taken
     * from the cache: for looking at, not for measuring. NULL: nobody does, and it costs nothing.
     */
    void (*trace)(const tile_trace_event *event, void *user);
    void *trace_user;
    /* CPU: receives each line that a kernel prints, with its newline. NULL: they go to stdout, as
     * what a GPU prints does. */
    void (*print)(const char *line, void *user);
    void *print_user;
    /* CPU: the passes that kernels go through before they run, "" for none: as they stand, at any
     * point of a pipeline. NULL: those of tile_default_pipeline(level). */
    const char *pipeline;
    /* CPU: level 3 takes exp, log and their like from the host's math library, as level 2 does, so
     * that both levels give the same bits. false: level 3 computes them as code for GPUs does, with
     * the errors that ops.def states. */
    bool host_math;
} tile_device_options;

/* *device is the caller's, NULL after a failure; options may be NULL, and are copied, texts too.
 * TILE_INVALID: there is no such level or target. */
TILE_API tile_status tile_device_create_cpu(tile_context *context,
                                            const tile_device_options *options,
                                            tile_device **device);
/* Likewise; TILE_UNAVAILABLE where there is no driver or no GPU, TILE_UNSUPPORTED where the GPU
 * does not run the target's code, TILE_FAILED with the driver's words. Works in the calling
 * thread's current CUDA context, or else in the device's primary one. */
TILE_API tile_status tile_device_create_cuda(tile_context *context,
                                             const tile_device_options *options,
                                             tile_device **device);
TILE_API void tile_device_destroy(tile_device *device);
/* "cpu", or the GPU's name; the device's. */
TILE_API const char *tile_device_name(const tile_device *device);
TILE_API bool tile_device_is_cuda(const tile_device *device);
/* What code for this device is made for. */
TILE_API const tile_target *tile_device_target(const tile_device *device);
/* Streaming multiprocessors: num_sms of host expressions in a launch on this device. */
TILE_API unsigned tile_device_num_sms(const tile_device *device);
/* All zero on CUDA. */
TILE_API tile_cpu_counts tile_device_counts(const tile_device *device);

/* Memory of its own; its contents are undefined (NaN on the CPU). *buffer is the caller's, NULL
 * after a failure: TILE_FAILED where there is not so much memory. */
TILE_API tile_status tile_buffer_create(tile_device *device, size_t bytes, tile_buffer **buffer);
/* A buffer over memory that the caller keeps: a host pointer (CPU) or a CUdeviceptr (CUDA), which
 * is not 0 (TILE_INVALID) unless there are no bytes. */
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
TILE_API size_t tile_buffer_size(const tile_buffer *buffer); /* bytes */
/* Its contents are undefined from here on, as those of a new buffer: where a kernel reads
 * bytes that have not been written since, the CPU device reports it. The bytes stay. */
TILE_API void tile_buffer_forget(tile_buffer *buffer);

/* A kernel of a module of the device's context, with its parameters bound, ready for this device.
 * The module (not yet instantiated; it is cloned) may be destroyed afterwards. Compiles the variant
 * that assumes what the kernel declares; others are compiled when a launch needs them. Nothing is
 * compiled yet where launches pick points that are not known before: what a first launch takes is
 * all that it waits for.
 *
 * A kernel with `tune`, of whose names the bindings leave one open, picks its point at each launch:
 * the one that was set for the bucket of the arguments (tile_kernel_set_point), else, without
 * bindings, the tuned one that the device's cache or its table has for their sizes, else the tuned
 * one of others of the bucket, else on a GPU the one that the cost model took for the fastest for
 * the first of the bucket, else the first of the space; all of them agree with the bindings.
 * Arguments are in one bucket if each integer is: 1 to 16 by themselves, larger ones by eighths of
 * the power of two below them (17 and 18; 2561 to 2816), multiples of 64, of 8 and others apart,
 * for as pitches they are not alike. What is not above 0 is a bucket of its own. A bucket is called
 * by its largest sizes.
 *
 * So does a kernel or plan without `tune` of which the cache or the table has a tuned split
 * (tile_tune_options.split) when it is made without bindings; where no point is known it is as it
 * is written.
 *
 * A {const} argument that no binding gives a value is a number in the code: each value of it has
 * its own, compiled by the first launch that has it.
 *
 * The name may be a compute's: then it is what tile_schedule makes of it, with its arguments.
 *
 * The name may be a plan's: then a launch takes the plan's arguments and goes through its steps on
 * the stream, after all of them have been checked. Its scratch is kept for each stream that it is
 * launched on, until the kernel is destroyed; two threads do not launch it on one stream at once.
 * It has no abi (NULL), PTX or attributes of its own; what is timed is all of its steps. So it is
 * with a kernel at a point that takes several launches, as `split (8, workspace)`: points of one
 * kernel may take one or several.
 *
 * *out is the caller's, NULL after a failure: TILE_INVALID where there is no such kernel or the
 * bindings do not fit, else as tile_artifact_build (tile/artifact.h) and the driver's loading. */
TILE_API tile_status tile_kernel_create(tile_device *device, const tile_module *module,
                                        const char *kernel, const tile_binding *bindings,
                                        unsigned binding_count, tile_kernel **out);
TILE_API void tile_kernel_destroy(tile_kernel *kernel);
/* The declared variant's, of a kernel that picks at the first point of its space, compiled if it is
 * not yet; borrowed. NULL after a diagnostic if it does not compile. So with the PTX, which is
 * empty then, and the attributes. */
TILE_API const tile_abi *tile_kernel_abi(const tile_kernel *kernel);
TILE_API const tile_blob *tile_kernel_ptx(const tile_kernel *kernel); /* CUDA; empty on the CPU */

typedef struct tile_kernel_attributes {
    int registers;    /* per thread */
    int local_bytes;  /* per thread: spills and stack */
    int shared_bytes; /* per block */
    int max_threads;  /* per block */
} tile_kernel_attributes;

/* Of the variant that tile_kernel_abi shows. TILE_UNSUPPORTED on the CPU device, and of plans. */
TILE_API tile_status tile_kernel_get_attributes(tile_kernel *kernel,
                                                tile_kernel_attributes *attributes);

/* An argument, at most TILE_MAX_ARGUMENTS of them: a buffer for a view or a pointer (with an offset
 * in bytes, where the view has its coordinates 0), an integer or a float for a scalar. */
typedef struct tile_argument {
    tile_buffer *buffer;
    size_t offset;
    int64_t integer;
    double number;
} tile_argument;

/* Compiles, loads, allocates and sorts (tile_abi_make_table) what a launch with such arguments on
 * this stream needs, so that the launch neither does that nor waits. The buffers are looked at for
 * size and alignment only. */
TILE_API tile_status tile_kernel_prepare(tile_kernel *kernel, const tile_argument *arguments,
                                         unsigned argument_count, void *stream);
/* The interface of the variant that a launch with these arguments takes, which is compiled if it is
 * not yet; the kernel's. */
TILE_API tile_status tile_kernel_variant(tile_kernel *kernel, const tile_argument *arguments,
                                         unsigned argument_count, const tile_abi **abi);
/* The parameters of the point that a launch with these arguments takes, which is compiled if it is
 * not yet: *binding_count of them, the kernel's. None where the kernel has none, or takes the first
 * of its space. */
TILE_API tile_status tile_kernel_point(tile_kernel *kernel, const tile_argument *arguments,
                                       unsigned argument_count, const tile_binding **bindings,
                                       unsigned *binding_count);
/* From now on launches in the bucket of these arguments take the point of these bindings, which is
 * compiled at once; what the kernel was made with holds where they do not name it. Only for kernels
 * that pick. */
TILE_API tile_status tile_kernel_set_point(tile_kernel *kernel, const tile_argument *arguments,
                                           unsigned argument_count, const tile_binding *bindings,
                                           unsigned binding_count);
/* stream: a CUstream or NULL. The CPU device ignores it. On a stream that is being captured,
 * TILE_UNSUPPORTED if tile_kernel_prepare would have something to do. An empty grid is no error and
 * launches nothing. */
TILE_API tile_status tile_kernel_launch(tile_kernel *kernel, const tile_argument *arguments,
                                        unsigned argument_count, void *stream);
/* Encodes a tensor map (tile_abi_tensor_map) for those who launch the PTX by themselves: 128 bytes,
 * by the CUDA driver but without a GPU. TILE_UNSUPPORTED after a diagnostic where the hardware has
 * no such map (then launch the next variant), TILE_UNAVAILABLE without a driver. */
TILE_API tile_status tile_encode_tensor_map(tile_context *context, const tile_tensor_map *map,
                                            void *encoded);
/* Waits for everything launched; reports what went wrong meanwhile. */
TILE_API tile_status tile_device_synchronize(tile_device *device);
/* Milliseconds of one launch on the device, on the default stream: the median over `repeats`
 * launches (at least one) after `warmup` ones; with flush_l2 a buffer larger than the L2 is written
 * before each. CPU: wall time. tile/measure.h has more. */
TILE_API tile_status tile_kernel_time(tile_kernel *kernel, const tile_argument *arguments,
                                      unsigned argument_count, unsigned warmup, unsigned repeats,
                                      bool flush_l2, double *milliseconds);

#ifdef __cplusplus
}
#endif

#endif
