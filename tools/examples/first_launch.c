/* Measures how long a new process takes from a kernel's text to its second launch, with a cache on
 * disk. The first run compiles everything and caches it; later runs compile nothing.
 *
 *     first_launch cuda|cpu KERNEL.tile CACHE_FOLDER [M N K [PARAMETER=VALUE ..]]
 *
 * The kernel is the first one in its file and computes c[m, n] = a[m, k] x b[k, n] in f16, as the
 * kernels in tools/kernels do. Without parameters it picks its point. All elements of a and b are
 * 1, so all elements of c are exactly k. Timing begins when the device is open and its memory is
 * filled, and ends when the second launch is done. The time to start the driver is printed
 * separately. */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tile/cache.h"
#include "tile/device.h"

enum { MAX_BINDINGS = 16, OPERANDS = 3 };

static void stop(const char *what) {
    fprintf(stderr, "first_launch: %s\n", what);
    exit(1);
}

static void must(tile_status status, const char *what) {
    if (status != TILE_OK) stop(what);
}

static void show(const tile_diagnostic *diagnostic, void *user) {
    (void)user;
    if (diagnostic->severity == TILE_ERROR) fprintf(stderr, "%s\n", diagnostic->message);
}

static double milliseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    if (!file || fseek(file, 0, SEEK_END)) stop("the kernel's file cannot be read");
    *length = (size_t)ftell(file);
    rewind(file);
    text = malloc(*length + 1);
    if (!text || fread(text, 1, *length, file) != *length) stop("the kernel's file cannot be read");
    text[*length] = 0;
    fclose(file);
    return text;
}

/* Returns a buffer with this many f16 elements, all of them `bits`: ones (0x3c00) or NaN. */
static tile_buffer *filled(tile_device *device, size_t elements, uint16_t bits) {
    tile_buffer *buffer = NULL;
    uint16_t *data = malloc(elements * sizeof *data);
    if (!data) stop("out of memory");
    for (size_t i = 0; i < elements; i++) data[i] = bits;
    must(tile_buffer_create(device, elements * sizeof *data, &buffer), "memory");
    must(tile_buffer_write(buffer, 0, data, elements * sizeof *data), "memory");
    free(data);
    return buffer;
}

/* Returns k, an integer from 1 to 2048, as f16 bits. */
static uint16_t half_of(int k) {
    int exponent = 0;
    while (k >> (exponent + 1)) exponent++;
    return (uint16_t)((exponent + 15) << 10 | ((k << 10 >> exponent) & 0x3ff));
}

static void check(const tile_buffer *c, size_t elements, uint16_t expected) {
    uint16_t *data = malloc(elements * sizeof *data);
    if (!data) stop("out of memory");
    must(tile_buffer_read(c, 0, data, elements * sizeof *data), "reading c");
    for (size_t i = 0; i < elements; i++)
        if (data[i] != expected) {
            fprintf(stderr, "first_launch: element %zu is %#x instead of %#x\n", i, data[i],
                    expected);
            exit(1);
        }
    free(data);
}

/* Returns how many artifacts the cache's file holds now. */
static unsigned long long kept(tile_context *context, const char *folder) {
    tile_cache *cache = NULL;
    must(tile_cache_create(context, folder, NULL, &cache), "cache");
    unsigned long long count = tile_cache_get_statistics(cache).artifacts;
    tile_cache_destroy(cache);
    return count;
}

static tile_device *open_device(tile_context *context, const char *kind, const char *folder) {
    const tile_device_options options = {.size = sizeof options, .level = 2, .cache_dir = folder};
    tile_device *device = NULL;
    if (!strcmp(kind, "cpu"))
        must(tile_device_create_cpu(context, &options, &device), "device");
    else if (tile_device_create_cuda(context, &options, &device) != TILE_OK)
        exit(77);
    return device;
}

int main(int argc, char **argv) {
    if (argc < 4 || (argc > 4 && argc < 7) || argc > 7 + MAX_BINDINGS)
        stop("usage: first_launch cuda|cpu KERNEL.tile CACHE_FOLDER [M N K [PARAMETER=VALUE ..]]");
    const int m = argc > 4 ? atoi(argv[4]) : 512, n = argc > 4 ? atoi(argv[5]) : 512,
              k = argc > 4 ? atoi(argv[6]) : 2048;
    if (m < 1 || n < 1 || k < 1 || k > 2048) stop("m and n are at least 1, k from 1 to 2048");
    tile_binding bindings[MAX_BINDINGS];
    unsigned count = 0;
    for (int i = 7; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (!equals) stop("a parameter is NAME=VALUE");
        *equals = 0;
        bindings[count++] = (tile_binding){argv[i], equals + 1};
    }

    const double start = milliseconds();
    tile_context *context = tile_context_create();
    tile_context_set_sink(context, show, NULL);
    tile_device *device = open_device(context, argv[1], argv[3]);
    const double opened = milliseconds();
    const size_t sizes[OPERANDS] = {(size_t)m * (size_t)k, (size_t)k * (size_t)n,
                                    (size_t)m * (size_t)n};
    tile_buffer *buffers[OPERANDS];
    for (int i = 0; i < OPERANDS; i++)
        buffers[i] = filled(device, sizes[i], i < 2 ? 0x3c00 : 0x7e00);
    const unsigned long long before = kept(context, argv[3]);

    const double begin = milliseconds();
    size_t length = 0;
    char *text = read_file(argv[2], &length);
    tile_module *module = tile_module_parse(context, argv[2], text, length);
    if (!module) stop("the kernel does not parse");
    tile_kernel *kernel = NULL;
    const tile_function *first = tile_module_function(module, 0);
    must(tile_kernel_create(device, module, tile_function_name(first), bindings, count, &kernel),
         "tile_kernel_create");
    const tile_argument arguments[] = {{.integer = m},         {.integer = n},
                                       {.integer = k},         {.buffer = buffers[0]},
                                       {.buffer = buffers[1]}, {.buffer = buffers[2]}};
    must(tile_kernel_launch(kernel, arguments, 6, NULL), "tile_kernel_launch");
    const double launched = milliseconds();
    must(tile_kernel_launch(kernel, arguments, 6, NULL), "tile_kernel_launch");
    must(tile_device_synchronize(device), "tile_device_synchronize");
    const double end = milliseconds();

    check(buffers[2], sizes[2], half_of(k));
    printf(
        "%s: text to second launch, done: %.1f ms (first launch issued after %.1f ms); artifacts "
        "made: %llu; device opened in %.1f ms\n",
        tile_device_name(device), end - begin, launched - begin, kept(context, argv[3]) - before,
        opened - start);
    for (int i = 0; i < OPERANDS; i++) tile_buffer_destroy(buffers[i]);
    tile_kernel_destroy(kernel);
    tile_module_destroy(module);
    tile_device_destroy(device);
    tile_context_destroy(context);
    free(text);
    return 0;
}
