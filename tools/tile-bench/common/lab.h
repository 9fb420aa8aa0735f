/* The measurement environment: a device, its L2, its clock and its power.
 *
 * GPU work is launched on the legacy default stream of the primary context, which is current in the
 * thread that opened the lab. The driver and NVML are opened with dlopen. */
#ifndef TILE_TOOLS_TILE_BENCH_COMMON_LAB_H
#define TILE_TOOLS_TILE_BENCH_COMMON_LAB_H

#include "tile/measure.h"

typedef struct bench_lab bench_lab;

typedef struct bench_lab_options {
    bool cuda;                 /* else the CPU device */
    const char *ptxas;         /* as in tile_device_options */
    const char *cache_dir;     /* same */
    unsigned sms;              /* same */
    const tile_target *target; /* same */
} bench_lab_options;

/* NULL after a diagnostic. */
bench_lab *bench_lab_open(tile_context *context, const bench_lab_options *options);
void bench_lab_close(bench_lab *lab);
tile_device *bench_lab_device(bench_lab *lab);
bool bench_lab_is_cuda(const bench_lab *lab);

/* Launches once to warm up, then once between cuProfilerStart and cuProfilerStop, for a profiler
 * that waits for them. */
tile_status bench_lab_profile(bench_lab *lab, const tile_work *work);

/* Device memory, both as a buffer and as the address that other libraries take (0 on the CPU
 * device). */
typedef struct bench_memory {
    tile_buffer *buffer;
    uint64_t address;
} bench_memory;

tile_status bench_memory_create(bench_lab *lab, size_t bytes, bench_memory *memory);
/* Creates a buffer at an address that is not backed by memory, for code that inspects only sizes
 * and alignment. It must not be accessed. */
tile_status bench_memory_reserve_only(bench_lab *lab, size_t bytes, bench_memory *memory);
/* A zero-initialized memory is allowed. */
void bench_memory_destroy(bench_lab *lab, bench_memory *memory);

/* Fills it with these bytes, repeated. */
tile_status bench_memory_repeat(bench_lab *lab, const bench_memory *memory, const char *data,
                                size_t period);
/* Sets all bytes of it. */
tile_status bench_memory_fill(bench_lab *lab, const bench_memory *memory, unsigned char byte);

/* Copies bytes in the device's memory, on the stream. */
tile_status bench_lab_copy(bench_lab *lab, void *stream, const bench_memory *to,
                           const bench_memory *from, size_t bytes);

/* Properties of the device; unknown ones are 0 or "". */
typedef struct bench_facts {
    char name[64], driver[32], target[16];
    unsigned sms, capability; /* 90: compute capability 9.0 */
    unsigned clock;           /* highest SM clock, MHz */
    unsigned power_limit;     /* W */
    uint64_t l2_bytes;
} bench_facts;

bench_facts bench_lab_facts(bench_lab *lab);

typedef struct bench_sustained {
    double seconds; /* of all launches together, measured by the device */
    uint64_t launches;
    double clock;  /* mean, MHz; 0: unknown, as for all fields below */
    double power;  /* mean, W */
    double energy; /* mJ per launch */
    bool capped;   /* the power limit lowered the clock */
} bench_sustained;

/* Launches back to back for this many seconds. Clock, power and energy are sampled with NVML,
 * except during the first third, in which the chip reaches a steady state. */
tile_status bench_lab_sustain(bench_lab *lab, const tile_work *work, double seconds,
                              bench_sustained *out);

#endif
