#include "runtime/model/work.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "runtime/model/model.h"
#include "test/unit/text_fixture.h"
#include "test/unit/tune_product.h"

static const char product[] =
    TUNE_PRODUCT("T: type, bm: int, bn: int, bk: int, stages: int, split: int, strategy: word,\n"
                 "          consumers: word = cooperative, cm: int = 1, cn: int = 1",
                 "T",
                 "    grid [ceildiv(%m, bm), ceildiv(%n, bn)] cluster [cm, cn] warps bm / 16\n"
                 "    persistent if stages == 3");

typedef struct fixture {
    text_fixture text;
    tile_module *module;
    const tile_function *f;
    tile_bound_params point;
    tune_work work;
} fixture;

/* Reads @k at this point, and its work at these sizes. */
static void read_text(fixture *x, const char *text, const tile_pass_option *options, size_t count,
                      const int64_t *sizes) {
    text_open(&x->text);
    x->module = text_parse(&x->text, text);
    cr_assert(x->module, "%s", x->text.messages);
    x->f = tile_module_find(x->module, "k");
    cr_assert(tile_bind_params(x->f, options, count, &x->text.arena, &x->point), "%s",
              x->text.messages);
    tune_read_work(x->f, &x->point, sizes, tile_target_find("sm_90a"), 132, &x->text.arena,
                   &x->work);
}

/* Reads the product with tiles of 128x256, 64 deep, in clusters [cm, cn]. */
static void read_clustered(fixture *x, const int64_t *sizes, const char *stages, const char *split,
                           const char *strategy, const char *cm, const char *cn) {
    const tile_pass_option options[] = {
        {"T", "f16"},       {"bm", "128"},    {"bn", "256"},          {"bk", "64"}, {"cm", cm},
        {"stages", stages}, {"split", split}, {"strategy", strategy}, {"cn", cn}};
    read_text(x, product, options, sizeof options / sizeof *options, sizes);
}

static void read_product(fixture *x, const int64_t *sizes, const char *stages, const char *split,
                         const char *strategy) {
    read_clustered(x, sizes, stages, split, strategy, "1", "1");
}

static void close_point(fixture *x) {
    tile_module_destroy(x->module);
    text_close(&x->text);
}

Test(tune_work, a_block_does_its_tile) {
    const int64_t sizes[6] = {4096, 2048, 1000};
    fixture x;
    read_product(&x, sizes, "3", "1", "serial");
    const tune_work w = x.work;
    cr_expect_eq(w.trips, 16);
    cr_expect_eq(w.loop.operations, 2.0 * 128 * 256 * 1024);
    cr_expect_eq(w.loop.wgmma, w.loop.operations);
    cr_expect_eq(w.loop.loaded, 2.0 * (128 + 256) * 1024);
    cr_expect_eq(w.once.loaded, 0);
    cr_expect_eq(w.once.stored, 2.0 * 128 * 256);
    cr_expect_eq(w.sums, 4.0 * 128 * 256);
    cr_expect_eq(w.accumulator, w.sums);
    cr_expect_eq(w.in_flight, 2.0 * (128 + 256) * 64);
    cr_expect_eq(w.depth, 3);
    cr_expect_eq(w.shared, 3 * 2 * (128 + 256) * 64);
    cr_expect(w.store_ring_bytes > 0 && w.store_ring_bytes <= 2 * 128 * 256);
    cr_expect_eq(w.arrays, 2.0 * (4096 * 1000 + 1000 * 2048 + 4096 * 2048));
    cr_expect(w.grid[0] == 32 && w.grid[1] == 8 && w.grid[2] == 1 && w.warps == 8);
    cr_expect(w.persistent && w.may_have_roles && !w.ping_pong && !w.semaphores);
    tune_read_work(x.f, &x.point, sizes, tile_target_find("sm_90"), 132, &x.text.arena, &x.work);
    cr_expect(x.work.loop.wgmma == 0 && !x.work.may_have_roles);
    close_point(&x);
}

