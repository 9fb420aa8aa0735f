/* Devices run kernels: the CPU device executes the IR and checks it, the CUDA device runs PTX.
 *
 * Buffers are in the device's memory. A launch checks its arguments (count, kinds, device,
 * alignment to the element, and that a buffer holds all of its view) and evaluates the grid and the
 * scratch sizes. It then selects the first variant of the kernel whose conditions hold, and starts
 * it. CUDA launches are asynchronous; the CPU device runs the kernel before the launch returns. A
 * launch compiles and allocates only what no earlier launch needed; tile_kernel_prepare does that
 * in advance.
 *
 * Threads: on a CUDA device several threads may call tile_kernel_launch concurrently, for one
 * kernel or several, on one stream or several, while no other call uses the context. Their
 * diagnostics reach the sink one at a time. Everything else is as in base.h.
 *
 * Ownership: destroy buffers and kernels before their device, and a device before its context.
 *
 * Errors, each reported as a diagnostic: TILE_INVALID for bad arguments, TILE_FAILED if the driver
 * or the system rejects a call, and TILE_FAULT if a kernel performs an illegal operation. The CPU
 * device returns TILE_FAULT from the launch, the CUDA device from the next call that waits. */
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

/* Counters of the CPU device, summed over all launches since it was created. */
typedef struct tile_cpu_counts {
    uint64_t barriers;       /* how often a block passed a barrier */
    uint64_t bank_conflicts; /* shared memory wavefronts beyond the minimum, level 3 */
    uint64_t sectors;        /* 32-byte sectors of global memory touched by warps, level 3 */
    uint64_t operations;     /* IR operations executed, per warp or block */
} tile_cpu_counts;

/* What a warp does from tick `begin` to tick `end` of an event. */
typedef enum tile_trace_kind {
    TILE_TRACE_OPERATION,  /* a memory operation, a product, or a part of synchronization */
    TILE_TRACE_ARITHMETIC, /* a sequence of other operations; named after the first one */
    TILE_TRACE_WAIT,       /* for other warps, or for asynchronous operations */
    TILE_TRACE_BACKGROUND, /* an asynchronous copy or product from its start to its completion,
                              while the warp continues */
} tile_trace_kind;

/* An event, valid only during the call that receives it. On the CPU device a tick is about one
 * cycle, by a fixed cost of each operation. Order and overlap of events follow the program,
 * durations are a rough model, and every block begins at tick 0. On CUDA a tick is a nanosecond
 * since the first stamp of the launch. There, events are synchronizing operations and the time
 * between them ("between", TILE_TRACE_ARITHMETIC), for the first 512 warps of the grid and about
 * 1000 such operations per warp. */
typedef struct tile_trace_event {
    tile_trace_kind kind;
    const char *operation;
    const char *file; /* "" if there is no position */
    uint32_t line, column;
    uint64_t begin, end;
    int64_t block[3];
    unsigned warp, warps; /* first warp in the block, and how many; more than 1 where the CPU device
                             runs several warps as one at level 2 */
    unsigned group;       /* in roles: the number of its group */
} tile_trace_event;

