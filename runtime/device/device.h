/* The device interface that runtime/cpu and runtime/cuda implement. arguments.c, kernel.c, point.c,
 * variant.c and buffer.c implement what both share: argument checks, points, variants, and the
 * sizes of grids and scratch. */
#ifndef TILE_RUNTIME_DEVICE_DEVICE_H
#define TILE_RUNTIME_DEVICE_DEVICE_H

#include "lib/launch/abi.h"
#include "lib/support/arena.h"
#include "tile/artifact.h"
#include "tile/measure.h"

/* A kernel compiled under one set of conditions (tile_abi_variant of its abi says which). */
typedef struct tile_variant {
    tile_module *module; /* instantiated, at the level that the device executes; owns `function` */
    tile_function *function;
    tile_artifact *artifact;
    const tile_abi *abi; /* owned by the artifact, as are ptx and cubin, if they are needed */
    tile_blob ptx, cubin;
    void *code;                  /* the device's data: prepared IR, or a loaded CUDA function */
    struct tile_map_cache *maps; /* NULL: the variant has no tensor maps */
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

/* A launch whose grid, scratch and tables are resolved. */
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
    bool overlaps;   /* it may start before the preceding launch on the stream has ended */
    bool overlapped; /* the next launch may start before this one has ended */
    bool resident;   /* all blocks run at the same time, or the launch fails */
} tile_launch;

/* Launches to be timed: `batch` launches in a row, each made by `launch`. */
typedef struct tile_timed {
    tile_status (*launch)(void *user);
    void *user;
    void *stream; /* where they go */
    tile_flush flush;
    unsigned batch;
} tile_timed;

/* Functions that return a status report the error, unless it is TILE_OK. The others cannot fail. */
typedef struct tile_device_ops {
    unsigned wants; /* a set of tile_want: what prepare needs of a variant besides its function */
    void (*destroy)(tile_device *device);
    tile_status (*allocate)(tile_device *device, size_t bytes, uint64_t *address);
    void (*release)(tile_device *device, uint64_t address, size_t bytes);
    tile_status (*write)(tile_device *device, uint64_t address, const void *data, size_t bytes);
    tile_status (*read)(tile_device *device, uint64_t address, void *data, size_t bytes);
    /* Makes variant->code from variant->function, which is at the device's level, or from
     * variant->cubin, or from variant->ptx if there is no cubin. If it fails, discard frees what is
     * in code. */
    tile_status (*prepare)(tile_device *device, tile_variant *variant);
    void (*discard)(tile_device *device, tile_variant *variant);
    /* Several threads may call it at the same time. Returns TILE_UNAVAILABLE without a report if
     * the driver cannot run all blocks of a resident launch at the same time. */
    tile_status (*launch)(tile_device *device, const tile_launch *launch);
    /* Encodes a tensor map: 128 bytes, aligned to 64 bytes. Returns TILE_UNAVAILABLE without a
     * report, but with the reason, if the driver does not support the map. NULL: the device does
     * not use encoded maps. */
    tile_status (*encode)(tile_device *device, const tile_tensor_map *array, unsigned char *encoded,
                          const char **why);
    /* Makes the preparations of a first launch without launching; NULL: there are none. */
    tile_status (*reserve)(tile_device *device, const tile_launch *launch);
    /* Returns whether launches on the stream are recorded instead of run; NULL: never. */
    tile_status (*is_capturing)(tile_device *device, void *stream, bool *capturing);
    tile_status (*synchronize)(tile_device *device);
    /* The total time of all launches in seconds. They have completed on return. Only one thread at
     * a time may call it. */
    tile_status (*time)(tile_device *device, const tile_timed *timed, double *seconds);
    /* Sets bytes, before all later launches on the default stream. */
    tile_status (*fill)(tile_device *device, uint64_t address, unsigned char byte, size_t bytes);
    /* The options with which another process creates an equal device, without cache_dir. The
     * strings belong to the device. NULL: not possible. */
    void (*describe)(const tile_device *device, tile_device_options *options);
    /* How many blocks of the variant fit on one multiprocessor at the same time; NULL: unknown. */
    tile_status (*residency)(tile_device *device, tile_variant *variant, int *blocks);
    /* How many clusters of the variant run on the device at the same time; the variant has
     * clusters. NULL: as many as the residency of blocks permits. */
    tile_status (*clusters)(tile_device *device, tile_variant *variant, int *clusters);
    /* The power limit in milliwatts, 0: unknown; NULL: always unknown. */
    unsigned (*power_limit)(tile_device *device);
    /* NULL: the device has none. */
    tile_status (*attributes)(tile_device *device, tile_variant *variant,
                              tile_kernel_attributes *attributes);
} tile_device_ops;