/* Rows of a are 2000 bytes apart: one in eight begins at a line. Rows of b are 4096 apart: all of
 * them do. */
Test(tune_work, rows_that_begin_anywhere_cross_lines) {
    const int64_t sizes[6] = {4096, 2048, 1000};
    fixture x;
    read_product(&x, sizes, "4", "1", "serial");
    const tune_work w = x.work;
    cr_expect_eq(w.loop.crossing, 2.0 * 128 * 1024 * 7 / 8);
    cr_expect(!w.persistent);
    close_point(&x);
}

/* Rows of c begin at multiples of 16 bytes, of 8 and of 2. */
Test(tune_work, rows_that_begin_anywhere_are_stored_slowly) {
    static const int64_t columns[] = {2048, 2052, 2047};
    for (unsigned i = 0; i < 3; i++) {
        const int64_t sizes[6] = {4096, columns[i], 1024};
        fixture x;
        read_product(&x, sizes, "3", "1", "serial");
        cr_expect_eq(x.work.once.stored, 2.0 * 128 * 256);
        cr_expect_eq(x.work.once.unaligned, i ? x.work.once.stored : 0);
        close_point(&x);
    }
}

/* Rows are counted along the contiguous dim. */
Test(tune_work, rows_of_a_transposed_array_cross_lines) {
    static const char transposed[] =
        "kernel @k(%m: i32, %n: i32, %x: view<f16[%m, %n], strides [1, %m]>, %y: ptr<f16>)\n"
        "    grid [1] warps 4 {\n"
        "  %s = alloc_shared : shared<f16[64, 128]>\n"
        "  copy %x[0, 0], %s\n"
        "}\n";
    for (unsigned i = 0; i < 2; i++) {
        const int64_t sizes[4] = {i ? 1000 : 1024, 4000};
        fixture x;
        read_text(&x, transposed, NULL, 0, sizes);
        cr_expect_eq(x.work.once.crossing, i ? 2.0 * 64 * 128 * 7 / 8 : 0);
        close_point(&x);
    }
}

/* A block takes a ticket for its part of k, but not if there is only one part. */
Test(tune_work, a_branch_that_is_known_gives_what_it_yields) {
    static const char drawn[] =
        "kernel @k<split: int>(%k: i32, %x: view<f32[%k]>, %y: view<f32[64]>) grid [split] warps 1 "
        "{\n"
        "  %t = scratch [1] {clean} : i32\n"
        "  %z = if split > 1 {\n"
        "    %n = atomic_add 1, %t[0]\n"
        "    yield %n\n"
        "  } else {\n"
        "    yield 0\n"
        "  }\n"
        "  %s = for %i = %z * 64 to %k step 64 * split iter (%sum = 0.0 : tile<f32[64]>) {\n"
        "    yield %sum + load %x[%i] : [64]\n"
        "  }\n"
        "  store %s, %y[0]\n"
        "}\n";
    static const char *const splits[] = {"1", "4"};
    const int64_t sizes[3] = {1024};
    for (unsigned i = 0; i < 2; i++) {
        fixture x;
        read_text(&x, drawn, &(tile_pass_option){"split", splits[i]}, 1, sizes);
        cr_expect_eq(x.work.trips, i ? 4 : 16);
        close_point(&x);
    }
}

/* If blocks take different branches, both branches are counted, because one block represents all:
 * here all but the first block wait for their turn. */
