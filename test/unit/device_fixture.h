/* A fake device that only records its requests, and a module with kernels for it. Several threads
 * may launch on it at the same time. */
#ifndef TILE_TEST_UNIT_DEVICE_FIXTURE_H
#define TILE_TEST_UNIT_DEVICE_FIXTURE_H

#include "runtime/device/device.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/text_fixture.h"

typedef struct fake_device {
    tile_device base; /* must be first */
    text_fixture text;
    tile_module *module;
    tile_status next; /* what allocate, prepare, launch and time return */
    unsigned allocated, prepared, discarded, reserved, timed, written;
    unsigned power_limit, power_asked; /* mW; how often it was requested */
    double seconds[8];                 /* times of launches, in turn, when they are measured */
    tile_flush flushed;
    atomic_uint launched;
    bool capturing;
    bool shared; /* used by several threads: `last` is not written */
    tile_launch last;
    tile_argument last_argument; /* first argument of the last launch */
} fake_device;

static fake_device *fake_of(tile_device *device) {
    return (fake_device *)device;
}

static void fake_destroy(tile_device *device) {
    fake_device *x = fake_of(device);
    cr_assert_eq(x->allocated, 0, "a buffer's memory was not given back");
    cr_assert_eq(x->prepared, x->discarded, "a variant's code was not given back");
    tile_module_destroy(x->module);
    text_close(&x->text);
    free(x);
}

static tile_status fake_allocate(tile_device *device, size_t bytes, uint64_t *address) {
    if (fake_of(device)->next != TILE_OK) return fake_of(device)->next;
    cr_assert_gt(bytes, 0);
    fake_of(device)->allocated++;
    *address = (uint64_t)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
    return TILE_OK;
}

static void fake_release(tile_device *device, uint64_t address, size_t bytes) {
    cr_assert_gt(bytes, 0);
    fake_of(device)->allocated--;
    free((void *)(uintptr_t)address);
}

static tile_status fake_write(tile_device *device, uint64_t address, const void *data,
                              size_t bytes) {
    fake_of(device)->written++;
    memcpy((void *)(uintptr_t)address, data, bytes);
    return TILE_OK;
}

static tile_status fake_read(tile_device *device, uint64_t address, void *data, size_t bytes) {
    (void)device;
    memcpy(data, (const void *)(uintptr_t)address, bytes);
    return TILE_OK;
}

/* The code exists even if preparing it failed, so the caller must discard it. */
static tile_status fake_prepare(tile_device *device, tile_variant *variant) {
    fake_of(device)->prepared++;
    variant->code = malloc(1);
    return fake_of(device)->next;
}

static void fake_discard(tile_device *device, tile_variant *variant) {
    fake_of(device)->discarded++;
    free(variant->code);
}

static tile_status fake_launch(tile_device *device, const tile_launch *launch) {
    if (!fake_of(device)->shared) {
        fake_of(device)->last = *launch;
        fake_of(device)->last_argument = launch->arguments[0];
    }
    fake_of(device)->launched++;
    return fake_of(device)->next;
}

static tile_status fake_reserve(tile_device *device, const tile_launch *launch) {
    fake_of(device)->reserved++;
    fake_of(device)->last = *launch;
    return fake_of(device)->next;
}

static tile_status fake_is_capturing(tile_device *device, void *stream, bool *capturing) {
    (void)stream;
    *capturing = fake_of(device)->capturing;
    return TILE_OK;
}

static tile_status fake_time(tile_device *device, const tile_timed *timed, double *seconds) {
    fake_device *x = fake_of(device);
    *seconds = x->seconds[x->timed % (sizeof x->seconds / sizeof *x->seconds)];
    x->flushed = timed->flush;
    x->timed++;
    for (unsigned i = 0; i < timed->batch; i++) {
        tile_status status = timed->launch(timed->user);
        if (status != TILE_OK) return status;
    }
    return x->next;
}

static unsigned fake_power_limit(tile_device *device) {
    fake_of(device)->power_asked++;
    return fake_of(device)->power_limit;
}