/* Sees the launches of a device, and decides which of them it executes (runtime/launch/steps.c). */
typedef struct tile_launch_watch tile_launch_watch;
struct tile_launch_watch {
    tile_status (*launch)(tile_launch_watch *watch, tile_device *device, const tile_launch *launch);
};

typedef struct tile_host_table tile_host_table; /* table.c */
enum { TILE_TABLE_HEAD_BITS = 6 };

/* The first member of the devices' own structs. */
struct tile_device {
    const tile_device_ops *ops;
    tile_context *context;
    const tile_target *target;
    const char *name;
    const char *ptxas;     /* the assembler that makes cubins; NULL: the driver */
    unsigned memory_clock; /* kHz; 0: unknown */
    unsigned memory_bus;   /* bits; 0: unknown */
    unsigned clock;        /* maximum clock of the multiprocessors, kHz; 0: unknown */
    tile_cache *cache; /* cache of artifacts on disk; NULL: none, and prepare compiles the code */
    const tile_tuned_table *tuned; /* points that the cache may not have; may be NULL */
    struct tile_store *store;      /* keeps artifacts in memory instead (runtime/compile/store.h) */
    struct tile_store_log *store_log;
    unsigned level;          /* the level of IR that prepare expects */
    const char *pipeline;    /* the pipeline that lowers to this level; NULL: the default */
    unsigned num_sms;        /* multiprocessors */
    bool stamps;             /* code is compiled with stamps (lib/codegen/stamps.h) */
    bool tracks_writes;      /* CPU: tracks uninitialized bytes of buffers (tile_buffer.written) */
    bool is_faithful;        /* CPU: rejects what code for the target could not do */
    uint64_t max_operations; /* CPU: of a launch, and steps of a plan; 0: no limit */
    tile_cpu_counts counts;
    tile_host_table *_Atomic tables[1 << TILE_TABLE_HEAD_BITS]; /* hashed by their key */
    tile_buffer *buffers;     /* all live buffers, for the CPU device's bounds checks */
    tile_launch_watch *watch; /* NULL: none */
};

/* Launches, unless a watch decides otherwise. */
static inline tile_status tile_device_launch(tile_device *device, const tile_launch *launch) {
    return device->watch ? device->watch->launch(device->watch, device, launch)
                         : device->ops->launch(device, launch);
}

/* While a stream is captured, only launches are recorded, not the other work that a launch may
 * need. Returns TILE_UNSUPPORTED after a diagnostic if the stream is being captured. */
tile_status tile_refuse_capture(tile_device *device, const char *kernel, void *stream);

struct tile_buffer {
    tile_device *device;
    tile_buffer *next;
    uint64_t address;
    size_t bytes;
    bool owned;
    bool of_plan; /* scratch of a plan: a launch that overlaps another must wait before it accesses
                     it */
    /* CPU: a byte for each byte of the buffer, 1 if it has been written. NULL: not tracked, because
     * the memory belongs to the caller. */
    uint8_t *written;
    tile_loc scratch_loc;         /* where the plan allocates it */
    const tile_buffer *window_of; /* NULL: it has memory of its own */
};

/* Sets *window to a part of the buffer, which must live as long. It is in no list, and is not
 * destroyed. */
void tile_buffer_set_window(tile_buffer *window, const tile_buffer *buffer, size_t offset,
                            size_t bytes);

#endif
