/* The launches of a plan, measured one by one on the CPU device. */
#include "tile/measure.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "test/unit/text_fixture.h"

enum { N = 100, MOST = 300 };

static const char plan_text[] =
    "kernel @twice(%n: i32, %x: view<f32[%n]>, %y: view<f32[%n]>) grid [ceildiv(%n, 64)] warps 1 "
    "{\n"
    "  %b = block_id\n"
    "  %t = load %x[%b * 64] : [64]\n"
    "  store %t * 2.0, %y[%b * 64]\n"
    "}\n"
    "kernel @add(%n: i32, %x: view<f32[%n]>, %w: view<f32[%n]>, %y: view<f32[%n]>)\n"
    "    grid [ceildiv(%n, 64)] warps 1 {\n"
    "  %b = block_id\n"
    "  %t = load %x[%b * 64] : [64]\n"
    "  %u = load %w[%b * 64] : [64]\n"
    "  store %t + %u, %y[%b * 64]\n"
    "}\n"
    "kernel @product(%x: view<f32[64, 32]>, %y: view<f32[64, 64]>) grid [1] warps 4 {\n"
    "  %t = load %x[0, 0] : [64, 32]\n"
    "  store dot(%t, transpose(%t, order = [1, 0]), 0.0 : tile<f32[64, 64]>), %y[0, 0]\n"
    "}\n"
    "plan @p(%n: i32, %x: view<f32[%n]>, %y: view<f32[%n]>) {\n"
    "  %v = scratch [%n] : view<f32[?]>\n"
    "  %w = scratch [%n] : view<f32[?]>\n"
    "  fill %w, 1.0\n"
    "  launch @twice(%n, %x, %v)\n"
    "  launch @add(%n, %v, %v, %y)\n"
    "  launch @add(%n, %y, %w, %y)\n"
    "}\n"
    "plan @loop(%n: i32, %x: view<f32[%n]>, %y: view<f32[%n]>) {\n"
    "  for %i = 0 to 257 step 1 { launch @twice(%n, %x, %y) }\n"
    "}\n";

typedef struct seen {
    char names[MOST][32];
    tile_step_measurement steps[MOST];
    unsigned count;
} seen;

static void see(const tile_step_measurement *step, void *user) {
    seen *s = user;
    snprintf(s->names[s->count], sizeof *s->names, "%s", step->kernel);
    s->steps[s->count++] = *step;
}

typedef struct steps_fixture {
    text_fixture text;
    tile_device *device;
    tile_module *module;
    tile_kernel *kernel;
    tile_buffer *buffers[2];
    tile_argument arguments[3];
} steps_fixture;

static void open_steps(steps_fixture *x, const char *name) {
    *x = (steps_fixture){.device = NULL};
    text_open(&x->text);
    x->module = tile_module_parse(x->text.context, "t", plan_text, strlen(plan_text));
    cr_assert(x->module);
    cr_assert_eq(tile_device_create_cpu(x->text.context, NULL, &x->device), TILE_OK);
    cr_assert_eq(tile_kernel_create(x->device, x->module, name, NULL, 0, &x->kernel), TILE_OK);
    x->arguments[0].integer = N;
    for (unsigned i = 0; i < 2; i++) {
        float numbers[64 * 64];
        for (unsigned k = 0; k < 64 * 64; k++) numbers[k] = (float)k;
        cr_assert_eq(tile_buffer_create(x->device, sizeof numbers, &x->buffers[i]), TILE_OK);
        cr_assert_eq(tile_buffer_write(x->buffers[i], 0, numbers, sizeof numbers), TILE_OK);
        x->arguments[1 + i].buffer = x->buffers[i];
    }
}

static void close_steps(steps_fixture *x) {
    tile_kernel_destroy(x->kernel);
    for (unsigned i = 0; i < 2; i++) tile_buffer_destroy(x->buffers[i]);
    tile_device_destroy(x->device);
    tile_module_destroy(x->module);
    text_close(&x->text);
}

Test(measure_steps, each_launch_has_its_time_and_the_bytes_of_its_arrays) {
    static const char *const names[] = {"fill", "twice", "add", "add"};
    static const double reads[] = {0, 4 * N, 4 * N, 8 * N}, writes[] = {4 * N, 4 * N, 4 * N, 4 * N};
    const tile_measure_options options = {.size = sizeof options, .repeats = 2};
    steps_fixture x;
    static seen s;
    float y[N];
    open_steps(&x, "p");
    s.count = 0;
    cr_assert_eq(tile_measure_steps(x.kernel, x.arguments, 3, NULL, &options, see, &s), TILE_OK);
    cr_assert_eq(s.count, 4);
    for (unsigned i = 0; i < 4; i++) {
        cr_expect_str_eq(s.names[i], names[i]);
        cr_expect_eq(s.steps[i].read_bytes, reads[i], "%u: %g", i, s.steps[i].read_bytes);
        cr_expect_eq(s.steps[i].written_bytes, writes[i], "%u: %g", i, s.steps[i].written_bytes);
        cr_expect_geq(s.steps[i].seconds, 0);
        cr_expect_eq(s.steps[i].operations, 0);
    }
    cr_expect_gt(s.steps[0].seconds, 0, "nothing is launched before the first one");
    cr_expect_eq(s.steps[1].grid[0], 2);
    cr_assert_eq(tile_buffer_read(x.buffers[1], 0, y, sizeof y), TILE_OK);
    cr_expect_eq(y[3], 13, "the last round runs all launches");
    close_steps(&x);
}

/* f32 is multiplied by fma, whose rate is 256 operations in a cycle. */
Test(measure_steps, products_have_operations) {
    steps_fixture x;
    static seen s;
    open_steps(&x, "product");
    const tile_target *target = tile_device_target(x.device);
    double rate = target->wgmma_rate ? target->wgmma_rate : target->mma_rate;
    tile_argument arguments[2] = {x.arguments[1], x.arguments[2]};
    s.count = 0;
    cr_assert_eq(tile_measure_steps(x.kernel, arguments, 2, NULL, NULL, see, &s), TILE_OK);
    cr_assert_eq(s.count, 1);
    cr_expect_float_eq(s.steps[0].operations, 2.0 * 64 * 64 * 32 * rate / 256, 1);
    cr_expect_eq(s.steps[0].read_bytes, 4 * 64 * 32);
    cr_expect_eq(s.steps[0].written_bytes, 4 * 64 * 64);
    close_steps(&x);
}

Test(measure_steps, too_many_launches_are_refused) {
    steps_fixture x;
    static seen s;
    open_steps(&x, "loop");
    s.count = 0;
    cr_expect_eq(tile_measure_steps(x.kernel, x.arguments, 3, NULL, NULL, see, &s),
                 TILE_UNSUPPORTED);
    cr_expect_eq(s.count, 0);
    cr_expect(strstr(x.text.messages, "@loop makes 257 launches, of which at most 256 can be "
                                      "measured one by one: use tile_measure"),
              "%s", x.text.messages);
    close_steps(&x);
}