typedef struct tile_device_options {
    size_t size;    /* sizeof(tile_device_options) */
    unsigned level; /* CPU: which level of the IR runs, 2 or 3; 0: 3 */
    /* CPU: determines the order of blocks and warps, and where they are preempted: before writes to
     * global memory and after releases. 0: natural order, except that one warp of every second
     * block is delayed before its first write, and a release yields to the warps that wait for it.
     * Equal seeds give equal orders. */
    uint64_t seed;
    const char *ptxas; /* CUDA: path of the assembler, NULL: the driver assembles PTX */
    int ordinal;       /* CUDA: index of the device, used if no context is current */
    /* Kernels are compiled for this target; operations that it does not support are rejected. NULL:
     * on the CPU everything that the IR can express, with the shared memory of sm_90; on CUDA the
     * target with the most features that the GPU supports. You can select another target that the
     * GPU can run, such as sm_90 on an H200: then dots are mma.sync, and copies cp.async. Any other
     * target is TILE_UNSUPPORTED. */
    const tile_target *target;
    /* CPU: a launch that executes more operations than this (counted as in tile_cpu_counts), or a
     * plan that executes more steps, is TILE_FAULT. This ends infinite loops. 0: no limit. */
    uint64_t max_operations;
    unsigned sms; /* CPU: the value of num_sms in host expressions; 0: 132. Ignored on CUDA, which
                     uses the device's */
    /* The folder of a cache (tile/cache.h) with tuned points. CUDA: compiled code is also looked up
     * and stored there: cubins if there is an assembler, otherwise PTX, whose cubins the driver
     * caches. NULL: none. */
    const char *cache_dir;
    /* Tuned points that are used if the cache has none. The table must outlive the device. NULL:
     * none. */
    const tile_tuned_table *tuned;
    /* Receives the events of all warps of all launches, on the thread that launches, each when it
     * ends. CUDA: code is compiled with stamps, each launch is waited for, and the cache is not
     * read. Use it for inspection, not for measurements. NULL: no tracing and no overhead. */
    void (*trace)(const tile_trace_event *event, void *user);
    void *trace_user;
    /* CPU: receives each line that a kernel prints, with its newline. NULL: lines go to stdout,
     * like the output of printf on a GPU. */
    void (*print)(const char *line, void *user);
    void *print_user;
    /* CPU: the passes that run on kernels before execution. "": none, so that the IR of any point
     * of a pipeline can be executed. NULL: tile_default_pipeline(level). */
    const char *pipeline;
    /* CPU: at level 3 use exp, log and similar functions of the host's math library, as level 2
     * does, so that both levels give equal bits. false: level 3 computes them as GPU code does,
     * with the errors stated in ops.def. */
    bool host_math;
} tile_device_options;

/* The caller owns *device, which is NULL after a failure. options may be NULL; they are copied,
 * including strings. Returns TILE_INVALID if there is no such level or target. */
TILE_API tile_status tile_device_create_cpu(tile_context *context,
                                            const tile_device_options *options,
                                            tile_device **device);
/* Likewise for CUDA. Returns TILE_UNAVAILABLE if there is no driver or no GPU, TILE_UNSUPPORTED if
 * the GPU cannot run the target's code, TILE_FAILED with the driver's message. Uses the calling
 * thread's current CUDA context, or else the device's primary context. */
TILE_API tile_status tile_device_create_cuda(tile_context *context,
                                             const tile_device_options *options,
                                             tile_device **device);
TILE_API void tile_device_destroy(tile_device *device);
/* "cpu", or the name of the GPU. Owned by the device. */
TILE_API const char *tile_device_name(const tile_device *device);
TILE_API bool tile_device_is_cuda(const tile_device *device);
/* The target that code for this device is compiled for. */
TILE_API const tile_target *tile_device_target(const tile_device *device);
/* Number of streaming multiprocessors: num_sms in host expressions of a launch on this device. */
TILE_API unsigned tile_device_num_sms(const tile_device *device);
/* All zero on CUDA. */
TILE_API tile_cpu_counts tile_device_counts(const tile_device *device);

/* Allocates device memory with undefined contents (NaN on the CPU). The caller owns *buffer, which
 * is NULL after a failure: TILE_FAILED if there is not enough memory. */
TILE_API tile_status tile_buffer_create(tile_device *device, size_t bytes, tile_buffer **buffer);
/* Creates a buffer for memory that the caller owns: a host pointer (CPU) or a CUdeviceptr (CUDA).
 * The address must not be 0 (TILE_INVALID) unless bytes is 0. */
TILE_API tile_status tile_buffer_wrap(tile_device *device, uint64_t address, size_t bytes,
                                      tile_buffer **buffer);
TILE_API void tile_buffer_destroy(tile_buffer *buffer);
/* Copies that are complete when the call returns. CUDA: they wait for launches on the default
 * stream and on streams that synchronize with it, not on other streams. Returns TILE_INVALID if the
 * range is not inside the buffer. */
TILE_API tile_status tile_buffer_write(tile_buffer *buffer, size_t offset, const void *data,
                                       size_t bytes);
TILE_API tile_status tile_buffer_read(const tile_buffer *buffer, size_t offset, void *data,
                                      size_t bytes);
TILE_API size_t tile_buffer_size(const tile_buffer *buffer); /* bytes */
/* Marks the contents as undefined, like those of a new buffer, without changing the bytes. The CPU
 * device then reports kernels that read bytes before they are written again. */
