/* The device, its properties, and its clock and power under load. */
#define _POSIX_C_SOURCE 200809L
#include "tools/tile-bench/common/lab.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/cuda/driver/driver.h"
#include "tools/common/assembler.h"
#include "tools/tile-bench/common/nvml.h"

struct bench_lab {
    tile_context *context;
    tile_device *device;
    const tile_driver *driver; /* NULL: CPU device */
    CUdevice ordinal;
    bool retained;
    bench_nvml *nvml; /* NULL: not available */
};

enum { CU_DEVICE_ATTRIBUTE_CLOCK_RATE = 13 };

/* Opening ------------------------------------------------------------------------------------- */

/* cuBLAS works in the current context; so does a device that is created while one is current. */
static bool enter_context(bench_lab *lab) {
    CUcontext context;
    char bus_id[32];
    const tile_driver *d = tile_driver_open(lab->context);
    lab->driver = d;
    if (!d || tile_driver_check(lab->context, d, d->cuDeviceGet(&lab->ordinal, 0), "cuDeviceGet") ||
        tile_driver_check(lab->context, d, d->cuDevicePrimaryCtxRetain(&context, lab->ordinal),
                          "cuDevicePrimaryCtxRetain"))
        return false;
    lab->retained = true;
    if (tile_driver_check(lab->context, d, d->cuCtxSetCurrent(context), "cuCtxSetCurrent"))
        return false;
    if (d->cuDeviceGetPCIBusId(bus_id, sizeof bus_id, lab->ordinal) == 0)
        lab->nvml = bench_nvml_open(bus_id);
    return true;
}

bench_lab *bench_lab_open(tile_context *context, const bench_lab_options *options) {
    const tile_device_options device = {.size = sizeof device,
                                        .ptxas = options->ptxas,
                                        .cache_dir = options->cache_dir,
                                        .sms = options->sms,
                                        .target = options->target};
    bench_lab *lab = calloc(1, sizeof *lab);
    if (!lab) return NULL;
    lab->context = context;
    bool ok = options->cuda ? !tool_refuses_cuda() && enter_context(lab) &&
                                  tile_device_create_cuda(context, &device, &lab->device) == TILE_OK
                            : tile_device_create_cpu(context, &device, &lab->device) == TILE_OK;
    if (ok) return lab;
    bench_lab_close(lab);
    return NULL;
}

void bench_lab_close(bench_lab *lab) {
    if (!lab) return;
    tile_device_destroy(lab->device);
    bench_nvml_close(lab->nvml);
    if (lab->retained) lab->driver->cuDevicePrimaryCtxRelease(lab->ordinal);
    free(lab);
}

tile_device *bench_lab_device(bench_lab *lab) {
    return lab->device;
}

bool bench_lab_is_cuda(const bench_lab *lab) {
    return lab->driver != NULL;
}

/* Memory -------------------------------------------------------------------------------------- */

tile_status bench_memory_create(bench_lab *lab, size_t bytes, bench_memory *memory) {
    CUdeviceptr address = 0;
    *memory = (bench_memory){0};
    if (!lab->driver) return tile_buffer_create(lab->device, bytes, &memory->buffer);
    tile_status status = tile_driver_check(lab->context, lab->driver,
                                           lab->driver->cuMemAlloc(&address, bytes), "cuMemAlloc");
    if (status != TILE_OK) return status;
    memory->address = address;
    return tile_buffer_wrap(lab->device, address, bytes, &memory->buffer);
}

tile_status bench_memory_reserve_only(bench_lab *lab, size_t bytes, bench_memory *memory) {
    const uint64_t nowhere = UINT64_C(1) << 40;
    *memory = (bench_memory){0};
    return tile_buffer_wrap(lab->device, nowhere, bytes, &memory->buffer);
}

void bench_memory_destroy(bench_lab *lab, bench_memory *memory) {
    tile_buffer_destroy(memory->buffer);
    if (memory->address) lab->driver->cuMemFree(memory->address);
    *memory = (bench_memory){0};
}

