/* NVML by dlopen. Source: NVML API reference. */
#include "tools/tile-bench/common/nvml.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct nvml_device *nvml_handle;

/* Constants of nvml.h. */
enum { NVML_CLOCK_SM = 1, NVML_REASON_SW_POWER_CAP = 4 };

#define NVML_FUNCTIONS(FUNCTION) \
    FUNCTION(init, nvmlInit_v2, (void)) \
    FUNCTION(shutdown, nvmlShutdown, (void)) \
    FUNCTION(find, nvmlDeviceGetHandleByPciBusId_v2, (const char *bus_id, nvml_handle *device)) \
    FUNCTION(clock, nvmlDeviceGetClockInfo, (nvml_handle device, int which, unsigned *mhz)) \
    FUNCTION(power, nvmlDeviceGetPowerUsage, (nvml_handle device, unsigned *milliwatts)) \
    FUNCTION(limit, nvmlDeviceGetEnforcedPowerLimit, (nvml_handle device, unsigned *milliwatts)) \
    FUNCTION(energy, nvmlDeviceGetTotalEnergyConsumption, \
             (nvml_handle device, unsigned long long *millijoules)) \
    FUNCTION(reasons, nvmlDeviceGetCurrentClocksThrottleReasons, \
             (nvml_handle device, unsigned long long *reasons)) \
    FUNCTION(driver, nvmlSystemGetDriverVersion, (char *text, unsigned size))

struct bench_nvml {
    void *library;
    nvml_handle device;
#define FUNCTION(name, symbol, parameters) int(*name) parameters;
    NVML_FUNCTIONS(FUNCTION)
#undef FUNCTION
};

/* ISO C has no conversion from void * to a function pointer; POSIX guarantees that the bytes are
 * the same. */
static void resolve(void *library, const char *symbol, void *function) {
    void *address = dlsym(library, symbol);
    memcpy(function, &address, sizeof address);
}

bench_nvml *bench_nvml_open(const char *bus_id) {
    bench_nvml *n = calloc(1, sizeof *n);
    if (n) n->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!n || !n->library) {
        free(n);
        return NULL;
    }
#define FUNCTION(name, symbol, parameters) resolve(n->library, #symbol, &n->name);
    NVML_FUNCTIONS(FUNCTION)
#undef FUNCTION
    bool started = n->init && n->shutdown && n->find && n->init() == 0;
    if (started && n->find(bus_id, &n->device) == 0) return n;
    if (started) n->shutdown();
    dlclose(n->library);
    free(n);
    return NULL;
}

void bench_nvml_close(bench_nvml *nvml) {
    if (!nvml) return;
    nvml->shutdown();
    dlclose(nvml->library);
    free(nvml);
}

bool bench_nvml_clock(const bench_nvml *n, unsigned *mhz) {
    *mhz = 0;
    return n && n->clock && n->clock(n->device, NVML_CLOCK_SM, mhz) == 0;
}

bool bench_nvml_power(const bench_nvml *n, unsigned *milliwatts) {
    *milliwatts = 0;
    return n && n->power && n->power(n->device, milliwatts) == 0;
}

bool bench_nvml_power_limit(const bench_nvml *n, unsigned *milliwatts) {
    *milliwatts = 0;
    return n && n->limit && n->limit(n->device, milliwatts) == 0;
}

bool bench_nvml_energy(const bench_nvml *n, uint64_t *millijoules) {
    unsigned long long value = 0;
    bool known = n && n->energy && n->energy(n->device, &value) == 0;
    *millijoules = value;
    return known;
}

bool bench_nvml_is_capped(const bench_nvml *n) {
    unsigned long long reasons = 0;
    return n && n->reasons && n->reasons(n->device, &reasons) == 0 &&
           (reasons & NVML_REASON_SW_POWER_CAP);
}

bool bench_nvml_driver(const bench_nvml *n, char *text, unsigned size) {
    *text = 0;
    return n && n->driver && n->driver(text, size) == 0;
}
