/* The GPU's power limit according to NVML, which is part of the driver. A tuned point is valid for
 * one limit. An unknown limit counts as 0. */
#include <dlfcn.h>
#include <string.h>

#include "runtime/cuda/device.h"

typedef struct nvml_device *nvml_handle;

/* ISO C cannot convert void * to a function pointer; POSIX guarantees that copying the bytes
 * works. */
static bool resolve(void *library, const char *symbol, void *function) {
    void *address = dlsym(library, symbol);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

static unsigned query_limit(void *library, const char *bus_id) {
    int (*init)(void), (*shutdown)(void);
    int (*find)(const char *bus_id, nvml_handle *device);
    int (*limit)(nvml_handle device, unsigned *milliwatts);
    nvml_handle device = NULL;
    unsigned milliwatts = 0;
    if (!resolve(library, "nvmlInit_v2", &init) || !resolve(library, "nvmlShutdown", &shutdown) ||
        !resolve(library, "nvmlDeviceGetHandleByPciBusId_v2", &find) ||
        !resolve(library, "nvmlDeviceGetEnforcedPowerLimit", &limit) || init() != 0)
        return 0;
    if (find(bus_id, &device) != 0 || limit(device, &milliwatts) != 0) milliwatts = 0;
    shutdown();
    return milliwatts;
}

static unsigned find_power_limit(const cuda_device *d) {
    char bus_id[32] = "";
    if (d->driver->cuDeviceGetPCIBusId(bus_id, sizeof bus_id, d->device) != 0) return 0;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return 0;
    unsigned milliwatts = query_limit(library, bus_id);
    dlclose(library);
    return milliwatts;
}

/* NVML takes long to start, and each new bucket of arguments needs the limit. */
unsigned tile_cuda_power_limit(cuda_device *d) {
    if (!d->power_is_asked) d->power_limit = find_power_limit(d);
    d->power_is_asked = true;
    return d->power_limit;
}