static const tile_device_ops fake_ops = {
    .destroy = fake_destroy,
    .allocate = fake_allocate,
    .release = fake_release,
    .write = fake_write,
    .read = fake_read,
    .prepare = fake_prepare,
    .discard = fake_discard,
    .launch = fake_launch,
    .reserve = fake_reserve,
    .is_capturing = fake_is_capturing,
    .time = fake_time,
    .power_limit = fake_power_limit,
};

static const char kernels[] =
    "kernel @k<block: int>(%n: i32 {divisible = 8}, %x: ptr<f32>, %h: ptr<f16> {divisible = 1},\n"
    "    %b: i8, %l: i64 {divisible = 4}, %q: i1, %f: f32)\n"
    "    tune block in [64, 32] grid [ceildiv(%n, block), 3] warps 1 {\n"
    "  %bx, %by, %bz = block_id : i32\n"
    "  %room = scratch [%n] : view<f32[?]>\n"
    "  %sem = scratch [3, %n] {clean} : view<i32[3, ?]>\n"
    "  %g = view %x, [%n] : view<f32[?]>\n"
    "  %t = load %g[%bx * block] : tile<f32[block]>\n"
    "  store %t, %room[%bx * block]\n"
    "  lock_semaphore %sem[%by, %bx], 0\n"
    "  release_semaphore %sem[%by, %bx], 0\n"
    "}\n"
    "kernel @needs<rows: int>(%x: ptr<f32>) grid [1] warps 1 where rows > 3 { }\n"
    "kernel @inner(%x: ptr<f32>) grid [1] warps 1 {\n"
    "  %bx, %by, %bz = block_id : i32\n"
    "  %t = splat 0.0 : tile<f32[32]>\n"
    "  %room = scratch [%bx] : view<f32[?]>\n"
    "  store %t, %room[0]\n"
    "}\n"
    "compute @c<n: dim>(%a: tensor<f16[n]>) -> (%r: tensor<f16[n]>) { %r = %a : tensor<f16[n]> }\n";

static inline fake_device *open_device(void) {
    fake_device *x = calloc(1, sizeof *x);
    text_open(&x->text);
    x->base = (tile_device){.ops = &fake_ops,
                            .context = x->text.context,
                            .target = tile_target_find("sm_80"),
                            .name = "fake",
                            .level = 2};
    x->module = text_parse(&x->text, kernels);
    cr_assert_not_null(x->module, "%s", x->text.messages);
    return x;
}

static inline tile_kernel *create_kernel(fake_device *x, const char *block) {
    const tile_binding binding = {"block", block};
    tile_kernel *kernel;
    tile_status status = tile_kernel_create(&x->base, x->module, "k", &binding, 1, &kernel);
    cr_assert_eq(status, TILE_OK, "%s", x->text.messages);
    return kernel;
}

static inline tile_buffer *create_buffer(fake_device *x, size_t bytes) {
    tile_buffer *buffer;
    cr_assert_eq(tile_buffer_create(&x->base, bytes, &buffer), TILE_OK);
    return buffer;
}

/* Checks the last diagnostic. */
static inline void expect(fake_device *x, const char *message) {
    const char *end = x->text.messages + x->text.length;
    size_t length = strlen(message);
    cr_assert(x->text.length > length && strncmp(end - length - 1, message, length) == 0,
              "wanted '%s', have:\n%s", message, x->text.messages);
}

enum { N, X, H, B, L, Q, F, COUNT };

/* Fills in valid arguments of @k, as divisible as it declares. */
static inline void fill(tile_argument arguments[COUNT], tile_buffer *buffer) {
    memset(arguments, 0, sizeof *arguments * COUNT);
    arguments[N].integer = 104;
    arguments[X].buffer = arguments[H].buffer = buffer;
    arguments[B].integer = -128;
    arguments[L].integer = 1LL << 40;
    arguments[Q].integer = 1;
    arguments[F].number = 0.5;
}

#endif
