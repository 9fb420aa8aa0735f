/* PTX to cubin: by ptxas in its own process, or by the driver. Several ptxas processes run in
 * parallel, unlike the driver or nvJitLink. The process reads PTX from its standard input and
 * writes to its standard output. */
#define _GNU_SOURCE /* dladdr */
#include "runtime/compile/assemble.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/support/context.h"
#include "lib/support/target.h"
#include "runtime/cuda/driver/driver.h"

/* ptxas ---------------------------------------------------------------------------------------- */

tile_status tile_run_ptxas(tile_context *context, tile_program *program, const tile_blob *ptx,
                           const tile_target *target, const char *ptxas, const char *option) {
    char arch[32];
    snprintf(arch, sizeof arch, "-arch=%s", target->architecture);
    char *words[] = {(char *)ptxas,         arch,           (char *)"-", (char *)"-o",
                     (char *)"/dev/stdout", (char *)option, NULL};
    tile_status status = tile_program_open(context, program, ptx->data, ptx->size);
    if (status == TILE_OK) status = tile_program_run(context, program, words);
    if (status == TILE_OK && program->code != 0)
        status = tile_program_refused(context, program, "ptxas");
    if (status == TILE_OK) tile_report_ptxas(context, program->messages, ptx);
    return status;
}

static tile_status assemble_with(tile_context *context, const tile_blob *ptx,
                                 const tile_target *target, const char *path, tile_blob *cubin) {
    tile_program program;
    const char *spills = context->remarks ? "-warn-spills" : NULL;
    tile_status status = tile_run_ptxas(context, &program, ptx, target, path, spills);
    if (status == TILE_OK) {
        cubin->data = tile_program_read(program.out, &cubin->size);
        if (!cubin->size) {
            tile_blob_destroy(cubin);
            tile_report(context, TILE_ERROR, (tile_loc){0}, "ptxas wrote no cubin");
            status = TILE_FAILED;
        }
    }
    tile_program_close(&program);
    return status;
}

/* The driver ----------------------------------------------------------------------------------- */

enum { LOG_BYTES = 8192 };

/* Adds the PTX and returns the cubin, which the link state owns until it is destroyed. */
static tile_status link_ptx(tile_context *context, const tile_driver *driver, CUlinkState state,
                            const tile_blob *ptx, const char *log, tile_blob *cubin) {
    void *data = NULL;
    size_t size = 0;
    CUresult result = driver->cuLinkAddData(state, TILE_CU_JIT_INPUT_PTX, ptx->data, ptx->size + 1,
                                            "kernel.ptx", 0, NULL, NULL);
    if (!result) result = driver->cuLinkComplete(state, &data, &size);
    tile_status status = tile_driver_check(context, driver, result, "assembling by the driver");
    if (status != TILE_OK && log[0]) tile_report(context, TILE_NOTE, (tile_loc){0}, "%s", log);
    if (status != TILE_OK) return status;
    cubin->data = tile_malloc(size + 1);
    memcpy(cubin->data, data, size);
    cubin->data[size] = 0;
    cubin->size = size;
    return TILE_OK;
}

