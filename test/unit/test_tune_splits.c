/* Splits as points of a space: joined, stored, and taken by launches (runtime/tune). */
#include "test/unit/tune_fixture.h"

#include "tile/split.h"
#include "tile/tuned.h"

static const char product_text[] =
    "kernel @mm<block: int>(%m: i32, %k: i32, %a: view<f16[%m, %k]>, %b: view<f16[%k, %m]>,\n"
    "    %c: view<f16[%m, %m]>) of @matmul\n"
    "    tune block in [16] grid [ceildiv(%m, block), ceildiv(%m, block)] warps 1 {\n"
    "  %x, %y = block_id\n"
    "  %acc = for %i = 0 to %k step 16 iter (%s = 0.0 : tile<f32[block, block]>)CLAUSE {\n"
    "    yield dot(load %a[%x * block, %i] : [block, 16], load %b[%i, %y * block] : [16, block], "
    "%s)\n"
    "  }\n"
    "  store f16(%acc), %c[%x * block, %y * block]\n"
    "}\n"
    "compute @matmul<m: dim, k: dim>(%a: tensor<f16[m, k]>, %b: tensor<f16[k, m]>)\n"
    "    -> (%c: tensor<f16[m, m]>) {\n"
    "  %c = f16(matmul(%a, %b) : f32)\n"
    "}\n";

static double prefer_four_parts(const tile_candidate *c, void *user) {
    (void)user;
    return strstr(c->text, "split.factor=4 split.strategy=serial") ? 1 : 2;
}

static void open_product(tune_fixture *x, const char *clause) {
    const char *at = strstr(product_text, "CLAUSE");
    tile_arena arena = {0};
    tune_open(x,
              tile_arena_format(&arena, "%.*s%s%s", (int)(at - product_text), product_text, clause,
                                at + strlen("CLAUSE")),
              "");
    tile_arena_reset(&arena);
    x->options.split = true;
}

static tile_status tune_product(tune_fixture *x, int64_t m) {
    const tile_tune_argument arguments[5] = {{.integer = m}, {.integer = 96}};
    return tile_tune(x->device, x->module, "mm", arguments, 5, &x->options, &x->tuning);
}

Test(tune_splits, are_points_that_launches_take, .timeout = 120) {
    tune_fixture x;
    open_product(&x, "");
    x.options.rate = prefer_four_parts;
    cr_assert_eq(tune_product(&x, 32), TILE_OK, "%s", x.text.messages);
    cr_expect_gt(tile_tuning_candidate_count(x.tuning), 3);
    cr_expect_eq(tune_find(&x, "block=16")->state, TILE_CANDIDATE_measured);
    cr_expect_str_eq(tile_tuning_best(x.tuning)->text,
                     "block=16 split.factor=4 split.strategy=serial");
    tile_kernel *kernel;
    tile_buffer *buffer;
    const tile_abi *abi;
    int64_t grid[3];
    cr_assert_eq(tile_kernel_create(x.device, x.module, "mm", NULL, 0, &kernel), TILE_OK);
    cr_assert_eq(tile_buffer_create(x.device, 32 * 96 * 2, &buffer), TILE_OK);
    const tile_argument arguments[] = {{.integer = 32},
                                       {.integer = 96},
                                       {.buffer = buffer},
                                       {.buffer = buffer},
                                       {.buffer = buffer}};
    cr_assert_eq(tile_kernel_variant(kernel, arguments, 5, &abi), TILE_OK, "%s", x.text.messages);
    cr_assert_eq(tile_abi_grid(abi, (int64_t[5]){32, 96}, NULL, grid), TILE_OK);
    cr_expect_eq(grid[2], 4);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    tune_close(&x);
}

/* With 289 tiles, 132 multiprocessors have two blocks each without a split; only stream_k, with as
 * many blocks as multiprocessors, still applies. If the kernel has a split clause, that clause
 * determines the choices. */
