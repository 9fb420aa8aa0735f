/* Running out of memory: whichever allocation of a call fails, the call returns, reports the
 * failure, and leaves objects that can be destroyed and used again. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/context.h"
#include "test/unit/leaks.h"
#include "tile/artifact.h"
#include "tile/build.h"
#include "tile/compile.h"
#include "tile/compute.h"
#include "tile/device.h"
#include "tile/parse.h"
#include "tile/pass.h"
#include "tile/target.h"
#include "tile/tune.h"

static const char text[] =
    "kernel @scale<block: int>(%n: i32, %x: view<f32[%n]>, %y: view<f32[%n]>) of @twice\n"
    "    tune block in [32, 64] grid [ceildiv(%n, block)] warps 1 {\n"
    "  %b = block_id\n"
    "  %t = load %x[%b * block] : [block]\n"
    "  store %t * 2.0, %y[%b * block]\n"
    "}\n"
    "compute @twice<n: dim>(%x: tensor<f32[n]>) -> (%y: tensor<f32[n]>) { %y = %x * 2.0 }\n"
    "compute @softmax<m: dim, n: dim>(%x: tensor<f32[m, n]>) -> (%y: tensor<f32[m, n]>) {\n"
    "  %e = exp(%x - reduce_max(%x, axis = 1))\n"
    "  %y = %e / reduce_add(%e, axis = 1)\n"
    "}\n";

/* Objects that the calls of one scenario share, so that they are destroyed wherever the calls
 * end. */
typedef struct scenario {
    tile_context *context;
    tile_module *module;
    tile_device *device;
    tile_kernel *kernel;
    tile_buffer *from, *to;
    tile_tuning *tuning;
    tile_blob ptx;
    char said[4096];
} scenario;

static void keep_words(const tile_diagnostic *d, void *user) {
    scenario *s = user;
    strncat(s->said, d->message, sizeof s->said - strlen(s->said) - 1);
}

/* Each returns TILE_OK, or the status of the first call that failed. */
static tile_status parse(scenario *s) {
    s->module = tile_module_parse(s->context, "memory.tile", text, strlen(text));
    return s->module ? TILE_OK : TILE_OUT_OF_MEMORY;
}

static tile_status find_included(const tile_include *include, tile_included *found, void *user) {
    unsigned *held = user;
    (void)include;
    ++*held;
    *found = (tile_included){.text = text, .length = strlen(text), .name = "included.tile"};
    return TILE_OK;
}

static void release_included(tile_included *found, void *user) {
    unsigned *held = user;
    (void)found;
    --*held;
}

/* The resolver's memory is released, too. */
static tile_status parse_include(scenario *s) {
    unsigned held = 0;
    const tile_parse_options options = {.size = sizeof options,
                                        .resolve = find_included,
                                        .release = release_included,
                                        .user = &held};
    s->module = tile_module_parse_with(s->context, "a.tile", "include \"b\"", 11, &options);
    cr_expect_eq(held, 0);
    return s->module ? TILE_OK : TILE_OUT_OF_MEMORY;
}

static tile_status schedule(scenario *s) {
    const tile_pass_options options = {.size = sizeof options, .kernel = "softmax"};
    tile_status status = parse(s);
    return status == TILE_OK ? tile_run_passes(s->module, "schedule", &options) : status;
}

static tile_status emit(scenario *s) {
    const tile_binding block = {"block", "32"};
    const tile_emit_options options = {.size = sizeof options, .target = tile_target_find("sm_80")};
    tile_status status = parse(s);
    if (status != TILE_OK) return status;
    return tile_compile(s->module, "scale", &block, 1, &options, &s->ptx, NULL);
}

static tile_status launch(scenario *s) {
    static const float ones[100] = {1, 1, 1};
    tile_status status = parse(s);
    if (status == TILE_OK) status = tile_device_create_cpu(s->context, NULL, &s->device);
    if (status == TILE_OK) status = tile_buffer_create(s->device, sizeof ones, &s->from);
    if (status == TILE_OK) status = tile_buffer_create(s->device, sizeof ones, &s->to);
    if (status == TILE_OK) status = tile_buffer_write(s->from, 0, ones, sizeof ones);
    if (status == TILE_OK)
        status = tile_kernel_create(s->device, s->module, "scale", NULL, 0, &s->kernel);
    const tile_argument arguments[] = {{.integer = 100}, {.buffer = s->from}, {.buffer = s->to}};
    if (status == TILE_OK) status = tile_kernel_launch(s->kernel, arguments, 3, NULL);
    return status;
}