TILE_API void tile_buffer_forget(tile_buffer *buffer);

/* Creates a kernel from a module of the device's context, with its parameters bound, for this
 * device. The module must not be instantiated. It is cloned and may be destroyed afterwards. The
 * call compiles the variant that assumes the declared conditions; other variants are compiled when
 * a launch needs them. If launches select tune points, nothing is compiled yet; each launch
 * compiles only the point that it uses.
 *
 * A kernel with `tune` for which the bindings do not fix all tuned names selects its point at each
 * launch. It takes the first of these that exists and agrees with the bindings:
 *
 * - the point that tile_kernel_set_point set for the bucket of the arguments,
 * - without bindings, the tuned point for their exact sizes from the device's cache or table,
 * - without bindings, a tuned point for other sizes of the bucket,
 * - on a GPU, the point that the cost model estimated to be the fastest for the first launch of the
 *   bucket,
 * - the first point of the space.
 *
 * Each launch checks the `where` clauses that name arguments with its exact sizes. If one of them
 * is false at the selected point, the launch takes the first point of the space at which all of
 * them are true. It fails with TILE_INVALID if there is no such point, if the bindings fix all
 * parameters, or if tile_kernel_set_point set the point. The launches of a plan's kernels are
 * checked before the first one runs.
 *
 * A bucket is a range of argument sizes that share one tuned point. Arguments are in the same
 * bucket if each integer is. Each of the integers 1 to 16 is a bucket. Larger integers are grouped
 * by eighths of the next lower power of two (17 and 18; 2561 to 2816). Within such a group,
 * multiples of 64, multiples of 8, and others are different buckets, because they behave
 * differently as pitches. Each integer below 1 is a bucket. A bucket is named after its largest
 * sizes.
 *
 * A kernel or plan without `tune`, made without bindings, also selects points if the cache or the
 * table has a tuned split for it (tile_tune_options.split). Launches for which no point is known
 * use the kernel as written.
 *
 * A {const} argument without a binding is a constant in the code. Each of its values has separate
 * code, compiled by the first launch with that value.
 *
 * The name may be that of a compute: then the kernel is the function that tile_schedule makes of
 * it, with its arguments.
 *
 * The name may be that of a plan: then a launch takes the plan's arguments, checks all steps, and
 * runs them on the stream. Its scratch is kept for each stream that it is launched on, until the
 * kernel is destroyed. Two threads must not launch a plan on the same stream at once. A plan has no
 * abi (NULL), PTX or attributes; timing covers all of its steps. The same holds for a kernel at a
 * point that takes several launches, such as `split (8, workspace)`. Points of one kernel may take
 * one launch or several.
 *
 * The caller owns *out, which is NULL after a failure: TILE_INVALID if there is no such kernel or
 * the bindings do not match, otherwise as tile_artifact_build (tile/artifact.h) and the driver's
 * module loading. */
TILE_API tile_status tile_kernel_create(tile_device *device, const tile_module *module,
                                        const char *kernel, const tile_binding *bindings,
                                        unsigned binding_count, tile_kernel **out);
TILE_API void tile_kernel_destroy(tile_kernel *kernel);
/* The interface of the declared variant; for a kernel that selects points, at the first point of
 * its space. It is compiled if necessary, and borrowed. Returns NULL after a diagnostic if it does
 * not compile. The same holds for the PTX, which is empty after a failure, and for the
 * attributes. */
TILE_API const tile_abi *tile_kernel_abi(const tile_kernel *kernel);
TILE_API const tile_blob *tile_kernel_ptx(const tile_kernel *kernel); /* CUDA; empty on the CPU */

typedef struct tile_kernel_attributes {
    int registers;    /* per thread */
    int local_bytes;  /* per thread: spills and stack */
    int shared_bytes; /* per block */
    int max_threads;  /* per block */
} tile_kernel_attributes;

/* Attributes of the variant that tile_kernel_abi returns. TILE_UNSUPPORTED on the CPU device and
 * for plans. */
TILE_API tile_status tile_kernel_get_attributes(tile_kernel *kernel,
                                                tile_kernel_attributes *attributes);