Test(tune_work, a_branch_that_differs_is_counted_both_ways) {
    static const char ping_pong_fits[] =
        "kernel @k<split: int, of: word>(%n: i32, %y: view<f32[%n]>) grid [split] warps 1 {\n"
        "  %z = block_id\n"
        "  %t = scratch [1] {clean} : i32\n"
        "  if %z > 0 {\n"
        "    lock_semaphore %t[0], %z\n"
        "  }\n"
        "  if %n > 64 {\n"
        "    store 0.0 : tile<f32[64]>, %y[0]\n"
        "  }\n"
        "  release_semaphore %t[0], rem(%z + 1, split)\n"
        "}\n";
    const tile_pass_option options[] = {{"split", "4"}, {"of", "x"}};
    for (unsigned i = 0; i < 2; i++) {
        const int64_t sizes[2] = {i ? 128 : 64};
        fixture x;
        read_text(&x, ping_pong_fits, options, 2, sizes);
        cr_expect_eq(x.work.semaphores, 1);
        cr_expect_eq(x.work.once.stored, i ? 4.0 * 64 : 0, "this one is the same for all");
        close_point(&x);
    }
}

/* Such products are bound by memory and use mma.sync (choose-instructions), so there are no
 * producer warps. */
Test(tune_work, products_of_few_rows_take_no_wgmma) {
    static const char *const rows[] = {"16", "32", "64"};
    const int64_t sizes[6] = {64, 4096, 1024};
    for (unsigned i = 0; i < 3; i++) {
        const tile_pass_option options[] = {{"T", "f16"},          {"bm", rows[i]}, {"bn", "64"},
                                            {"bk", "64"},          {"stages", "4"}, {"split", "1"},
                                            {"strategy", "serial"}};
        static const char four_warps[] = TUNE_PRODUCT(
            "T: type, bm: int, bn: int, bk: int, stages: int, split: int, strategy: word,\n"
            "          consumers: word = cooperative",
            "T", "    grid [ceildiv(%m, bm), ceildiv(%n, bn)] warps 4");
        fixture x;
        read_text(&x, four_warps, options, sizeof options / sizeof *options, sizes);
        cr_expect_eq(x.work.loop.wgmma > 0, i == 2, "%s", rows[i]);
        cr_expect_eq(x.work.may_have_roles, i == 2, "%s", rows[i]);
        close_point(&x);
    }
}

/* Rows of tiles read %b in sequence if the grid's first dim is along %b. */
Test(tune_work, what_the_l2_gives_up_is_read_again) {
    static const char stream[] =
        "kernel @k<first: int, hint: word>(%m: i32, %n: i32, %k: i32, %b: view<f16[%k, %n]>)\n"
        "    grid [ceildiv(%n, 64) * first + (1 - first), ceildiv(%m, 16)] warps 4 {\n"
        "  %y, %x = block_id\n"
        "  %s = alloc_shared : shared<f16[64, 64]>\n"
        "  for %i = 0 to %k step 64 pipelined (3) {\n"
        "    copy %b[%i, %y * 64], %s {cache = hint}\n"
        "  }\n"
        "}\n";
    static const char *const hints[] = {"evict_first", "evict_normal"};
    for (unsigned h = 0; h < 2; h++)
        for (int64_t m = 16; m <= 64; m += 48) {
            const tile_pass_option options[] = {{"first", "1"}, {"hint", hints[h]}};
            const int64_t sizes[4] = {m, 4096, 1024};
            fixture x;
            read_text(&x, stream, options, 2, sizes);
            cr_expect_eq(x.work.once.reloaded_bytes, h || m == 16 ? 0 : 2.0 * 64 * 1024 * 3 / 4,
                         "%s, %lld rows", hints[h], (long long)m);
            close_point(&x);
        }
}

/* Elements out of bounds are not transferred. */
Test(tune_work, tiles_larger_than_an_array_bring_what_is_there) {
    const int64_t sizes[6] = {16, 64, 1024};
    fixture x;
    read_product(&x, sizes, "4", "1", "serial");
    const tune_work w = x.work;
    cr_expect_eq(w.loop.loaded, 2.0 * (16 + 64) * 1024);
    cr_expect_eq(w.in_flight, 2.0 * (16 + 64) * 64);
    cr_expect_eq(w.loop.operations, 2.0 * 128 * 256 * 1024, "products are of whole tiles");
    close_point(&x);
}