static tile_status tune(scenario *s) {
    const tile_tune_argument arguments[3] = {{.integer = 50}};
    const tile_tune_options options = {.size = sizeof options};
    tile_status status = parse(s);
    if (status == TILE_OK) status = tile_device_create_cpu(s->context, NULL, &s->device);
    if (status != TILE_OK) return status;
    status = tile_tune(s->device, s->module, "scale", arguments, 3, &options, &s->tuning);
    if (status != TILE_FAILED) return status;
    /* The report has the outcome of each candidate. */
    const tile_candidate *c;
    for (unsigned i = 0; (c = tile_tuning_candidate_at(s->tuning, i)); i++)
        strncat(s->said, c->why, sizeof s->said - strlen(s->said) - 1);
    return TILE_OUT_OF_MEMORY;
}

static tile_status run_compute(scenario *s) {
    float x[6] = {1, 2, 3, 4, 5, 6}, y[6];
    const tile_compute_array in = {TILE_f32, 2, {2, 3}, x}, out = {TILE_f32, 2, {2, 3}, y};
    tile_status status = parse(s);
    if (status != TILE_OK) return status;
    return tile_compute_run(tile_module_find(s->module, "softmax"), &in, 1, &out, 1);
}

/* A builder reports a lack of memory by its returned values. */
static tile_status build(scenario *s) {
    tile_context *c = s->context;
    s->module = tile_module_create(c);
    tile_function *f =
        s->module ? tile_function_create(s->module, TILE_KERNEL, "made", (tile_loc){0}) : NULL;
    if (!f) return TILE_OUT_OF_MEMORY;
    tile_value x = tile_function_add_arg(f, "x", tile_type_ptr(c, TILE_i32));
    tile_builder b = tile_builder_at_end(f, tile_function_body(f));
    tile_value sum = tile_build_int(&b, 1);
    for (int i = 0; i < 500 && sum.id; i++)
        sum = tile_build_add(&b, sum, tile_build_int(&b, 1000 + i));
    return x.id && sum.id ? TILE_OK : TILE_OUT_OF_MEMORY;
}

static const struct {
    const char *name;
    tile_status (*run)(scenario *s);
} scenarios[] = {
    {"parse", parse}, {"schedule", schedule},   {"emit", emit},   {"launch", launch},
    {"tune", tune},   {"compute", run_compute}, {"build", build}, {"include", parse_include}};

static void close_scenario(scenario *s) {
    tile_tuning_destroy(s->tuning);
    tile_kernel_destroy(s->kernel);
    tile_buffer_destroy(s->from);
    tile_buffer_destroy(s->to);
    tile_device_destroy(s->device);
    tile_blob_destroy(&s->ptx);
    tile_module_destroy(s->module);
    tile_context_destroy(s->context);
}

/* Runs it with the allocation after `count` failing (0: none); returns the number of
 * allocations. */
static size_t run_once(unsigned which, size_t count) {
    scenario s = {.context = tile_context_create()};
    tile_context_set_sink(s.context, keep_words, &s);
    tile_memory_fail_after(count);
    tile_status status = scenarios[which].run(&s);
    size_t allocations = tile_memory_fail_after(0);
    if (count && count <= allocations) {
        cr_expect(status == TILE_OUT_OF_MEMORY || status == TILE_OK, "%s, allocation %zu: %s, %s",
                  scenarios[which].name, count, tile_status_name(status), s.said);
        cr_expect(status == TILE_OK || strstr(s.said, "out of memory"), "%s, allocation %zu: '%s'",
                  scenarios[which].name, count, s.said);
    } else {
        cr_expect_eq(status, TILE_OK, "%s: %s", scenarios[which].name, s.said);
    }
    cr_expect_not(tile_is_guarded());
    close_scenario(&s);
    return allocations;
}

static void fail_each(unsigned which) {
    enum { MOST = 400 };
    size_t all = run_once(which, 0), step = all / MOST + 1;
    cr_expect_gt(all, 0);
    leaks_are_expected(); /* memory of an abandoned function */
    for (size_t count = 1; count <= all; count += step) run_once(which, count);
    run_once(which, 0); /* a failed run must leave nothing that affects this one */
}

Test(memory, parsing_survives_each_failure, .timeout = 300) {
    fail_each(0);
}
Test(memory, scheduling_survives_each_failure, .timeout = 300) {
    fail_each(1);
}
Test(memory, emission_survives_each_failure, .timeout = 300) {
    fail_each(2);
}
Test(memory, launches_survive_each_failure, .timeout = 300) {
    fail_each(3);
}
Test(memory, tuning_survives_each_failure, .timeout = 300) {
    fail_each(4);
}
Test(memory, computes_survive_each_failure, .timeout = 300) {
    fail_each(5);
}
Test(memory, building_survives_each_failure, .timeout = 300) {
    fail_each(6);
}
Test(memory, including_survives_each_failure, .timeout = 300) {
    fail_each(7);
}
