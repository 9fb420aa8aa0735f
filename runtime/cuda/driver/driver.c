/* Opening libcuda.so.1, and the meaning of its results. */
#define _POSIX_C_SOURCE 200809L
#include "runtime/cuda/driver/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static tile_driver functions;
static const char *missing; /* the function that the driver lacks, NULL: none */
static char open_error[256];
static CUresult init_result;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ISO C cannot convert void * to a function pointer; POSIX guarantees that copying the bytes
 * works. */
static void resolve(void *library, const char *symbol, void *function) {
    void *address = dlsym(library, symbol);
    if (!address && !missing) missing = symbol;
    memcpy(function, &address, sizeof address);
}

static void open_library(void) {
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *error = dlerror();
        strncpy(open_error, error ? error : "dlopen failed", sizeof open_error - 1);
        return;
    }
#define DRIVER(name, symbol, parameters) resolve(library, #symbol, &functions.name);
#include "runtime/cuda/driver/driver.def"
#undef DRIVER
    if (!missing) init_result = functions.cuInit(0);
}

const tile_driver *tile_driver_open(tile_context *context) {
    const tile_loc no_location = {0, 0, 0};
    pthread_once(&once, open_library);
    if (open_error[0])
        tile_report(context, TILE_ERROR, no_location, "there is no CUDA driver: %s", open_error);
    else if (missing)
        tile_report(context, TILE_ERROR, no_location, "the CUDA driver is too old: it has no %s",
                    missing);
    else if (tile_driver_check(context, &functions, init_result, "cuInit") == TILE_OK)
        return &functions;
    return NULL;
}

static bool is_fault(CUresult result) {
    switch (result) {
#define NUMBER(name, value) case TILE_##name:
        TILE_DRIVER_FAULTS(NUMBER)
#undef NUMBER
        return true;
    default: return false;
    }
}

tile_status tile_driver_check(tile_context *context, const tile_driver *driver, CUresult result,
                              const char *what) {
    const tile_loc no_location = {0, 0, 0};
    const char *name = NULL, *text = NULL;
    if (!result) return TILE_OK;
    driver->cuGetErrorName(result, &name);
    driver->cuGetErrorString(result, &text);
    tile_report(context, TILE_ERROR, no_location, "%s: %s (%d): %s", what,
                name ? name : "unknown error", result,
                text ? text : "the driver has no text for it");
    return is_fault(result) ? TILE_FAULT : TILE_FAILED;
}
