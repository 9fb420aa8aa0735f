/* For tests of the CPU device: runs a kernel text unchanged, without passes, on buffers that the
 * test fills, and collects what the device reports. */
#ifndef TILE_TEST_UNIT_CPU_FIXTURE_H
#define TILE_TEST_UNIT_CPU_FIXTURE_H

#include <stdlib.h>

#include "runtime/device/device.h"
#include "test/unit/text_fixture.h"

enum { CPU_FIXTURE_ARGS = 8 };

typedef struct cpu_fixture {
    text_fixture text;
    tile_module *module;
    tile_device *device;
    tile_argument arguments[CPU_FIXTURE_ARGS];
    unsigned argument_count;
    int64_t grid[3];
} cpu_fixture;

static inline void cpu_open(cpu_fixture *x, unsigned level, uint64_t seed, const char *kernel) {
    *x = (cpu_fixture){.grid = {1, 1, 1}};
    text_open(&x->text);
    tile_device_options options = {.size = sizeof options, .level = level, .seed = seed};
    cr_assert_eq(tile_device_create_cpu(x->text.context, &options, &x->device), TILE_OK);
    x->module = tile_module_parse(x->text.context, "kernel", kernel, strlen(kernel));
    cr_assert(x->module, "%s", x->text.messages);
}

static inline void cpu_close(cpu_fixture *x) {
    for (unsigned i = 0; i < x->argument_count; i++) tile_buffer_destroy(x->arguments[i].buffer);
    tile_device_destroy(x->device);
    tile_module_destroy(x->module);
    text_close(&x->text);
}

static inline void cpu_pass_int(cpu_fixture *x, int64_t value) {
    x->arguments[x->argument_count++] = (tile_argument){.integer = value};
}

/* Passes a new buffer with these contents (NULL: initial contents) as an argument. */
static inline void cpu_pass(cpu_fixture *x, const void *data, size_t bytes) {
    tile_buffer *buffer;
    cr_assert_eq(tile_buffer_create(x->device, bytes, &buffer), TILE_OK);
    if (data) cr_assert_eq(tile_buffer_write(buffer, 0, data, bytes), TILE_OK);
    x->arguments[x->argument_count++] = (tile_argument){.buffer = buffer};
}

static inline void cpu_get(const cpu_fixture *x, unsigned argument, void *data, size_t bytes) {
    cr_assert_eq(tile_buffer_read(x->arguments[argument].buffer, 0, data, bytes), TILE_OK);
}

static inline tile_status cpu_launch_text(cpu_fixture *x) {
    tile_variant variant = {.module = x->module, .function = tile_module_function(x->module, 0)};
    tile_launch launch = {.variant = &variant,
                          .arguments = x->arguments,
                          .argument_count = x->argument_count,
                          .grid = {x->grid[0], x->grid[1], x->grid[2]}};
    tile_status status = x->device->ops->prepare(x->device, &variant);
    if (status == TILE_OK) {
        status = x->device->ops->launch(x->device, &launch);
        x->device->ops->discard(x->device, &variant);
    }
    return status;
}

/* Opens x, and launches three blocks on 4096 zero bytes. They must fault with a message that
 * contains these words, or not at all if there are none. */
static inline void cpu_expect(cpu_fixture *x, unsigned level, uint64_t seed, const char *kernel,
                              const char *words) {
    static const char zeros[4096];
    cpu_open(x, level, seed, kernel);
    cpu_pass(x, zeros, sizeof zeros);
    x->grid[0] = 3;
    tile_status status = cpu_launch_text(x);
    const char *messages = x->text.messages;
    cr_assert_eq(status, words ? TILE_FAULT : TILE_OK, "seed %d, %s: %s", (int)seed,
                 words ? words : "nothing", messages);
    cr_assert(!words || strstr(messages, words), "expected '%s' in: %s", words, messages);
}

#define CPU_RUN(x) \
    cr_assert_eq(cpu_launch_text(x), TILE_OK, "launch failed: %s", (x)->text.messages)

#endif
