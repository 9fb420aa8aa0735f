/* Which point a launch takes: one that was set or tuned for the bucket of its arguments, else one
 * that is picked. Runs on a fake device that only records its requests. */
#define _XOPEN_SOURCE 700
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/integer.h"
#include "runtime/cache/cache.h"
#include "runtime/launch/tuned.h"
#include "test/unit/device_fixture.h"

/* Classes of pitches that are distinguished. */
static int pitch(int64_t size) {
    return size % 64 == 0 ? 64 : size % 8 == 0 ? 8 : 1;
}

Test(launch_points, buckets_grow_by_eighths) {
    static const int64_t cases[][2] = {
        {INT64_MIN, INT64_MIN},
        {-7, -7},
        {0, 0},
        {1, 1},
        {15, 15},
        {16, 16},
        {17, 18},
        {19, 20},
        {23, 23},
        {24, 24},
        {33, 36},
        {56, 56},
        {64, 64},
        {65, 71},
        {72, 72},
        {97, 103},
        {2560, 2560},
        {2561, 2815},
        {2568, 2808},
        {2624, 2816},
        {3000, 3064},
        {3008, 3072},
        {4097, 4607},
        {8192, 8192},
        {INT64_MAX, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_assert_eq(tile_bucket(cases[i][0]), cases[i][1], "case %zu", i);
    for (int64_t size = 1; size < 70000; size++) {
        int64_t bucket = tile_bucket(size);
        cr_assert(bucket >= size && tile_bucket(bucket) == bucket, "%lld", (long long)size);
        cr_assert(size <= 16 ? bucket == size : (bucket - size) * 8 < size, "%lld",
                  (long long)size);
        cr_assert_eq(pitch(bucket), pitch(size), "%lld", (long long)size);
    }
}

/* Returns the last launch's blocks along x: @k's grid is ceildiv(n, block). */
static int64_t launch_blocks(fake_device *x, tile_kernel *kernel, tile_argument *arguments,
                             int64_t n) {
    arguments[N].integer = n;
    cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT, NULL), TILE_OK, "%s",
                 x->text.messages);
    return x->last.grid[0];
}

Test(launch_points, a_kernel_without_bindings_takes_the_point_of_the_bucket) {
    fake_device *x = open_device();
    const tile_binding small = {"block", "16"}, large = {"block", "128"}, none = {"block", "0"};
    tile_buffer *buffer = create_buffer(x, 1024);
    tile_argument arguments[COUNT];
    tile_kernel *kernel;
    fill(arguments, buffer);
    cr_assert_eq(tile_kernel_create(&x->base, x->module, "k", NULL, 0, &kernel), TILE_OK);
    cr_assert_eq(launch_blocks(x, kernel, arguments, 520), 9, "the first of the space: 64");
    cr_assert_eq(tile_kernel_set_point(kernel, arguments, COUNT, &small, 1), TILE_OK);
    cr_assert_eq(x->prepared, 2);
    cr_assert_eq(launch_blocks(x, kernel, arguments, 520), 33);
    cr_assert_eq(launch_blocks(x, kernel, arguments, 568), 36, "520 to 568 are one bucket");
    cr_assert_eq(launch_blocks(x, kernel, arguments, 512), 8);
    cr_assert_eq(launch_blocks(x, kernel, arguments, 576), 9, "multiples of 64 are apart");
    arguments[L].integer++; /* another bucket, although the grid does not depend on it */
    cr_assert_eq(launch_blocks(x, kernel, arguments, 520), 9);
    arguments[L].integer--;
    arguments[N].integer = 536;
    cr_assert_eq(tile_kernel_set_point(kernel, arguments, COUNT, &large, 1), TILE_OK);
    cr_assert_eq(launch_blocks(x, kernel, arguments, 520), 5, "the newest one holds");
    cr_assert_eq(tile_kernel_set_point(kernel, arguments, COUNT, &none, 1), TILE_INVALID);
    cr_assert_eq(launch_blocks(x, kernel, arguments, 520), 5, "what failed changes nothing");
    tile_kernel_destroy(kernel);
    kernel = create_kernel(x, "32");
    cr_assert_eq(tile_kernel_set_point(kernel, arguments, COUNT, &small, 1), TILE_INVALID);
    expect(
        x,
        "@k has no other point: it has no 'tune', or all parameters that 'tune' names are bound");
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}

