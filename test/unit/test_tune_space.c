#include "runtime/model/model.h"
#include "runtime/model/space.h"
#include "test/unit/text_fixture.h"

typedef struct space_fixture {
    text_fixture text;
    tile_module *module;
    const tile_function *f;
    tune_point *points;
    size_t count;
    const int64_t *sizes; /* of a launch; NULL: none */
} space_fixture;

static void open_space(space_fixture *x, const char *text) {
    *x = (space_fixture){.count = 0};
    text_open(&x->text);
    x->module = tile_module_parse(x->text.context, "space", text, strlen(text));
    cr_assert(x->module, "%s", x->text.messages);
    x->f = tile_module_function(x->module, 0);
}

static void close_space(space_fixture *x) {
    for (size_t i = 0; i < x->count; i++) tile_arena_reset(&x->points[i].arena);
    tile_module_destroy(x->module);
    text_close(&x->text);
}

/* Lists the points' texts, one per line. */
static const char *list(space_fixture *x, const tile_binding *bindings, unsigned count) {
    const char *all = "";
    if (!tune_list_points(x->f, bindings, count, x->sizes, &x->text.arena, &x->points, &x->count))
        return x->text.messages;
    for (size_t i = 0; i < x->count; i++)
        all = tile_arena_format(&x->text.arena, "%s%s\n", all, x->points[i].c.text);
    return all;
}

Test(tune_space, all_points_that_where_allows_are_listed) {
    space_fixture x;
    open_space(&x,
               "kernel @k<T: type, a: int, b: int = 2 * a, c: int = 7, fast: bool>()\n"
               "    tune (a, T) in [(1, f16), (2, f32), (3, f32), (2, f16)] where a < 3 tune fast "
               "in [true, false]\n"
               "    tune c in [a, 8] where b + c < 12 where not(eq(c, 1)) grid [1] warps 1 {}\n");
    cr_expect_str_eq(list(&x, NULL, 0), "T=f16 a=1 c=8 fast=true\nT=f16 a=1 c=8 fast=false\n"
                                        "T=f32 a=2 c=2 fast=true\nT=f32 a=2 c=2 fast=false\n"
                                        "T=f16 a=2 c=2 fast=true\nT=f16 a=2 c=2 fast=false\n");
    const tile_binding given[] = {{"T", "f32"}, {"b", "1"}};
    cr_expect_str_eq(list(&x, given, 2),
                     "T=f32 a=2 b=1 c=2 fast=true\nT=f32 a=2 b=1 c=8 fast=true\n"
                     "T=f32 a=2 b=1 c=2 fast=false\nT=f32 a=2 b=1 c=8 fast=false\n");
    close_space(&x);
}

/* Sizes are rounded up to their bucket: 65537 and 73727 are in one bucket. */
Test(tune_space, sizes_decide_where_clauses_name_arguments) {
    static const struct {
        int64_t sizes[2];
        const char *points;
    } cases[] = {{{8, 4096}, "split=1\nsplit=16\n"},
                 {{8, 65536}, "split=1\nsplit=16\n"},
                 {{8, 65537}, "split=5\nsplit=16\n"},
                 {{8, 73727}, "split=5\nsplit=16\n"},
                 {{8, 1 << 20}, "split=64\n"}};
    space_fixture x;
    open_space(&x, "kernel @k<split: int>(%m: i32, %k: i32)\n"
                   "    tune split in [select(%k > 65536, ceildiv(%k, 16384), 0), 1, 16]\n"
                   "    where split > 0 & split >= ceildiv(%k, 16384) | split == 1 & %k <= 65536\n"
                   "    grid [1] warps 1 {}\n");
    cr_expect(tile_needs_sizes(x.f));
    cr_expect_str_eq(list(&x, NULL, 0), "split=1\nsplit=16\n", "without a launch");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        x.sizes = cases[i].sizes;
        cr_expect_str_eq(list(&x, NULL, 0), cases[i].points);
    }
    close_space(&x);
}

static const char sizes_text[] =
    "kernel @k<block: int>(%m: i32, %n: i32 {divisible = 8}, %lda: i32, %causal: i32, %h: i32 "
    "{const},\n"
    "    %a: view<f16[%m, %n], strides [%lda, 1]>, %c: view<f16[%h, %n]>)\n"
    "    tune block in [16] grid [ceildiv(%m, block)] warps 1 {}\n";