tile_status bench_memory_repeat(bench_lab *lab, const bench_memory *memory, const char *data,
                                size_t period) {
    const size_t bytes = tile_buffer_size(memory->buffer);
    size_t done = bytes < period ? bytes : period;
    tile_status status = tile_buffer_write(memory->buffer, 0, data, done);
    while (done < bytes && status == TILE_OK) {
        size_t now = bytes - done < done ? bytes - done : done;
        if (lab->driver) { /* doubles what is there */
            status = tile_driver_check(
                lab->context, lab->driver,
                lab->driver->cuMemcpyDtoDAsync(memory->address + done, memory->address, now, NULL),
                "cuMemcpyDtoDAsync");
        } else {
            now = now < period ? now : period;
            status = tile_buffer_write(memory->buffer, done, data, now);
        }
        done += now;
    }
    return status;
}

tile_status bench_memory_fill(bench_lab *lab, const bench_memory *memory, unsigned char byte) {
    const size_t bytes = tile_buffer_size(memory->buffer);
    if (lab->driver)
        return tile_driver_check(lab->context, lab->driver,
                                 lab->driver->cuMemsetD8Async(memory->address, byte, bytes, NULL),
                                 "cuMemsetD8Async");
    char *data = malloc(bytes + 1);
    tile_status status = data ? TILE_OK : TILE_FAILED;
    if (data) memset(data, byte, bytes);
    if (data) status = tile_buffer_write(memory->buffer, 0, data, bytes);
    free(data);
    return status;
}

tile_status bench_lab_copy(bench_lab *lab, void *stream, const bench_memory *to,
                           const bench_memory *from, size_t bytes) {
    if (lab->driver)
        return tile_driver_check(
            lab->context, lab->driver,
            lab->driver->cuMemcpyDtoDAsync(to->address, from->address, bytes, stream),
            "cuMemcpyDtoDAsync");
    char *data = malloc(bytes + 1);
    tile_status status = data ? tile_buffer_read(from->buffer, 0, data, bytes) : TILE_FAILED;
    if (status == TILE_OK) status = tile_buffer_write(to->buffer, 0, data, bytes);
    free(data);
    return status;
}

/* Facts --------------------------------------------------------------------------------------- */

static unsigned query_attribute(const bench_lab *lab, CUdevice_attribute attribute) {
    int value = 0;
    bool known = lab->driver->cuDeviceGetAttribute(&value, attribute, lab->ordinal) == 0;
    return known ? (unsigned)value : 0;
}