/* If the model chooses, only the launched point is compiled. */
Test(launch_points, the_first_launch_compiles_one_point) {
    fake_device *x = open_device();
    tile_buffer *buffer = create_buffer(x, 1024);
    tile_argument arguments[COUNT];
    tile_kernel *kernel;
    const tile_binding *bindings;
    unsigned count = 7;
    x->base.clock = 1410000; /* a GPU that the model knows */
    fill(arguments, buffer);
    cr_assert_eq(tile_kernel_create(&x->base, x->module, "k", NULL, 0, &kernel), TILE_OK);
    cr_assert_eq(x->prepared, 0);
    arguments[B].integer = 1000;
    cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT, NULL), TILE_INVALID);
    expect(x, "@k: argument %b does not fit its type");
    cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT - 1, NULL), TILE_INVALID);
    expect(x, "@k takes 7 arguments (at most 1024), not 6");
    cr_assert_eq(x->prepared, 0, "what is wrong compiles nothing");
    arguments[B].integer = 1;
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(tile_kernel_launch(kernel, arguments, COUNT, NULL), TILE_OK);
        cr_assert_eq(x->prepared, 1);
    }
    cr_assert_eq(tile_kernel_point(kernel, arguments, COUNT, &bindings, &count), TILE_OK);
    cr_assert(count == 1 && strcmp(bindings[0].name, "block") == 0);
    cr_assert_eq(launch_blocks(x, kernel, arguments, 96),
                 strcmp(bindings[0].value, "64") == 0 ? 2 : 3);
    cr_assert_eq(x->prepared, 1);
    cr_assert_not_null(tile_kernel_abi(kernel));
    cr_assert_eq(x->prepared, 2, "the first point of the space, which is asked for");
    cr_assert_not_null(tile_kernel_abi(kernel));
    cr_assert_eq(x->prepared, 2);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}

static const char *value_of(const tile_binding *bindings, unsigned count, const char *name) {
    for (unsigned i = 0; i < count; i++)
        if (strcmp(bindings[i].name, name) == 0) return bindings[i].value;
    return "";
}

Test(launch_points, what_bindings_leave_open_is_picked) {
    static const char text[] =
        "kernel @open<T: type, rows: int, block: int>(%n: i32, %x: ptr<T>)\n"
        "    tune (rows, block) in [(1, 64), (2, 32), (3, 32)] grid [ceildiv(%n, block), rows]\n"
        "    warps 1 {\n"
        "  %bx, %by = block_id\n"
        "  %g = view %x, [%n] : view<T[?]>\n"
        "  %t = load %g[%bx * block] : tile<T[block]>\n"
        "  store %t, %g[%bx * block]\n"
        "}\n";
    fake_device *x = open_device();
    tile_module *module = text_parse(&x->text, text);
    tile_buffer *buffer = create_buffer(x, 1024);
    tile_argument arguments[2] = {{.integer = 96}, {.buffer = buffer}};
    const tile_binding given[] = {{"T", "f16"}, {"block", "32"}, {"rows", "3"}};
    const tile_binding *bindings;
    tile_kernel *kernel;
    unsigned count;
    x->base.clock = 1410000;
    cr_assert_not_null(module, "%s", x->text.messages);
    for (unsigned n = 1; n <= 2; n++) {
        unsigned before = (unsigned)x->prepared;
        cr_assert_eq(tile_kernel_create(&x->base, module, "open", given, n, &kernel), TILE_OK);
        cr_assert_eq(x->prepared, before, "no point is known before the arguments");
        cr_assert_eq(tile_kernel_launch(kernel, arguments, 2, NULL), TILE_OK);
        cr_assert_eq(x->prepared, before + 1);
        cr_assert_eq(tile_kernel_point(kernel, arguments, 2, &bindings, &count), TILE_OK);
        cr_assert_eq(count, 3);
        cr_assert_str_eq(value_of(bindings, count, "T"), "f16");
        cr_assert_eq(x->last.grid[1], strtol(value_of(bindings, count, "rows"), NULL, 10));
        if (n == 2) cr_assert_str_eq(value_of(bindings, count, "block"), "32");
        cr_assert_eq(tile_kernel_set_point(kernel, arguments, 2, &given[1], 2), TILE_OK, "%s",
                     x->text.messages);
        cr_assert_eq(tile_kernel_launch(kernel, arguments, 2, NULL), TILE_OK);
        cr_assert(x->last.grid[0] == 3 && x->last.grid[1] == 3);
        tile_kernel_destroy(kernel);
    }
    cr_assert_eq(tile_kernel_create(&x->base, module, "open", given, 3, &kernel), TILE_OK);
    cr_assert_eq(tile_kernel_set_point(kernel, arguments, 2, given, 3), TILE_INVALID);
    expect(x, "@open has no other point: it has no 'tune', or all parameters that 'tune' names are "
              "bound");
    tile_kernel_destroy(kernel);
    tile_module_destroy(module);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}