/* An argument of a launch, which has at most TILE_MAX_ARGUMENTS. Views and pointers use buffer and
 * offset (in bytes, the position of the view's element with all coordinates 0). Scalars use integer
 * (a u64 from 2^63: its bits) or number. */
typedef struct tile_argument {
    tile_buffer *buffer;
    size_t offset;
    int64_t integer;
    double number;
} tile_argument;

/* Compiles, loads, allocates and sorts (tile_abi_make_table) everything that a launch with such
 * arguments on this stream needs, so that the launch does not have to, and does not wait. Only the
 * size and alignment of the buffers are used. */
TILE_API tile_status tile_kernel_prepare(tile_kernel *kernel, const tile_argument *arguments,
                                         unsigned argument_count, void *stream);
/* Returns the interface of the variant that a launch with these arguments uses. The variant is
 * compiled if necessary. The interface is owned by the kernel. *abi is NULL if the launch runs
 * several kernels: a plan, or a kernel at a point whose split has a second kernel. */
TILE_API tile_status tile_kernel_variant(tile_kernel *kernel, const tile_argument *arguments,
                                         unsigned argument_count, const tile_abi **abi);
/* Returns the values of all parameters at the point that a launch with these arguments uses, in the
 * order of their declaration, then those of {const} arguments and of a tuned split: *binding_count
 * bindings, owned by the kernel. The point is compiled if necessary. */
TILE_API tile_status tile_kernel_point(tile_kernel *kernel, const tile_argument *arguments,
                                       unsigned argument_count, const tile_binding **bindings,
                                       unsigned *binding_count);
/* Calls visit for each point from which a launch with these arguments selects, also for those with
 * packed arguments (tile/pack.h), until it returns false. The first one has the lowest time, in
 * seconds, according to the cost model (runtime/model/model.c). Nothing is compiled, so a later one
 * may fail to compile. Nothing is visited if the bindings leave no choice, or if there are more
 * points than the tuner accepts. The bindings, of the tuned parameters and of those bound before,
 * live during the call of visit, which must not use the kernel. */
typedef bool (*tile_rank_visit)(const tile_binding *bindings, unsigned count, double seconds,
                                void *user);
TILE_API tile_status tile_kernel_rank_points(tile_kernel *kernel, const tile_argument *arguments,
                                             unsigned argument_count, tile_rank_visit visit,
                                             void *user);
/* Makes all further launches in the bucket of these arguments use this point, which is compiled at
 * once. Parameters that the bindings do not name keep the bindings of tile_kernel_create. Only for
 * kernels that select points. */
TILE_API tile_status tile_kernel_set_point(tile_kernel *kernel, const tile_argument *arguments,
                                           unsigned argument_count, const tile_binding *bindings,
                                           unsigned binding_count);
/* Launches the kernel. stream: a CUstream or NULL; the CPU device ignores it. While the stream is
 * being captured, the call returns TILE_UNSUPPORTED if anything is left to prepare
 * (tile_kernel_prepare). An empty grid is not an error and launches nothing. */
TILE_API tile_status tile_kernel_launch(tile_kernel *kernel, const tile_argument *arguments,
                                        unsigned argument_count, void *stream);
/* Encodes a tensor map (tile_abi_tensor_map) for programs that launch the PTX themselves. encoded
 * gets 128 bytes. The CUDA driver encodes it; no GPU is needed. Returns TILE_UNSUPPORTED after a
 * diagnostic if the hardware does not support such a map (then launch the next variant), and
 * TILE_UNAVAILABLE without a driver. */
TILE_API tile_status tile_encode_tensor_map(tile_context *context, const tile_tensor_map *map,
                                            void *encoded);
/* Waits for all launches and reports their errors. */
TILE_API tile_status tile_device_synchronize(tile_device *device);
/* Measures one launch in milliseconds on the device, on the default stream: the median of `repeats`
 * launches (at least one) after `warmup` launches. With flush_l2, a buffer larger than the L2 cache
 * is written before each launch. CPU: wall time. tile/measure.h has more options. */
TILE_API tile_status tile_kernel_time(tile_kernel *kernel, const tile_argument *arguments,
                                      unsigned argument_count, unsigned warmup, unsigned repeats,
                                      bool flush_l2, double *milliseconds);

#ifdef __cplusplus
}
#endif

#endif