Test(tune_splits, what_has_blocks_enough_or_a_clause_is_not_split, .timeout = 120) {
    static const struct {
        const char *clause;
        int64_t m;
    } cases[] = {{"", 16 * 17}, {" split (2, serial)", 32}};
    for (unsigned i = 0; i < 2; i++) {
        tune_fixture x;
        open_product(&x, cases[i].clause);
        cr_assert_eq(tune_product(&x, cases[i].m), TILE_OK, "%s", x.text.messages);
        const tile_candidate *c;
        for (unsigned k = 0; (c = tile_tuning_candidate_at(x.tuning, k)); k++)
            cr_expect(!strstr(c->text, "split.") || (i == 0 && strstr(c->text, "=stream_k")), "%s",
                      c->text);
        tune_close(&x);
    }
}

/* Kernels and plans without `tune` ------------------------------------------------------------- */

/* The kernel, and a plan that launches it. */
static const char fixed_text[] =
    "kernel @sums(%m: i32, %x: view<f32[%m, 64]>, %y: view<f32[1, 64]>) of @total\n"
    "    grid [1] warps 1 {\n"
    "  %s = for %i = 0 to %m iter (%n = 0.0 : tile<f32[1, 64]>) {\n"
    "    yield %n + load %x[%i, 0] : [1, 64]\n"
    "  }\n"
    "  store %s FAULTS, %y[0, 0]\n"
    "}\n"
    "kernel @other(%y: view<f32[1, 64]>) grid [1] warps 1 { }\n"
    "plan @p(%m: i32, %x: view<f32[%m, 64]>, %y: view<f32[1, 64]>) of @total {\n"
    "  launch @sums(%m, %x, %y)\n"
    "}\n"
    "compute @total<m: dim>(%x: tensor<f32[m, 64]>) -> (%y: tensor<f32[1, 64]>) {\n"
    "  %one = splat 1.0 : tensor<f32[1, m]>\n"
    "  %y = matmul(%one, %x) : f32\n"
    "}\n";

enum { FIXED_ARGUMENTS = 3 };

static tile_status tune_fixed(tune_fixture *x, const char *name, int64_t m) {
    const tile_tune_argument arguments[FIXED_ARGUMENTS] = {{.integer = m}};
    tile_tuning_destroy(x->tuning);
    return tile_tune(x->device, x->module, name, arguments, FIXED_ARGUMENTS, &x->options,
                     &x->tuning);
}

/* Returns what a launch for m takes: "split.factor=4 split.strategy=serial". */
static const char *taken_point(tune_fixture *x, tile_device *device, const char *name, int64_t m) {
    static char text[256];
    const tile_binding *bindings;
    tile_kernel *kernel;
    tile_buffer *buffer;
    unsigned count;
    cr_assert_eq(tile_kernel_create(device, x->module, name, NULL, 0, &kernel), TILE_OK);
    cr_assert_eq(tile_buffer_create(device, (size_t)m * 256, &buffer), TILE_OK);
    const tile_argument arguments[] = {{.integer = m}, {.buffer = buffer}, {.buffer = buffer}};
    cr_assert_eq(tile_kernel_point(kernel, arguments, FIXED_ARGUMENTS, &bindings, &count), TILE_OK,
                 "%s", x->text.messages);
    *text = 0;
    for (unsigned i = 0; i < count; i++)
        sprintf(text + strlen(text), "%s%s=%s", i ? " " : "", bindings[i].name, bindings[i].value);
    tile_kernel_destroy(kernel);
    tile_buffer_destroy(buffer);
    return text;
}

static const char four_parts[] = "split.factor=4 split.strategy=serial";