/* Blocks along m need the same part of b, those along n the same part of a; the grid is rounded up
 * to whole clusters. */
Test(tune_work, clusters_share_what_does_not_depend_on_a_dim) {
    static const char *const extents[][2] = {
        {"2", "1"}, {"1", "2"}, {"4", "1"}, {"1", "1"}, {"2", "2"}};
    const double shared[] = {2.0 * 256 * 1024 / 2, 2.0 * 128 * 1024 / 2, 2.0 * 256 * 1024 * 3 / 4,
                             0, 2.0 * (256 + 128) * 1024 / 2};
    const int64_t sizes[6] = {128 * 5, 2040, 1024}, rows[] = {6, 5, 8, 5, 6};
    for (size_t i = 0; i < 5; i++) {
        fixture x;
        read_clustered(&x, sizes, "4", "1", "serial", extents[i][0], extents[i][1]);
        const tune_work w = x.work;
        cr_expect_eq(w.loop.shared, shared[i], "%zu: %g", i, w.loop.shared);
        cr_expect_eq(w.loop.loaded, 2.0 * (128 + 256) * 1024);
        cr_expect((w.loop.shared_crossing > 0) == (i == 0 || i == 2 || i == 4), "%zu", i);
        cr_expect_eq(w.grid[0], rows[i], "%zu", i);
        cr_expect_eq(w.grid[1], 8, "%zu", i);
        close_point(&x);
    }
}

Test(tune_work, a_split_is_read_beside_the_work) {
    const int64_t sizes[6] = {128, 256, 1024};
    fixture x;
    int64_t factor;
    const char *strategy;
    bool own[16] = {false};
    read_product(&x, sizes, "4", "8", "exchange");
    tune_read_split(x.f, &x.point, &factor, &strategy);
    cr_expect_eq(factor, 8);
    cr_expect_str_eq(strategy, "exchange");
    tune_find_own(x.f, own);
    for (size_t i = 0; i < x.f->param_count; i++) {
        const char *name = x.f->params[i].name;
        bool of_split = strcmp(name, "split") == 0 || strcmp(name, "strategy") == 0;
        cr_expect_eq(own[i], !of_split, "%s", name);
    }
    close_point(&x);
}

/* Operands that are loaded in a pipelined loop use ring buffers, like copied ones. */
Test(tune_work, loads_of_products_have_rings) {
    static const char text[] =
        "kernel @k<stages: int>(%k: i32, %a: view<f16[128, %k]>, %b: view<f16[%k, 64]>,\n"
        "    %c: view<f32[128, 64]>, %d: view<f32[128, 64]>) grid [1] warps 4 {\n"
        "  %acc = for %i = 0 to %k step 32 iter (%s = 0.0 : tile<f32[128, 64]>)\n"
        "      pipelined (stages) {\n"
        "    %more = load %d[0, 0] : [128, 64]\n"
        "    yield dot(load %a[0, %i] : [128, 32], load %b[%i, 0] : [32, 64], %s) + %more\n"
        "  }\n"
        "  store %acc, %c[0, 0]\n"
        "}\n";
    const int64_t sizes[5] = {320};
    fixture x;
    read_text(&x, text, &(tile_pass_option){"stages", "4"}, 1, sizes);
    const tune_work w = x.work;
    cr_expect_eq(w.depth, 4);
    cr_expect_eq(w.in_flight, 2 * 32 * (128 + 64));
    cr_expect_eq(w.shared, 4 * 2 * 32 * (128 + 64));
    cr_expect_eq(w.loop.loaded, 2.0 * 320 * (128 + 64) + 10 * 4.0 * 128 * 64);
    close_point(&x);
}