bench_facts bench_lab_facts(bench_lab *lab) {
    bench_facts facts = {.sms = tile_device_num_sms(lab->device)};
    unsigned limit;
    snprintf(facts.name, sizeof facts.name, "%s", tile_device_name(lab->device));
    snprintf(facts.target, sizeof facts.target, "%s", tile_device_target(lab->device)->name);
    if (!lab->driver) return facts;
    facts.capability =
        10 * query_attribute(lab, TILE_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
        query_attribute(lab, TILE_CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    facts.clock = query_attribute(lab, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000;
    facts.l2_bytes = query_attribute(lab, TILE_CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    if (bench_nvml_power_limit(lab->nvml, &limit)) facts.power_limit = limit / 1000;
    bench_nvml_driver(lab->nvml, facts.driver, sizeof facts.driver);
    return facts;
}

/* For a profiler ------------------------------------------------------------------------------ */

/* Calls a function of the driver if it is already loaded; else does nothing. ISO C has no
 * conversion from void * to a function pointer; POSIX guarantees that the bytes are the same. */
static void call_driver(const char *symbol) {
    int (*function)(void) = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *address = library ? dlsym(library, symbol) : NULL;
    memcpy(&function, &address, sizeof function);
    if (function) function();
    if (library) dlclose(library);
}

tile_status bench_lab_profile(bench_lab *lab, const tile_work *work) {
    tile_status status = work->launch(NULL, work->user);
    if (status == TILE_OK) status = tile_device_synchronize(lab->device);
    if (status != TILE_OK) return status;
    call_driver("cuProfilerStart");
    status = work->launch(NULL, work->user);
    if (status == TILE_OK) status = tile_device_synchronize(lab->device);
    call_driver("cuProfilerStop");
    return status;
}

/* Under load ---------------------------------------------------------------------------------- */

/* Samples clock and power while another thread launches. */
typedef struct watch {
    const bench_nvml *nvml;
    atomic_bool counting, done;
    double clock, power;
    unsigned samples, capped;
    uint64_t energy_before, energy_after;
    bool energy_known;
    struct timespec began, ended;
} watch;

static double seconds_between(struct timespec a, struct timespec b) {
    return (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
}

static void sample(watch *w) {
    unsigned clock, power;
    if (!bench_nvml_clock(w->nvml, &clock) || !bench_nvml_power(w->nvml, &power)) return;
    w->clock += clock;
    w->power += 1e-3 * power;
    w->capped += bench_nvml_is_capped(w->nvml);
    w->samples++;
}

static void *sample_loop(void *user) {
    const struct timespec pause = {0, 10000000};
    watch *w = user;
    while (!w->done) {
        if (w->counting) sample(w);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Launches for this many seconds, in batches between two events; adds to *out. */
static tile_status load(bench_lab *lab, const tile_work *work, unsigned batch, double seconds,
                        bench_sustained *out) {
    const tile_measure_options options = {
        .size = sizeof options, .repeats = 1, .batch = batch, .flush = TILE_FLUSH_NONE};
    struct timespec began, now;
    tile_status status = TILE_OK;
    clock_gettime(CLOCK_MONOTONIC, &began);
    do {
        tile_measurement taken;
        status = tile_measure_works(lab->device, work, 1, NULL, &options, &taken);
        out->launches += batch;
        out->seconds += taken.median * batch;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (status == TILE_OK && seconds_between(began, now) < seconds);
    return status;
}

/* Chooses the batch size so that a batch takes about 50 ms. */
static tile_status choose_batch(bench_lab *lab, const tile_work *work, unsigned *batch) {
    const tile_measure_options options = {.size = sizeof options, .warmup = 1, .repeats = 3};
    tile_measurement taken;
    tile_status status = tile_measure_works(lab->device, work, 1, NULL, &options, &taken);
    double wanted = taken.median > 0 ? 0.05 / taken.median : 1;
    *batch = wanted < 1 ? 1 : wanted > 5000 ? 5000 : (unsigned)wanted;
    return status;
}

/* Computes the mean power from NVML's energy counter if there is one, because it misses nothing
 * between samples. */
static void conclude(const watch *w, bench_sustained *out) {
    double seconds = seconds_between(w->began, w->ended);
    if (w->samples) {
        out->clock = w->clock / w->samples;
        out->power = w->power / w->samples;
        out->capped = 2 * w->capped > w->samples;
    }
    if (w->energy_known && w->energy_after > w->energy_before && seconds > 0)
        out->power = 1e-3 * (double)(w->energy_after - w->energy_before) / seconds;
    out->energy = out->power * 1e3 * out->seconds / (double)out->launches;
}

tile_status bench_lab_sustain(bench_lab *lab, const tile_work *work, double seconds,
                              bench_sustained *out) {
    watch w = {.nvml = lab->nvml};
    pthread_t thread;
    unsigned batch;
    *out = (bench_sustained){0};
    tile_status status = choose_batch(lab, work, &batch);
    if (status == TILE_OK) status = load(lab, work, batch, seconds / 3, out);
    if (status != TILE_OK) return status;
    *out = (bench_sustained){0};
    bool watched = lab->nvml && pthread_create(&thread, NULL, sample_loop, &w) == 0;
    w.energy_known = bench_nvml_energy(lab->nvml, &w.energy_before);
    clock_gettime(CLOCK_MONOTONIC, &w.began);
    w.counting = true;
    status = load(lab, work, batch, seconds * 2 / 3, out);
    w.counting = false;
    clock_gettime(CLOCK_MONOTONIC, &w.ended);
    w.energy_known &= bench_nvml_energy(lab->nvml, &w.energy_after);
    w.done = true;
    if (watched) pthread_join(thread, NULL);
    if (status == TILE_OK) conclude(&w, out);
    return status;
}