Test(tune_space, the_small_shape_has_the_same_divisors) {
    static const struct {
        int64_t given[5], limit, small[5];
    } cases[] = {
        /* Sizes shrink to an odd multiple of 16; strides, flags and {const} do not change. */
        {{4096, 4096, 5000, 1, 512}, 256, {240, 240, 5000, 1, 512}},
        {{1000, 24, 30, 0, 3}, 256, {248, 24, 30, 0, 3}},
        {{4097, 65536, 70000, 0, 3}, 64, {63, 48, 70000, 0, 3}},
        {{7, 8, 8, 0, 3}, 64, {7, 8, 8, 0, 3}},
    };
    space_fixture x;
    open_space(&x, sizes_text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tile_tune_argument arguments[7] = {{0}};
        int64_t small[7];
        for (unsigned a = 0; a < 5; a++) arguments[a].integer = cases[i].given[a];
        tune_choose_small(x.f, arguments, cases[i].limit, small);
        for (unsigned a = 0; a < 5; a++)
            cr_expect_eq(small[a], cases[i].small[a], "case %zu argument %u: %lld", i, a,
                         (long long)small[a]);
    }
    close_space(&x);
}

Test(tune_space, a_shape_has_a_name) {
    space_fixture x;
    open_space(&x, sizes_text);
    const tile_tune_argument arguments[7] = {
        {.integer = 4096}, {.integer = 24}, {.integer = 64}, {.integer = 0}, {.integer = 8}};
    cr_expect_str_eq(tune_shape_name(x.f, arguments, &x.text.arena), "4096-24-64-0-8-d8");
    close_space(&x);
}

/* The model ------------------------------------------------------------------------------------ */

static const char model_text[] =
    "kernel @k<bm: int, bk: int, stages: int>(%m: i32, %k: i32, %a: view<f16[%m, %k]>,\n"
    "    %b: view<f16[%k, %m]>, %c: view<f16[%m, %m]>)\n"
    "    tune (bm, bk, stages) in [(128, 32, 3), (16, 16, 2), (128, 256, 4), (256, 32, 3)]\n"
    "    grid [ceildiv(%m, bm), ceildiv(%m, bm)] warps 4 {\n"
    "  %x, %y = block_id\n"
    "  %sa = alloc_shared : shared<f16[bm, bk]>\n"
    "  %sb = alloc_shared : shared<f16[bk, bm]>\n"
    "  %acc = for %i = 0 to %k step bk iter (%s = 0.0 : tile<f32[bm, bm]>) pipelined (stages) {\n"
    "    copy %a[%x * bm, %i], %sa\n"
    "    copy %b[%i, %y * bm], %sb\n"
    "    yield dot(%sa, %sb, %s)\n"
    "  }\n"
    "  store f16(%acc), %c[%x * bm, %y * bm]\n"
    "}\n";

Test(tune_space, what_cannot_fit_is_dropped_and_large_tiles_come_before_small_ones) {
    space_fixture x;
    const int64_t sizes[] = {4096, 4096, 0, 0, 0};
    const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
    open_space(&x, model_text);
    list(&x, NULL, 0);
    cr_assert_eq(x.count, 4);
    tune_estimate_points(&device, x.module, "k", sizes, NULL, x.points, x.count);
    cr_expect_eq(x.points[0].c.state, TILE_CANDIDATE_waiting);
    cr_expect(x.points[0].c.estimate > 100e-6 && x.points[0].c.estimate < 2e-3, "%g",
              x.points[0].c.estimate);
    cr_expect_gt(x.points[1].c.estimate, 2 * x.points[0].c.estimate);
    cr_expect_eq(x.points[2].c.state, TILE_CANDIDATE_dropped);
    cr_expect_str_eq(x.points[2].c.why, "524288 bytes of shared memory, sm_90a has 232448");
    cr_expect_eq(x.points[3].c.state, TILE_CANDIDATE_dropped);
    cr_expect(strstr(x.points[3].c.why, "its accumulators take 512 registers of a thread"), "%s",
              x.points[3].c.why);
    cr_expect_eq(x.text.errors, 0);
    close_space(&x);
}