/* A point that was not instantiated was not verified either. */
Test(tune_work, numbers_of_any_size) {
    static const char *const numbers[] = {"0", "-1", "1", "3", "4611686018427387904"};
    static const char *const splits[] = {"0", "-3", "1", "9223372036854775807"};
    static const int64_t shapes[][6] = {
        {INT64_MAX, INT64_MAX, INT64_MAX}, {INT64_MIN, -1, 0}, {1, 1, INT64_MAX}};
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, product);
    const tile_function *f = tile_module_find(module, "k");
    const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
    for (unsigned i = 0; i < 5 * 5 * 4 * 3; i++) {
        const char *rows = numbers[i % 5], *depth = numbers[i / 5 % 5];
        const tile_pass_option options[] = {{"T", "f16"},           {"bm", rows},
                                            {"bn", depth},          {"bk", depth},
                                            {"stages", rows},       {"split", splits[i / 25 % 4]},
                                            {"strategy", "atomic"}, {"consumers", "ping_pong"}};
        tile_arena arena = {0};
        tile_bound_params point;
        const char *why;
        cr_assert(tile_bind_params(f, options, 8, &arena, &point), "%s", x.messages);
        tune_model *model = tune_model_create(&device, f, shapes[i / 100], &arena);
        double seconds = tune_model_estimate(model, &point, NULL, &why);
        cr_expect(why || !(seconds < 0), "bm = %s, bk = %s: %g", rows, depth, seconds);
        tile_arena_reset(&arena);
    }
    tile_module_destroy(module);
    text_close(&x);
}

/* Three warpgroups share the sums, whatever the kernel's warps are; split sums have no such
 * groups. */
Test(tune_work, three_groups_share_the_sums) {
    static const char text[] =
        TUNE_PRODUCT("bm: int, bn: int, bk: int, stages: int, split: int, strategy: word,\n"
                     "          consumers: word",
                     "f16", "    grid [ceildiv(%m, bm), ceildiv(%n, bn)] persistent warps 8");
    const int64_t sizes[6] = {3072, 3072, 3072};
    for (unsigned split = 1; split <= 2; split++) {
        const tile_pass_option options[] = {{"bm", "192"},
                                            {"bn", "192"},
                                            {"bk", "64"},
                                            {"stages", "4"},
                                            {"split", split == 1 ? "1" : "2"},
                                            {"strategy", split == 1 ? "serial" : "exchange"},
                                            {"consumers", "cooperative_3"}};
        fixture x;
        const char *why;
        read_text(&x, text, options, sizeof options / sizeof *options, sizes);
        cr_expect(x.work.cooperative_3 && x.work.may_have_roles && x.work.warps == 8);
        cr_expect_eq(x.work.store_ring_bytes, 3 * 2 * 64 * 64); /* one stage for each group */
        const tile_device device = {.target = tile_target_find("sm_90a")};
        tune_model *model = tune_model_create(&device, x.f, sizes, &x.text.arena);
        double seconds = tune_model_estimate(model, &x.point, NULL, &why);
        if (split == 1)
            cr_expect(!why && seconds > 0, "%s", why);
        else
            cr_expect(why && strstr(why, "no three groups share its tiles"), "%s", why);
        close_point(&x);
    }
}