static tile_status link_in_context(tile_context *context, const tile_driver *driver,
                                   const tile_blob *ptx, const tile_target *target,
                                   tile_blob *cubin) {
    char *log = tile_malloc(LOG_BYTES);
    log[0] = 0;
    static const unsigned bases[] = {
        [TILE_TARGET_portable] = 0,
        [TILE_TARGET_family] = TILE_CU_COMPUTE_FAMILY_TARGET_BASE,
        [TILE_TARGET_specific] = TILE_CU_COMPUTE_ACCELERATED_TARGET_BASE,
    };
    CUjit_option names[] = {TILE_CU_JIT_TARGET, TILE_CU_JIT_ERROR_LOG_BUFFER,
                            TILE_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {(void *)(uintptr_t)(bases[target->form] + target->compute_capability), log,
                      (void *)(uintptr_t)LOG_BYTES};
    CUlinkState state = NULL;
    CUresult result = driver->cuLinkCreate(3, names, values, &state);
    tile_status status = tile_driver_check(context, driver, result, "the driver's assembler");
    if (status == TILE_OK) {
        status = link_ptx(context, driver, state, ptx, log, cubin);
        driver->cuLinkDestroy(state);
    }
    free(log);
    return status;
}

/* Uses the caller's context. Without one it retains the first device's context and releases it
 * again. */
static tile_status assemble_by_driver(tile_context *context, const tile_blob *ptx,
                                      const tile_target *target, tile_blob *cubin) {
    const tile_driver *driver = tile_driver_open(context);
    if (!driver) return TILE_UNAVAILABLE;
    CUcontext current = NULL, primary = NULL;
    CUdevice device = 0;
    driver->cuCtxGetCurrent(&current);
    if (!current) {
        CUresult result = driver->cuDeviceGet(&device, 0);
        if (!result) result = driver->cuDevicePrimaryCtxRetain(&primary, device);
        if (!result) result = driver->cuCtxSetCurrent(primary);
        tile_status status = tile_driver_check(context, driver, result, "the driver's assembler");
        if (status != TILE_OK) return status;
    }
    tile_status status = link_in_context(context, driver, ptx, target, cubin);
    if (primary) {
        driver->cuCtxSetCurrent(NULL);
        driver->cuDevicePrimaryCtxRelease(device);
    }
    return status;
}

tile_status tile_assemble(tile_context *context, const tile_blob *ptx, const tile_target *target,
                          const char *ptxas, tile_blob *cubin) {
    TILE_GUARD(context, TILE_OUT_OF_MEMORY)
    *cubin = (tile_blob){0};
    if (!context) return TILE_INVALID;
    if (!tile_target_check(context, (tile_loc){0}, target)) return TILE_INVALID;
    if (!ptx || !ptx->data) {
        tile_report(context, TILE_ERROR, (tile_loc){0}, "there is no PTX to assemble");
        return TILE_INVALID;
    }
    return ptxas ? assemble_with(context, ptx, target, ptxas, cubin)
                 : assemble_by_driver(context, ptx, target, cubin);
}

/* Identities ----------------------------------------------------------------------------------- */

/* The file's name, size and modification time; "" if there is no such file. The name of the library
 * that has the driver's functions contains its version. */
static const char *describe_file(const char *path, tile_arena *arena) {
    struct stat file;
    if (stat(path, &file) != 0) return "";
    const char *slash = strrchr(path, '/');
    return tile_arena_format(arena, "%s %lld %lld.%09ld", slash ? slash + 1 : path,
                             (long long)file.st_size, (long long)file.st_mtim.tv_sec,
                             file.st_mtim.tv_nsec);
}

static const char *describe_library(const void *function, tile_arena *arena) {
    Dl_info about;
    if (!dladdr(function, &about) || !about.dli_fname) return "";
    char *path = realpath(about.dli_fname, NULL);
    const char *words = describe_file(path ? path : about.dli_fname, arena);
    free(path);
    return words;
}

/* cuDriverGetVersion returns the CUDA version, which drivers with different assemblers share. */
static const char *driver_identity(tile_context *context, tile_arena *arena) {
    const tile_driver *driver = tile_driver_open(context);
    int version = 0;
    const void *function;
    if (!driver ||
        tile_driver_check(context, driver, driver->cuDriverGetVersion(&version), "the driver"))
        return NULL;
    memcpy(&function, &driver->cuDriverGetVersion, sizeof function);
    return tile_arena_format(arena, "driver %d, %s", version, describe_library(function, arena));
}

/* The output of `ptxas --version`; "" if it fails. */
static const char *ptxas_version(const char *path, tile_arena *arena) {
    tile_program program;
    char *words[] = {(char *)path, (char *)"--version", NULL};
    const char *version = "";
    if (tile_program_open(NULL, &program, NULL, 0) == TILE_OK &&
        tile_program_run(NULL, &program, words) == TILE_OK && program.code == 0) {
        size_t size;
        char *text = tile_program_read(program.out, &size);
        version = tile_arena_string(arena, text, size);
        free(text);
    }
    tile_program_close(&program);
    return version;
}

/* The version identifies the program that a wrapper script runs; the file distinguishes wrappers of
 * one version. */
const char *tile_assembler_identity(tile_context *context, const char *ptxas, tile_arena *arena) {
    if (!ptxas) return driver_identity(context, arena);
    const char *file = describe_file(ptxas, arena);
    if (!*file && strchr(ptxas, '/')) { /* without a slash it is on PATH */
        tile_report(context, TILE_ERROR, (tile_loc){0}, "%s: %s", ptxas, strerror(errno));
        return NULL;
    }
    return tile_arena_format(arena, "%s\n%s", *file ? file : ptxas, ptxas_version(ptxas, arena));
}