/* One wave of small blocks if a multiprocessor holds 32 of them, two if it holds 16. */
Test(tune_space, multiprocessors_hold_what_their_target_says) {
    static const char text[] =
        "kernel @k<value: int>(%c: view<f32[135168]>) tune value in [1] grid [4224] warps 1 {\n"
        "  %x = block_id\n"
        "  store splat(f32(value)) : [32], %c[%x * 32]\n"
        "}\n";
    static const char *const targets[] = {"sm_90a", "sm_86"};
    double estimates[2];
    for (unsigned i = 0; i < 2; i++) {
        space_fixture x;
        const tile_device device = {.target = tile_target_find(targets[i]), .num_sms = 132};
        open_space(&x, text);
        list(&x, NULL, 0);
        tune_estimate_points(&device, x.module, "k", (int64_t[]){0}, NULL, x.points, x.count);
        cr_assert_eq(x.points[0].c.state, TILE_CANDIDATE_waiting, "%s", x.points[0].c.why);
        estimates[i] = x.points[0].c.estimate;
        close_space(&x);
    }
    cr_expect_gt(estimates[1], estimates[0], "%g %g", estimates[1], estimates[0]);
}

/* The steps of a workspace split do not read inputs again. */
Test(tune_space, a_plan_pays_for_what_each_step_touches) {
    static const char text[] =
        "kernel @k<strategy: word>(%k: i32, %a: view<f16[64, %k]>, %b: view<f16[%k, 64]>,\n"
        "    %c: view<f32[64, 64]>) tune strategy in [serial, workspace] grid [1] warps 4 {\n"
        "  %acc = for %i = 0 to %k step 32 iter (%s = 0.0 : tile<f32[64, 64]>) split (32, "
        "strategy) {\n"
        "    yield dot(load %a[0, %i] : [64, 32], load %b[%i, 0] : [32, 64], %s)\n"
        "  }\n"
        "  store %acc, %c[0, 0]\n"
        "}\n";
    space_fixture x;
    const int64_t sizes[] = {1 << 20, 0, 0, 0};
    const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
    open_space(&x, text);
    list(&x, NULL, 0);
    tune_estimate_points(&device, x.module, "k", sizes, NULL, x.points, x.count);
    cr_expect_eq(x.points[1].c.state, TILE_CANDIDATE_waiting, "%s", x.points[1].c.why);
    cr_expect_lt(x.points[1].c.estimate, 1.3 * x.points[0].c.estimate, "%g %g",
                 x.points[1].c.estimate, x.points[0].c.estimate);
    close_space(&x);
}

Test(tune_space, more_blocks_along_k_pay_where_there_are_few_tiles) {
    static const char split[] =
        "kernel @k<split: int>(%k: i32, %a: view<f16[64, %k]>, %b: view<f16[%k, 64]>,\n"
        "    %c: view<f32[64, 64]>) tune split in [1, 8, 64, 1000]\n"
        "    grid [1, 1, split] warps 4 {\n"
        "  %x, %y, %z = block_id\n"
        "  %span = ceildiv(%k, split * 32) * 32\n"
        "  %end = min(%z * %span + %span, %k)\n"
        "  %acc = for %i = %z * %span to %end step 32 iter (%s = 0.0 : tile<f32[64, 64]>) {\n"
        "    yield dot(load %a[0, %i] : [64, 32], load %b[%i, 0] : [32, 64], %s)\n"
        "  }\n"
        "  %sem = scratch [1] {clean} : i32\n"
        "  lock_semaphore %sem[0], %z\n"
        "  store %acc, %c[0, 0]\n"
        "  release_semaphore %sem[0], rem(%z + 1, split)\n"
        "}\n";
    space_fixture x;
    const int64_t sizes[] = {65536, 0, 0, 0};
    const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
    open_space(&x, split);
    list(&x, NULL, 0);
    tune_estimate_points(&device, x.module, "k", sizes, NULL, x.points, x.count);
    cr_expect_lt(x.points[1].c.estimate, x.points[0].c.estimate / 3, "eight are faster than one");
    cr_expect_gt(x.points[3].c.estimate, x.points[2].c.estimate, "turns cost more than is won");
    close_space(&x);
}