/* Two chained products whose groups alternate: three groups if the tile has 192 rows. */
Test(tune_work, turns_are_three_groups_where_rows_have_cooperative_3) {
    static const char text[] =
        "kernel @k<bm: int>(%m: i32, %n: i32, %q: view<f16[%m, 64]>, %k: view<f16[64, %n], strides "
        "[1, 64]>, %v: view<f16[%n, 64]>, %o: view<f16[%m, 64]>)\n"
        "    grid [ceildiv(%m, bm)] warps 8\n"
        "{\n"
        "  %x = block_id\n"
        "  %tq = alloc_shared : shared<f16[bm, 64]>\n"
        "  copy %q[%x * bm, 0], %tq\n"
        "  %acc = for %j = 0 to %n step 128 iter (%a = 0.0 : tile<f32[bm, 64]>)\n"
        "      pipelined (2, consumers = ordered) {\n"
        "    %tk = load %k[0, %j] : [64, 128]\n"
        "    %tv = load %v[%j, 0] : [128, 64]\n"
        "    %p = exp2(dot(%tq, %tk, 0.0 : tile<f32[bm, 128]>))\n"
        "    yield dot(f16(%p), %tv, %a)\n"
        "  }\n"
        "  store f16(%acc), %o[%x * bm, 0]\n"
        "}\n";
    const int64_t sizes[6] = {262144, 4096};
    double seconds[2];
    for (unsigned i = 0; i < 2; i++) {
        const tile_pass_option options[] = {{"bm", i ? "192" : "128"}};
        fixture x;
        const char *why;
        read_text(&x, text, options, 1, sizes);
        cr_expect_eq(x.work.cooperative_3, i == 1);
        cr_expect(x.work.may_have_roles && !x.work.asks_cooperative_3);
        const tile_device device = {.target = tile_target_find("sm_90a")};
        tune_model *model = tune_model_create(&device, x.f, sizes, &x.text.arena);
        seconds[i] = tune_model_estimate(model, &x.point, NULL, &why);
        cr_expect(!why, "%s", why);
        close_point(&x);
    }
    cr_expect_lt(seconds[1], seconds[0]); /* more warps compute between products */
}

/* Per iteration: 16x64 casts, products with halves and exponentials. Two 16-bit floats are computed
 * at once, and an exponential takes as long as eight operations. The final exponential is not
 * stored, so it is not counted. */
Test(tune_work, threads_compute_between_products) {
    const int64_t sizes[4] = {640};
    fixture x;
    read_text(
        &x,
        "kernel @k(%k: i32, %a: view<f16[16, %k]>, %b: view<f16[%k, 64]>, %c: view<f32[16, 64]>)\n"
        "    grid [1]  warps 4\n"
        "{\n"
        "  %sum = for %i = 0 to %k step 64 iter (%s = 0.0 : tile<f32[16, 64]>) {\n"
        "    %t = f32(load %a[0, %i] : [16, 64])\n"
        "    %h = f16(exp2(%t * 0.5)) + 1.0\n"
        "    yield dot(%h, (load %b[%i, 0] : [64, 64]), %s)\n"
        "  }\n"
        "  store exp2(%sum), %c[0, 0]\n"
        "}\n",
        NULL, 0, sizes);
    cr_assert_float_eq(x.work.loop.arithmetic, 10 * 1024 * (1 + 1 + 8 + 0.5 + 0.5), 0.1);
    cr_assert_float_eq(x.work.once.arithmetic, 0, 0.1);
    close_point(&x);
}

/* Per iteration, for each of the 64 x 8 vectors of 16 bytes: a sum, a quotient and its remainder,
 * and the offsets along three dims; each of 128 threads divides once. Such copies cannot use tensor
 * maps. */
Test(tune_work, threads_find_what_gathered_copies_move) {
    const int64_t sizes[6] = {640, 7};
    fixture x;
    read_text(
        &x,
        "kernel @k(%k: i32, %q: i32, %a: view<f16[100, %q, %k]>, %b: view<f16[%k, 64]>,\n"
        "          %c: view<f32[64, 64]>) grid [1]  warps 4\n"
        "{\n"
        "  %before = iota(axis = 0) : tile<i32[64]>\n"
        "  %first = %before * %q\n"
        "  %s = alloc_shared : shared<f16[64, 64]>\n"
        "  %sb = alloc_shared : shared<f16[64, 64]>\n"
        "  %sum = for %i = 0 to %k step 64 iter (%t = 0.0 : tile<f32[64, 64]>) pipelined (3) {\n"
        "    %row = %first + %i / %q\n"
        "    copy %a[%row / %q, rem(%row, %q), %i], %s\n"
        "    copy %b[%i, 0], %sb\n"
        "    yield dot(%s, %sb, %t)\n"
        "  }\n"
        "  store %sum, %c[0, 0]\n"
        "}\n",
        NULL, 0, sizes);
    double vectors = 64 * 64 * 2 / 16, points = 1 + 22 + 2 + 3 * 4 + 4;
    cr_assert_float_eq(x.work.loop.indexing, 10 * (vectors * points + 128 * 22), 0.1);
    cr_assert_float_eq(x.work.once.indexing, 0, 0.1);
    cr_assert_not(x.work.may_have_roles);
    close_point(&x);
}

