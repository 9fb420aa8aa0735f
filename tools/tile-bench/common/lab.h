/* Where things are measured: a device, its L2, its clock and its power.
 *
 * A GPU's work is launched on the legacy default stream of its primary context, which is current in
 * the thread that opened the lab. The driver and NVML are opened by dlopen. */
#ifndef TILE_TOOLS_TILE_BENCH_COMMON_LAB_H
#define TILE_TOOLS_TILE_BENCH_COMMON_LAB_H

#include "tile/measure.h"

typedef struct bench_lab bench_lab;

typedef struct bench_lab_options {
    bool cuda;                 /* else the CPU device */
    const char *ptxas;         /* as for tile_device_options */
    const char *cache_dir;     /* likewise */
    unsigned sms;              /* likewise */
    const tile_target *target; /* likewise */
} bench_lab_options;

/* NULL after a diagnostic. */
bench_lab *bench_lab_open(tile_context *context, const bench_lab_options *options);
void bench_lab_close(bench_lab *lab);
tile_device *bench_lab_device(bench_lab *lab);
bool bench_lab_is_cuda(const bench_lab *lab);

/* Launches once to warm up, then once while a profiler that waits for it (cuProfilerStart) looks.
 */
tile_status bench_lab_profile(bench_lab *lab, const tile_work *work);

/* Memory of the device, both as a buffer and as the address that other libraries take (0 on the CPU
 * device). */
typedef struct bench_memory {
    tile_buffer *buffer;
    uint64_t address;
} bench_memory;

tile_status bench_memory_create(bench_lab *lab, size_t bytes, bench_memory *memory);
/* Has an address like none that can be accessed, and is not the device's: for what only looks at
 * sizes and alignment. */
tile_status bench_memory_reserve_only(bench_lab *lab, size_t bytes, bench_memory *memory);
/* All zeros is fine. */
void bench_memory_destroy(bench_lab *lab, bench_memory *memory);

/* What the lab knows of its device; 0 and "" are what it does not. */
typedef struct bench_facts {
    char name[64], driver[32];
    unsigned sms, capability; /* 90: compute capability 9.0 */
    unsigned clock;           /* the highest of the multiprocessors, MHz */
    unsigned power_limit;     /* W */
    uint64_t l2_bytes;
} bench_facts;

bench_facts bench_lab_facts(bench_lab *lab);

typedef struct bench_sustained {
    double seconds; /* of all launches together, by the device's clock */
    uint64_t launches;
    double clock;  /* mean, MHz; 0: not known, as all below */
    double power;  /* mean, W */
    double energy; /* mJ of one launch */
    bool capped;   /* the power limit held the clock down */
} bench_sustained;

/* Launches back to back for so many seconds. Clock, power and energy are taken from NVML while that
 * runs, but for its first third, in which the chip comes to rest. */
tile_status bench_lab_sustain(bench_lab *lab, const tile_work *work, double seconds,
                              bench_sustained *out);

#endif
