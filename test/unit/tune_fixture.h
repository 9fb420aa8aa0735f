/* For tests of the tuner: a CPU device with a cache in a temporary folder, a module, and ranks that
 * the test sets, so that no test depends on time. */
#ifndef TILE_TEST_UNIT_TUNE_FIXTURE_H
#define TILE_TEST_UNIT_TUNE_FIXTURE_H

#include "test/unit/cache_fixture.h"
#include "test/unit/text_fixture.h"
#include "tile/tune.h"

/* c[i] = x[i] + 1. `fault` selects the fault of a faulty worker or of the kernel: 10 computes one
 * wrong element, 11 writes out of bounds, 12 never ends, 13 does so only with more than 64
 * elements. */
static const char tune_text[] =
    "kernel @add<block: int, fault: int, speed: int = 0>(%n: i32, %x: view<f32[%n]>, %c: "
    "view<f32[%n]>)\n"
    "    of @plus\n"
    "    tune block in [32, 64] tune fault in [FAULTS]\n"
    "    where block > fault - 40\n"
    "    grid [ceildiv(%n, block)] warps 1 {\n"
    "  %b = block_id\n"
    "  %t = load %x[%b * block] : [block]\n"
    "  %one = splat(1.0) : tile<f32[block]>\n"
    "  %i = splat(%b * block) : tile<i32[block]>\n"
    "  %at = iota(axis = 0) : tile<i32[block]>\n"
    "  %bad = eq(%i + %at, splat(5) : tile<i32[block]>)\n"
    "  %far = eq(%i + %at, splat(100) : tile<i32[block]>)\n"
    "  %zero = splat(0.0) : tile<f32[block]>\n"
    "  %w = if fault == 10 { yield select(%bad, %zero, %one) } else { yield %one }\n"
    "  %v = if fault == 13 { yield select(%far, %zero, %w) } else { yield %w }\n"
    "  if fault == 11 {\n"
    "    %p = base %c\n"
    "    %q = view %p, [%n + 4096] : view<f32[?]>\n"
    "    store %t, %q[%n + 2048]\n"
    "  }\n"
    "  if fault == 12 {\n"
    "    while { yield true } do { store %t, %c[%b * block] }\n"
    "  }\n"
    "  store %t + %v, %c[%b * block]\n"
    "}\n"
    "compute @plus<n: dim>(%x: tensor<f32[n]>) -> (%c: tensor<f32[n]>) {\n"
    "  %c = %x + 1.0\n"
    "}\n";

typedef struct tune_fixture {
    text_fixture text;
    char folder[64];
    tile_device *device;
    tile_module *module;
    tile_tune_options options;
    tile_tuning *tuning;
    unsigned told;
} tune_fixture;

static inline void tune_parse(tune_fixture *x, const char *text, const char *faults) {
    const char *place = strstr(text, "FAULTS");
    char *whole = calloc(strlen(text) + 64, 1);
    if (place)
        sprintf(whole, "%.*s%s%s", (int)(place - text), text, faults, place + 6);
    else
        strcpy(whole, text);
    x->module = tile_module_parse(x->text.context, "tune.tile", whole, strlen(whole));
    cr_assert(x->module, "%s", x->text.messages);
    free(whole);
}

static inline void tune_open(tune_fixture *x, const char *text, const char *faults) {
    *x = (tune_fixture){.folder = "/tmp/tile-tune-XXXXXX", .options = {.size = sizeof x->options}};
    text_open(&x->text);
    cr_assert(mkdtemp(x->folder));
    const tile_device_options device = {
        .size = sizeof device, .cache_dir = x->folder, .max_operations = 1000000};
    cr_assert_eq(tile_device_create_cpu(x->text.context, &device, &x->device), TILE_OK);
    tune_parse(x, text, faults);
}

static inline void tune_close(tune_fixture *x) {
    tile_tuning_destroy(x->tuning);
    tile_module_destroy(x->module);
    tile_device_destroy(x->device);
    text_close(&x->text);
    nftw(x->folder, cache_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Tunes @add for n elements. */
static inline tile_status tune_add(tune_fixture *x, int64_t n) {
    const tile_tune_argument arguments[3] = {{.integer = n}};
    tile_tuning_destroy(x->tuning);
    return tile_tune(x->device, x->module, "add", arguments, 3, &x->options, &x->tuning);
}

static inline const tile_candidate *tune_find(const tune_fixture *x, const char *text) {
    const tile_candidate *c;
    for (unsigned i = 0; (c = tile_tuning_candidate_at(x->tuning, i)); i++)
        if (strcmp(c->text, text) == 0) return c;
    cr_assert(false, "there is no candidate %s", text);
    return NULL;
}

/* Returns the path of a program in this program's folder, in a static buffer, because the caller
 * would not free it. */
static inline const char *tune_program(const char *name) {
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
    cr_assert_gt(length, 0);
    path[length] = 0;
    strcpy(strrchr(path, '/') + 1, name);
    return path;
}

#endif