Test(tune_splits, of_a_kernel_without_tune_are_kept_and_taken, .timeout = 120) {
    static const char *const names[] = {"sums", "p"};
    for (unsigned i = 0; i < 2; i++) {
        tune_fixture x;
        tune_open(&x, fixed_text, "");
        x.options.rate = prefer_four_parts;
        cr_expect_str_eq(taken_point(&x, x.device, names[i], 48), "", "nothing is tuned");
        cr_assert_eq(tune_fixed(&x, names[i], 48), TILE_OK, "%s", x.text.messages);
        cr_expect_str_eq(taken_point(&x, x.device, names[i], 48), "", "it was the only one");
        x.options.split = true; /* more than was requested before */
        cr_assert_eq(tune_fixed(&x, names[i], 48), TILE_OK, "%s", x.text.messages);
        cr_expect_not(tile_tuning_get_facts(x.tuning).found);
        cr_expect(tile_tuning_get_facts(x.tuning).kept);
        cr_expect_str_eq(tile_tuning_best(x.tuning)->text, four_parts);
        cr_expect_str_eq(taken_point(&x, x.device, names[i], 48), four_parts);
        cr_expect_str_eq(taken_point(&x, x.device, names[i], 480), "", "of another bucket");
        cr_assert_eq(tune_fixed(&x, names[i], 48), TILE_OK);
        cr_expect(tile_tuning_get_facts(x.tuning).found);
        tune_close(&x);
    }
}

static double prefer_the_whole(const tile_candidate *c, void *user) {
    (void)user;
    return *c->text ? 2 : 1;
}

/* Then the measurement is not repeated, and launches do not split. */
Test(tune_splits, that_all_lose_are_remembered, .timeout = 120) {
    tune_fixture x;
    tune_open(&x, fixed_text, "");
    x.options.split = true;
    x.options.rate = prefer_the_whole;
    cr_assert_eq(tune_fixed(&x, "sums", 48), TILE_OK, "%s", x.text.messages);
    cr_expect_str_eq(tile_tuning_best(x.tuning)->text, "");
    cr_expect_str_eq(taken_point(&x, x.device, "sums", 48), "split.factor=1 split.strategy=serial");
    cr_assert_eq(tune_fixed(&x, "sums", 48), TILE_OK);
    cr_expect(tile_tuning_get_facts(x.tuning).found);
    tune_close(&x);
}

/* Like points of kernels with `tune`. */
Test(tune_splits, of_a_kernel_without_tune_go_by_tables, .timeout = 120) {
    tune_fixture x;
    tile_device *device;
    tune_open(&x, fixed_text, "");
    x.options.split = true;
    x.options.rate = prefer_four_parts;
    cr_assert_eq(tune_fixed(&x, "sums", 48), TILE_OK, "%s", x.text.messages);
    tile_tuned_table *table = tile_tuned_table_create();
    tile_cache *cache;
    cr_assert_eq(tile_cache_create(x.text.context, x.folder, NULL, &cache), TILE_OK);
    cr_expect_eq(tile_tuned_table_take(table, cache, "sums"), 1);
    tile_cache_destroy(cache);
    const tile_device_options options = {.size = sizeof options, .tuned = table};
    cr_assert_eq(tile_device_create_cpu(x.text.context, &options, &device), TILE_OK);
    cr_expect_str_eq(taken_point(&x, device, "sums", 48), four_parts);
    cr_expect_str_eq(taken_point(&x, device, "p", 48), "");
    tile_device_destroy(device);
    tile_tuned_table_destroy(table);
    tune_close(&x);
}

/* A plan changes if a kernel that it launches changes; other kernels do not matter. */
Test(tune_splits, of_a_plan_are_those_of_its_kernels, .timeout = 120) {
    tune_fixture x;
    tune_open(&x, fixed_text, "");
    x.options.split = true;
    x.options.rate = prefer_four_parts;
    cr_assert_eq(tune_fixed(&x, "p", 48), TILE_OK, "%s", x.text.messages);
    tile_module_destroy(x.module);
    tune_parse(&x, fixed_text, "+ 0.0");
    cr_expect_str_eq(taken_point(&x, x.device, "p", 48), "", "@sums is another kernel");
    tile_module_destroy(x.module);
    tune_parse(&x, fixed_text, "");
    tile_module_remove(x.module, tile_module_find(x.module, "other"));
    cr_expect_str_eq(taken_point(&x, x.device, "p", 48), four_parts);
    tune_close(&x);
}