/* An operand in registers is not read from shared memory by each warp that shares it. */
Test(tune_work, operands_in_registers_are_not_read) {
    static const char text[] =
        "kernel @k(%%k: i32, %%a: view<f16[16, %%k]>, %%b: view<f16[%%k, 64]>, %%c: view<f32[16, "
        "64]>)\n"
        "    grid [1]  warps 4\n"
        "{\n"
        "  %%sum = for %%i = 0 to %%k step 64 iter (%%s = 0.0 : tile<f32[16, 64]>) {\n"
        "    %%t = load %%b[%%i, 0] : [64, 64]\n"
        "    yield dot((load %%a[0, %%i] : [16, 64]), %s, %%s, policy = columns)\n"
        "  }\n"
        "  store %%sum, %%c[0, 0]\n"
        "}\n";
    const char *const rhs[] = {"%t + 1.0", "(iota(axis = 0) : tile<f16[64, 64]>)"};
    const double reads[] = {4 * 16 + 64, 4 * 16};
    const int64_t sizes[4] = {64};
    for (unsigned i = 0; i < 2; i++) {
        char whole[sizeof text + 64];
        fixture x;
        snprintf(whole, sizeof whole, text, rhs[i]);
        read_text(&x, whole, NULL, 0, sizes);
        cr_assert_float_eq(x.work.loop.reads, 2 * 64 * reads[i], 0.1, "%s", rhs[i]);
        close_point(&x);
    }
}

/* Each group has separate stages and sums, and proportionally fewer iterations; the total traffic
 * and the products stay the same. */
Test(tune_work, groups_share_the_iterations) {
    static const char text[] =
        "kernel @k<g: int>(%k: i32, %a: view<f16[16, %k]>, %b: view<f16[%k, 64]>, %c: view<f32[16, "
        "64]>)\n"
        "    grid [1]  warps 8\n"
        "{\n"
        "  %sa = alloc_shared : shared<f16[16, 64]>\n"
        "  %sum = for %i = 0 to %k step 64 iter (%s = 0.0 : tile<f32[16, 64]>) groups (g) "
        "pipelined "
        "(3) {\n"
        "    copy %a[0, %i], %sa\n"
        "    yield dot(%sa, (load %b[%i, 0] : [64, 64]), %s, policy = columns)\n"
        "  }\n"
        "  store %sum, %c[0, 0]\n"
        "}\n";
    const char *const groups[] = {"1", "4"};
    const int64_t sizes[4] = {640};
    for (unsigned i = 0; i < 2; i++) {
        const tile_pass_option options[] = {{"g", groups[i]}};
        const double each = i ? 4 : 1, stage = 2 * (16 * 64 + 64 * 64);
        fixture x;
        read_text(&x, text, options, 1, sizes);
        cr_assert_eq(x.work.trips, i ? 3 : 10);
        cr_assert_eq(x.work.shared, (int64_t)(3 * each * stage));
        cr_assert_float_eq(x.work.in_flight, each * stage, 0.1);
        cr_assert_float_eq(x.work.accumulator, each * 4 * 16 * 64, 0.1);
        cr_assert_float_eq(x.work.loop.loaded, 10 * stage, 0.1);
        cr_assert_float_eq(x.work.loop.reads, 10 * 2 * 64 * (8 / each * 16 + 64), 0.1);
        close_point(&x);
    }
}
