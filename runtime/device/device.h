/* The device interface that runtime/cpu and runtime/cuda implement; arguments.c, kernel.c, point.c,
 * variant.c and buffer.c do what both have in common: argument checks, points, variants, grid and
 * scratch sizes. */
#ifndef TILE_RUNTIME_DEVICE_DEVICE_H
#define TILE_RUNTIME_DEVICE_DEVICE_H

#include "lib/launch/abi.h"
#include "lib/support/arena.h"
#include "tile/artifact.h"
#include "tile/measure.h"

/* A kernel compiled under one set of conditions (tile_abi_variant of its abi says which). */
typedef struct tile_variant {
    tile_module *module; /* instantiated, at the level that runs; holds `function` */
    tile_function *function;
    tile_artifact *artifact;
    const tile_abi *abi; /* the artifact's, and so are ptx and cubin, as far as they are wanted */
    tile_blob ptx, cubin;
    void *code;                  /* the device's own: prepared IR, or a loaded CUDA function */
    struct tile_map_cache *maps; /* NULL: it has no tensor maps */
} tile_variant;

/* One of the abi's tables, in the device's memory. */
typedef struct tile_launch_table {
    uint64_t address;
    int32_t entries;
} tile_launch_table;

/* One of the abi's tensor maps. */
typedef struct tile_launch_map {
    _Alignas(TILE_TENSOR_MAP_ALIGNMENT) unsigned char encoded[TILE_TENSOR_MAP_BYTES];
    tile_tensor_map array;
} tile_launch_map;
typedef struct tile_map_cache tile_map_cache; /* map.c */

/* A launch with everything resolved. */
typedef struct tile_launch {
    tile_variant *variant;
    const tile_argument *arguments;
    unsigned argument_count;
    int64_t grid[3];                  /* blocks, each at least 1 */
    unsigned num_sms;                 /* the device's */
    int64_t clean_bytes, plain_bytes; /* scratch */
    tile_launch_table tables[TILE_MAX_TABLES];
    tile_launch_map maps[TILE_MAX_TENSOR_MAPS];
    void *stream;
    bool overlaps;   /* it may start before the launch before it on the stream has ended */
    bool overlapped; /* so may the next launch before this one has */
    bool resident;   /* all blocks at once, or not at all */
} tile_launch;

/* Launches to be timed: `batch` in a row, each by a call. */
typedef struct tile_timed {
    tile_status (*launch)(void *user);
    void *user;
    void *stream; /* where they go */
    tile_flush flush;
    unsigned batch;
} tile_timed;

/* What returns a status reports first, unless it is TILE_OK; the rest cannot fail. */
typedef struct tile_device_ops {
    unsigned wants; /* a set of tile_want: what prepare needs of a variant beside its function */
    void (*destroy)(tile_device *device);
    tile_status (*allocate)(tile_device *device, size_t bytes, uint64_t *address);
    void (*release)(tile_device *device, uint64_t address, size_t bytes);
    tile_status (*write)(tile_device *device, uint64_t address, const void *data, size_t bytes);
    tile_status (*read)(tile_device *device, uint64_t address, void *data, size_t bytes);
    /* Makes variant->code from variant->function, which is at the device's level, or from
     * variant->cubin, if there is one, or variant->ptx. What is in code when this fails, discard
     * takes back. */
    tile_status (*prepare)(tile_device *device, tile_variant *variant);
    void (*discard)(tile_device *device, tile_variant *variant);
    /* Several threads may launch at once. A resident launch whose blocks the driver refuses to run
     * all at once: TILE_UNAVAILABLE, without a report. */
    tile_status (*launch)(tile_device *device, const tile_launch *launch);
    /* The 128 bytes of a tensor map that the hardware has, aligned to 64. TILE_UNAVAILABLE, without
     * a report but with the reason, if the driver does not take it. NULL: nobody reads them. */
    tile_status (*encode)(tile_device *device, const tile_tensor_map *array, unsigned char *encoded,
                          const char **why);
    /* Does what the first such launch would do beside launching; NULL: nothing. */
    tile_status (*reserve)(tile_device *device, const tile_launch *launch);
    /* Whether launches on the stream are recorded rather than run; NULL: never. */
    tile_status (*is_capturing)(tile_device *device, void *stream, bool *capturing);
    tile_status (*synchronize)(tile_device *device);
    /* Seconds of all of them together; they have ended when it returns. One thread at a time. */
    tile_status (*time)(tile_device *device, const tile_timed *timed, double *seconds);
    /* Sets bytes, before whatever is launched on the default stream later. */
    tile_status (*fill)(tile_device *device, uint64_t address, unsigned char byte, size_t bytes);
    /* The options with which another process makes a device like this one, cache_dir left out; the
     * texts are the device's. NULL: none does. */
    void (*describe)(const tile_device *device, tile_device_options *options);
    /* How many blocks of the variant one multiprocessor has at once; NULL: not known. */
    tile_status (*residency)(tile_device *device, tile_variant *variant, int *blocks);
    /* How many clusters of the variant, which has them, the device runs at once; NULL: so many as
     * it has places for their blocks. */
    tile_status (*clusters)(tile_device *device, tile_variant *variant, int *clusters);
    /* Milliwatts that the device may take, 0: not known; NULL: never known. */
    unsigned (*power_limit)(tile_device *device);
    /* NULL: the device has none. */
    tile_status (*attributes)(tile_device *device, tile_variant *variant,
                              tile_kernel_attributes *attributes);
} tile_device_ops;

typedef struct tile_host_table tile_host_table; /* table.c */
enum { TILE_TABLE_HEAD_BITS = 6 };

/* The first member of the devices' own structs. */
struct tile_device {
    const tile_device_ops *ops;
    tile_context *context;
    const tile_target *target;
    const char *name;
    const char *ptxas;     /* who makes cubins; NULL: the driver */
    unsigned memory_clock; /* kHz; 0: not known */
    unsigned memory_bus;   /* bits; 0: not known */
    unsigned clock;        /* of the multiprocessors at most, kHz; 0: not known */
    tile_cache *cache;     /* where they are kept; NULL: nowhere, and prepare makes its own */
    const tile_tuned_table *tuned; /* looked into where the cache has no point; may be NULL */
    struct tile_store *store; /* where they are kept in memory instead (runtime/compile/store.h) */
    struct tile_store_log *store_log;
    unsigned level;       /* of the IR that prepare wants */
    const char *pipeline; /* how it comes there; NULL: by the default one */
    unsigned num_sms;     /* multiprocessors */
    bool stamps;          /* code is compiled with them (lib/codegen/stamps.h) */
    bool follows;         /* CPU: what buffers do not hold yet (tile_buffer.written) */
    bool is_faithful;     /* CPU: refuses what code for the target could not do */
    tile_cpu_counts counts;
    tile_host_table *_Atomic tables[1 << TILE_TABLE_HEAD_BITS]; /* by what they depend on */
    tile_buffer *buffers; /* all that are alive, for the CPU device's bounds checks */
};

/* A stream that is being captured records a launch; it would not record what else is done for it:
 * TILE_UNSUPPORTED then, after a diagnostic. */
tile_status tile_refuse_capture(tile_device *device, const char *kernel, void *stream);

struct tile_buffer {
    tile_device *device;
    tile_buffer *next;
    uint64_t address;
    size_t bytes;
    bool owned;
    bool of_plan; /* a plan's scratch: what overlaps another launch must wait before it */
    /* CPU: a byte for each, 1 if something has written it; NULL: not followed, as it is the
     * caller's memory. */
    uint8_t *written;
    tile_loc scratch_loc; /* where the plan asks for it */
};

#endif