Test(launch_points, a_point_that_does_not_compile_fails_when_it_is_needed) {
    static const char inner[] = "kernel @inner<n: int>(%x: ptr<f32>) tune n in [1, 2]\n"
                                "    grid [1] warps 1 {\n"
                                "  %bx, %by, %bz = block_id : i32\n"
                                "  %t = splat 0.0 : tile<f32[32]>\n"
                                "  %room = scratch [%bx] : view<f32[?]>\n"
                                "  store %t, %room[0]\n"
                                "}\n";
    static const char why[] =
        "scratch: the extents must be computable from the kernel's arguments alone";
    fake_device *x = open_device();
    tile_buffer *buffer = create_buffer(x, 1024);
    tile_module *module = text_parse(&x->text, inner);
    const tile_argument argument = {.buffer = buffer};
    tile_kernel *kernel;
    cr_assert_eq(tile_kernel_create(&x->base, module, "inner", NULL, 0, &kernel), TILE_INVALID);
    expect(x, why);
    x->base.clock = 1410000;
    cr_assert_eq(tile_kernel_create(&x->base, module, "inner", NULL, 0, &kernel), TILE_OK, "%s",
                 x->text.messages);
    cr_assert_eq(tile_kernel_launch(kernel, &argument, 1, NULL), TILE_INVALID);
    expect(x, why);
    cr_assert_null(tile_kernel_abi(kernel));
    cr_assert_eq(tile_kernel_ptx(kernel)->size, 0);
    cr_assert_eq(x->prepared, 0);
    tile_kernel_destroy(kernel);
    tile_module_destroy(module);
    tile_buffer_destroy(buffer);
    tile_device_destroy(&x->base);
}

/* A device with a cache, and an unbound kernel @k on it. */
typedef struct tuned {
    fake_device *x;
    tile_kernel *kernel;
    tile_argument arguments[COUNT];
    tile_buffer *buffer;
    tile_arena arena;
    char folder[32];
} tuned;

static void tuned_open(tuned *t) {
    *t = (tuned){.x = open_device(), .folder = "/tmp/tile-tuned-XXXXXX"};
    t->buffer = create_buffer(t->x, 1024);
    fill(t->arguments, t->buffer);
    cr_assert(mkdtemp(t->folder));
    t->x->base.num_sms = 7;
    cr_assert_eq(tile_cache_create(t->x->text.context, t->folder, NULL, &t->x->base.cache),
                 TILE_OK);
    cr_assert_eq(tile_kernel_create(&t->x->base, t->x->module, "k", NULL, 0, &t->kernel), TILE_OK);
}

static void tuned_close(tuned *t) {
    char remove[64];
    tile_kernel_destroy(t->kernel);
    tile_buffer_destroy(t->buffer);
    tile_cache_destroy(t->x->base.cache); /* must precede its context */
    t->x->base.cache = NULL;
    tile_device_destroy(&t->x->base);
    tile_arena_reset(&t->arena);
    snprintf(remove, sizeof remove, "rm -r %s", t->folder);
    cr_expect_eq(system(remove), 0);
}

static int64_t tuned_now;
static int64_t count_up(void) {
    return tuned_now++;
}

/* Stores a point for this n, with the other arguments unchanged, for a device with this many
 * SMs. */
static void keep_point(tuned *t, int64_t n, unsigned sm_count, const char *bindings) {
    const tile_tuned_point point = {.kernel_name = "k", .bindings = bindings, .driver = "1"};
    int64_t integers[COUNT];
    for (unsigned i = 0; i < COUNT; i++) integers[i] = t->arguments[i].integer;
    integers[N] = n;
    tile_point_key key =
        tile_tuned_key(&t->x->base, tile_module_find(t->x->module, "k"), integers, &t->arena);
    key.sm_count = sm_count;
    t->x->base.cache->now = count_up;
    cr_assert(tile_cache_keep_point(t->x->base.cache, &key, &point));
}

