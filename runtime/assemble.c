/* PTX to cubin: ptxas as a process of its own (several of them run side by side, which neither the
 * driver nor nvJitLink do), or the driver.
 *
 * The process reads PTX from its standard input and writes to its standard output; both, and its
 * messages, are files in memory, so that nothing is left behind whatever happens, no disk is
 * needed, and the processes that other threads start meanwhile do not hold them open. */
#define _GNU_SOURCE /* dladdr, memfd_create */
#include "runtime/assemble.h"

#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/support/target.h"
#include "runtime/cuda/driver.h"

extern char **environ;

typedef struct ptxas_files {
    FILE *in, *out, *messages;
} ptxas_files;

static tile_status fail_system(tile_context *context, const char *what, int error) {
    tile_report(context, TILE_ERROR, (tile_loc){0}, "%s: %s", what, strerror(error));
    return error == ENOENT || error == EACCES ? TILE_UNAVAILABLE : TILE_FAILED;
}

static void close_files(ptxas_files *files) {
    FILE *all[] = {files->in, files->out, files->messages};
    for (unsigned i = 0; i < 3; i++)
        if (all[i]) fclose(all[i]);
}

/* Where there are no files in memory, one on the disk. */
static FILE *open_unnamed(void) {
    int descriptor = memfd_create("ptxas", MFD_CLOEXEC);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w+b");
    if (!file && descriptor >= 0) close(descriptor);
    return file ? file : tmpfile();
}

static tile_status open_files(tile_context *context, ptxas_files *files, const tile_blob *ptx) {
    *files = (ptxas_files){open_unnamed(), open_unnamed(), open_unnamed()};
    if (files->in && files->out && files->messages &&
        fwrite(ptx->data, 1, ptx->size, files->in) == ptx->size && fflush(files->in) == 0 &&
        lseek(fileno(files->in), 0, SEEK_SET) == 0)
        return TILE_OK;
    return fail_system(context, "temporary file", errno);
}

/* The file's contents, ended by a zero byte; the caller frees them. */
static char *read_all(FILE *file, size_t *size) {
    long end = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    char *data = tile_malloc((size_t)(end > 0 ? end : 0) + 1);
    rewind(file);
    *size = end > 0 ? fread(data, 1, (size_t)end, file) : 0;
    data[*size] = 0;
    return data;
}

/* Runs a program on the files; *code is its exit code, -1 if a signal ended it. errno's number if
 * it does not run. */
static int run(char **words, const ptxas_files *files, int *code) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fileno(files->in), 0);
    posix_spawn_file_actions_adddup2(&actions, fileno(files->out), 1);
    posix_spawn_file_actions_adddup2(&actions, fileno(files->messages), 2);
    pid_t child;
    int state, error = posix_spawnp(&child, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error) return error;
    while (waitpid(child, &state, 0) < 0)
        if (errno != EINTR) return errno;
    *code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    return 0;
}

static tile_status run_ptxas(tile_context *context, const char *path, const char *target,
                             const ptxas_files *files, int *code) {
    char arch[32];
    snprintf(arch, sizeof arch, "-arch=%s", target);
    char *words[] = {(char *)path, arch, (char *)"-", (char *)"-o", (char *)"/dev/stdout", NULL};
    int error = run(words, files, code);
    return error ? fail_system(context, path, error) : TILE_OK;
}

/* The assembler's own words; trailing line breaks are cut off. */
static void report_messages(tile_context *context, ptxas_files *files, int code) {
    size_t size;
    char *text = read_all(files->messages, &size);
    while (size && (text[size - 1] == '\n' || text[size - 1] == '\r')) text[--size] = 0;
    if (code < 0)
        tile_report(context, TILE_ERROR, (tile_loc){0}, "ptxas was killed by a signal");
    else
        tile_report(context, TILE_ERROR, (tile_loc){0}, "ptxas failed:\n%s",
                    size ? text : "no message");
    free(text);
}

static tile_status assemble_with(tile_context *context, const tile_blob *ptx, const char *target,
                                 const char *path, tile_blob *cubin) {
    ptxas_files files = {NULL, NULL, NULL};
    int code = 0;
    tile_status status = open_files(context, &files, ptx);
    if (status == TILE_OK) status = run_ptxas(context, path, target, &files, &code);
    if (status == TILE_OK && code != 0) {
        report_messages(context, &files, code);
        status = TILE_FAILED;
    }
    if (status == TILE_OK) {
        cubin->data = read_all(files.out, &cubin->size);
        if (!cubin->size) {
            tile_blob_destroy(cubin);
            tile_report(context, TILE_ERROR, (tile_loc){0}, "ptxas wrote no cubin");
            status = TILE_FAILED;
        }
    }
    close_files(&files);
    return status;
}

/* The driver ----------------------------------------------------------------------------------- */

enum { LOG_BYTES = 8192 };

/* Adds the PTX and takes the cubin out of the state, which owns it until it is destroyed. */
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
    unsigned base = target->arch_specific ? TILE_CU_COMPUTE_ACCELERATED_TARGET_BASE : 0;
    CUjit_option names[] = {TILE_CU_JIT_TARGET, TILE_CU_JIT_ERROR_LOG_BUFFER,
                            TILE_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {(void *)(uintptr_t)(base + target->compute_capability), log,
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

/* Works in the caller's context; without one in the first device's, which it lets go again. */
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
    *cubin = (tile_blob){0};
    if (!context) return TILE_INVALID;
    if (!tile_target_check(context, (tile_loc){0}, target)) return TILE_INVALID;
    if (!ptx || !ptx->data) {
        tile_report(context, TILE_ERROR, (tile_loc){0}, "there is no PTX to assemble");
        return TILE_INVALID;
    }
    return ptxas ? assemble_with(context, ptx, target->name, ptxas, cubin)
                 : assemble_by_driver(context, ptx, target, cubin);
}

/* Identities ----------------------------------------------------------------------------------- */

/* The file's name, size and time of change; "" if there is no such file. The library behind the
 * driver's functions has its version in the name. */
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

/* cuDriverGetVersion gives CUDA's version, which drivers with different assemblers share. */
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

/* What `ptxas --version` prints; "" if it does not. */
static const char *ptxas_version(const char *path, tile_arena *arena) {
    ptxas_files files = {fopen("/dev/null", "r"), open_unnamed(), open_unnamed()};
    char *words[] = {(char *)path, (char *)"--version", NULL};
    const char *version = "";
    int code = 0;
    if (files.in && files.out && files.messages && run(words, &files, &code) == 0 && code == 0) {
        size_t size;
        char *text = read_all(files.out, &size);
        version = tile_arena_string(arena, text, size);
        free(text);
    }
    close_files(&files);
    return version;
}

/* The version tells what a wrapper runs; the file tells wrappers of one version apart. */
const char *tile_assembler_identity(tile_context *context, const char *ptxas, tile_arena *arena) {
    if (!ptxas) return driver_identity(context, arena);
    const char *file = describe_file(ptxas, arena);
    if (!*file && strchr(ptxas, '/')) { /* else it is on PATH */
        fail_system(context, ptxas, errno);
        return NULL;
    }
    return tile_arena_format(arena, "%s\n%s", *file ? file : ptxas, ptxas_version(ptxas, arena));
}