Test(launch_points, a_tuned_point_is_found_in_the_cache) {
    static const struct {
        int64_t n, blocks;
    } cases[] = {{520, 33}, {568, 36}, {576, 9}, {512, 8}, {520, 33}};
    tuned t;
    tuned_open(&t);
    keep_point(&t, 520, 7, "block=16");
    keep_point(&t, 520, 8, "block=128"); /* another device's */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(launch_blocks(t.x, t.kernel, t.arguments, cases[i].n), cases[i].blocks,
                     "case %zu", i);
    cr_expect_eq(t.x->prepared, 2, "one for each point");
    t.x->capturing = true; /* during capture, known buckets launch and new ones are refused */
    cr_expect_eq(launch_blocks(t.x, t.kernel, t.arguments, 528), 33);
    t.arguments[N].integer = 8000;
    cr_expect_eq(tile_kernel_launch(t.kernel, t.arguments, COUNT, NULL), TILE_UNSUPPORTED);
    t.x->capturing = false;
    tuned_close(&t);
}

/* Other sizes in the bucket take the newest point. A point that is set for the bucket applies to
 * all its sizes. */
Test(launch_points, sizes_that_were_tuned_have_their_own_point) {
    static const struct {
        int64_t n, blocks;
    } cases[] = {{528, 17}, {520, 33}, {544, 17}, {536, 9}, {520, 33}, {568, 18}};
    const tile_binding large = {"block", "128"};
    tuned t;
    tuned_open(&t);
    keep_point(&t, 520, 7, "block=16");
    keep_point(&t, 536, 7, "block=64");
    keep_point(&t, 544, 7, "block=32");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(launch_blocks(t.x, t.kernel, t.arguments, cases[i].n), cases[i].blocks,
                     "case %zu", i);
        if (i == 0) cr_expect_eq(t.x->prepared, 1, "others are compiled when they are launched");
    }
    cr_expect_eq(t.x->prepared, 3);
    cr_assert_eq(tile_kernel_set_point(t.kernel, t.arguments, COUNT, &large, 1), TILE_OK);
    cr_expect_eq(launch_blocks(t.x, t.kernel, t.arguments, 520), 5);
    tuned_close(&t);
}

/* Then the chosen point, or the first one, is taken for the sizes and for their bucket. */
Test(launch_points, a_tuned_point_that_does_not_compile_is_none) {
    tuned t;
    tuned_open(&t);
    keep_point(&t, 89, 7, "block=16");
    keep_point(&t, 91, 7, "blocks=64");
    cr_expect_eq(launch_blocks(t.x, t.kernel, t.arguments, 91), 2);
    cr_expect_eq(launch_blocks(t.x, t.kernel, t.arguments, 91), 2);
    cr_expect_eq(launch_blocks(t.x, t.kernel, t.arguments, 89), 6);
    tuned_close(&t);
}

Test(launch_points, a_tuned_point_that_makes_no_sense_is_none) {
    static const char *const bindings[] = {
        "", " ", "block", "block=", "=16", "block =16", "blocks=16", "block=0"};
    for (size_t i = 0; i < sizeof bindings / sizeof *bindings; i++) {
        tuned t;
        tuned_open(&t);
        keep_point(&t, 96, 7, bindings[i]);
        cr_expect_eq(launch_blocks(t.x, t.kernel, t.arguments, 96), 2, "'%s'", bindings[i]);
        tuned_close(&t);
    }
}

/* NVML takes 20 ms to start, most of the time of a first launch without a point. */
Test(launch_points, the_power_limit_is_asked_for_where_a_point_depends_on_it) {
    tuned t;
    tuned_open(&t);
    t.x->power_limit = 700000;
    cr_expect_eq(launch_blocks(t.x, t.kernel, t.arguments, 96), 2);
    cr_expect_eq(t.x->power_asked, 0);
    tuned_close(&t);
    tuned_open(&t);
    keep_point(&t, 96, 8, "block=128"); /* another device's */
    t.x->power_asked = 0;
    cr_expect_eq(launch_blocks(t.x, t.kernel, t.arguments, 96), 2);
    cr_expect_eq(t.x->power_asked, 0);
    tuned_close(&t);
    tuned_open(&t);
    t.x->power_limit = 500000;
    keep_point(&t, 96, 7, "block=128");
    t.x->power_limit = 700000;
    keep_point(&t, 96, 7, "block=16");
    t.x->power_asked = 0;
    cr_expect_eq(launch_blocks(t.x, t.kernel, t.arguments, 96), 6, "the one of this limit");
    cr_expect_eq(t.x->power_asked, 1);
    tuned_close(&t);
}
