#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/model/choose.h"
#include "runtime/model/model.h"
#include "test/unit/text_fixture.h"
#include "test/unit/tune_product.h"
#include "tile/build.h"
#include "tile/compile.h"

/* As tools/kernels/matmul.tile, with fewer points. */
static const char product[] = TUNE_PRODUCT(
    "bm: int, bn: int, w: int, bk: int, stages: int, split: int, strategy: word, consumers: word",
    "f16",
    "    tune (bm, bn, w) in [(128, 128, 4), (128, 256, 8), (128, 192, 8), (128, 128, 8),\n"
    "                         (128, 64, 4), (64, 64, 4), (16, 64, 4)]\n"
    "    tune (bk, stages) in [(32, 4), (64, 3), (64, 4), (64, 8)]\n"
    "    tune (split, strategy) in [(1, serial), (8, exchange), (64, exchange)]\n"
    "    tune consumers in [cooperative, ping_pong]\n"
    "    where consumers == cooperative | bm * bn == 16384 & w == 8 & split == 1\n"
    "    grid [ceildiv(%m, bm), ceildiv(%n, bn)] raster rows(8) warps w\n"
    "    persistent if bm * bn >= 24576 | consumers == ping_pong");

/* Returns "bm=128 bn=256 ..", the choice at these sizes; "" if there is none. */
static const char *choose(text_fixture *x, const char *text, const char *target, int64_t m,
                          int64_t n, int64_t k) {
    const int64_t sizes[] = {m, n, k, 0, 0, 0};
    const tile_device device = {.target = tile_target_find(target), .num_sms = 132};
    tile_module *module = tile_module_parse(x->context, "choose", text, strlen(text));
    cr_assert(module, "%s", x->messages);
    unsigned count = 0;
    const tile_binding *bindings =
        tune_choose_point(&device, module, "k", NULL, 0, sizes, &x->arena, &count);
    const char *words = "";
    for (unsigned i = 0; bindings && i < count; i++)
        words = tile_arena_format(&x->arena, "%s%s%s=%s", words, i ? " " : "", bindings[i].name,
                                  bindings[i].value);
    tile_module_destroy(module);
    return words;
}

Test(tune_choose, what_is_given_holds) {
    text_fixture x;
    text_open(&x);
    const tile_binding given = {"bm", "64"};
    const int64_t sizes[] = {4096, 4096, 4096, 0, 0, 0};
    const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
    tile_module *module = text_parse(&x, product);
    unsigned count = 0;
    cr_assert(module, "%s", x.messages);
    const tile_binding *bindings =
        tune_choose_point(&device, module, "k", &given, 1, sizes, &x.arena, &count);
    cr_assert_not_null(bindings);
    cr_assert(strcmp(bindings[0].name, "bm") == 0 && strcmp(bindings[0].value, "64") == 0);
    cr_assert_eq(count, 8);
    tile_module_destroy(module);
    text_close(&x);
}

/* Copies of single elements take longer than a first kernel that packs the arrays, unless there is
 * little to copy (H200, 4095 x 4095 x 4097: 2311 us, packed 273). Only arrays with such rows are
 * packed. */
Test(tune_choose, arrays_with_unaligned_rows_are_packed) {
    static const struct {
        int64_t m, n, k;
        const char *packed; /* NULL: nothing */
    } cases[] = {
        {4095, 4095, 4097, "pack.arguments=a+b"},
        {4096, 4097, 4096, "pack.arguments=b"},
        {4097, 4096, 4095, "pack.arguments=a"},
        {4097, 4096, 4096, NULL},
        {17, 129, 65, NULL},
    };
    text_fixture x;
    text_open(&x);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *words = choose(&x, product, "sm_90a", cases[i].m, cases[i].n, cases[i].k);
        const char *found = strstr(words, "pack.arguments");
        cr_expect(found && cases[i].packed ? strcmp(found, cases[i].packed) == 0
                                           : !found && !cases[i].packed,
                  "%lld x %lld x %lld: %s", (long long)cases[i].m, (long long)cases[i].n,
                  (long long)cases[i].k, words);
    }
    text_close(&x);
}

typedef struct ranking {
    double last;
    unsigned count, limit;
    char first[200];
} ranking;

static bool take_rank(const tile_binding *bindings, unsigned count, double seconds, void *user) {
    ranking *r = user;
    size_t used = 0;
    cr_expect(seconds >= r->last, "point %u: %g s after %g s", r->count, seconds, r->last);
    for (unsigned i = 0; i < count && !r->count; i++)
        used += (size_t)snprintf(r->first + used, sizeof r->first - used, "%s%s=%s", i ? " " : "",
                                 bindings[i].name, bindings[i].value);
    r->last = seconds;
    return ++r->count < r->limit;
}

/* The first one is the choice, and the visitor may stop. */
Test(tune_choose, points_are_ranked) {
    text_fixture x;
    text_open(&x);
    const int64_t sizes[] = {4096, 1024, 512, 0, 0, 0};
    const tile_binding given = {"bk", "64"};
    const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
    tile_module *module = text_parse(&x, product);
    ranking all = {.limit = 1000}, some = {.limit = 3}, own = {.limit = 1000};
    tune_rank_points(&device, module, "k", NULL, 0, sizes, take_rank, &all);
    tune_rank_points(&device, module, "k", NULL, 0, sizes, take_rank, &some);
    tune_rank_points(&device, module, "k", &given, 1, sizes, take_rank, &own);
    cr_expect(all.count > 50 && some.count == 3, "%u, %u", all.count, some.count);
    cr_expect(own.count > 20 && own.count < all.count, "%u", own.count);
    cr_expect_str_eq(all.first, choose(&x, product, "sm_90a", 4096, 1024, 512));
    tile_module_destroy(module);
    text_close(&x);
}

/* The points with packed arguments are among them. */
Test(tune_choose, points_with_packed_arguments_are_ranked) {
    text_fixture x;
    text_open(&x);
    const int64_t sizes[] = {4095, 4095, 4097, 0, 0, 0};
    const tile_binding asked = {"pack.arguments", "b"};
    const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
    tile_module *module = text_parse(&x, product);
    ranking all = {.limit = 1000}, own = {.limit = 1000};
    tune_rank_points(&device, module, "k", NULL, 0, sizes, take_rank, &all);
    tune_rank_points(&device, module, "k", &asked, 1, sizes, take_rank, &own);
    cr_expect(all.count > own.count && own.count > 50, "%u, %u", all.count, own.count);
    cr_expect_str_eq(all.first, choose(&x, product, "sm_90a", 4095, 4095, 4097));
    cr_expect(strstr(all.first, " pack.arguments=a+b"), "%s", all.first);
    cr_expect(strstr(own.first, " pack.arguments=b"), "%s", own.first);
    tile_module_destroy(module);
    text_close(&x);
}

#define TURNS(type) \
    TUNE_PRODUCT("bm: int, bn: int, bk: int = 128, stages: int, split: int = 1, strategy: word = " \
                 "serial, consumers: word", \
                 type, \
                 "    tune (bm, bn, stages, consumers) in [(128, 256, 4, cooperative),\n" \
                 "                                         (128, 128, 6, ping_pong)]\n" \
                 "    grid [ceildiv(%m, bm), ceildiv(%n, bn)] raster rows(8) warps 8 persistent")

/* Sums of 8-bit floats are promoted in each iteration, and large tiles have fewer iterations: 97 us
 * and 132 on an H200. */
Test(tune_choose, promoted_sums_take_large_tiles) {
    text_fixture x;
    text_open(&x);
    cr_expect(strstr(choose(&x, TURNS("e4m3"), "sm_90a", 4096, 4096, 4096), "bn=256"));
    text_close(&x);
}

/* Points within 2 % of the fastest on an H200. The waves that tiles fill and the memory traffic
 * decide. */
Test(tune_choose, shapes_take_their_tiles) {
    static const struct {
        int64_t m, n, k;
        const char *tiles[3];
    } cases[] = {
        {8192,
         8192,
         8192,
         {"bm=128 bn=192 w=8 bk=64 stages=4 split=1", "bm=128 bn=256 w=8 bk=64 stages=4 split=1"}},
        {4096,
         4096,
         4096,
         {"bm=128 bn=256 w=8 bk=64 stages=4 split=1", "bm=128 bn=256 w=8 bk=64 stages=3 split=1"}},
        {6144,
         4096,
         9216,
         {"bm=128 bn=192 w=8 bk=64 stages=4 split=1", "bm=128 bn=256 w=8 bk=64 stages=4 split=1",
          "bm=128 bn=256 w=8 bk=64 stages=3 split=1"}},
        {4864,
         4864,
         4864,
         {"bm=128 bn=128 w=8 bk=64 stages=4 split=1", "bm=128 bn=256 w=8 bk=64 stages=4 split=1"}},
        {3072, 3072, 3072, {"bm=128 bn=192 w=8 bk=64 stages=4 split=1"}},
        {2048,
         2048,
         2048,
         {"bm=128 bn=256 w=8 bk=64 stages=3 split=1", "bm=128 bn=256 w=8 bk=64 stages=4 split=1",
          "bm=128 bn=128 w=8 bk=64 stages=4 split=1"}},
        {1024, 1024, 1024, {"bm=128 bn=64 w=4 bk=64 stages=8 split=1"}},
        {512,
         512,
         16384,
         {"bm=128 bn=128 w=4 bk=64 stages=4 split=8", "bm=128 bn=128 w=8 bk=64 stages=4 split=8"}},
    };
    text_fixture x;
    text_open(&x);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = choose(&x, product, "sm_90a", cases[i].m, cases[i].n, cases[i].k);
        bool is_one = false;
        for (unsigned t = 0; t < 3 && cases[i].tiles[t]; t++)
            is_one |= strncmp(found, cases[i].tiles[t], strlen(cases[i].tiles[t])) == 0;
        cr_expect(is_one, "%lld %lld %lld: %s", (long long)cases[i].m, (long long)cases[i].n,
                  (long long)cases[i].k, found);
    }
    cr_expect_eq(x.errors, 0);
    text_close(&x);
}

/* Products by fma take as long as their threads' reads of operands, which large tiles share, and
 * far longer than those of tensor cores: a product with few tiles and a long k is split. */
Test(tune_choose, products_by_fma_share_reads) {
    static const char text[] = TUNE_PRODUCT(
        "bm: int, bn: int, bk: int = 16, stages: int = 3, split: int, strategy: word, consumers: "
        "word = cooperative",
        "f32",
        "    tune (bm, bn) in [(32, 64), (128, 64)]\n"
        "    tune (split, strategy) in [(1, serial), (16, exchange)]\n"
        "    grid [ceildiv(%m, bm), ceildiv(%n, bn)] warps 4");
    text_fixture x;
    text_open(&x);
    const char *square = choose(&x, text, "sm_90a", 4096, 4096, 4096);
    cr_expect(strstr(square, "bm=128 bn=64") && strstr(square, "split=1 "), "%s", square);
    const char *deep = choose(&x, text, "sm_90a", 256, 256, 524288);
    cr_expect(strstr(deep, "bm=128 bn=64") && strstr(deep, "split=16"), "%s", deep);
    text_close(&x);
}

/* If rows do not begin at multiples of 128 bytes, multicast to two blocks halves the loads (H200:
 * 38.1 us instead of 46.4 at 1000 x 1000 x 10000, 186.6 instead of 224 at 4096 x 4072 x 4096).
 * Other shapes gain nothing. */
Test(tune_choose, rows_across_lines_are_multicast) {
    static const struct {
        int64_t m, n, k;
        bool shares;
    } cases[] = {{1000, 1000, 10000, true}, {4096, 4072, 4096, true},  {4096, 4072, 4072, true},
                 {2048, 2040, 2048, true},  {4096, 4096, 4096, false}, {8192, 8192, 8192, false},
                 {1024, 1024, 1024, false}, {4864, 4864, 4864, false}};
    static const char *const targets[] = {"sm_90a", "sm_90", "sm_80"};
    text_fixture x;
    text_open(&x);
    char *text = strcpy(tile_arena_alloc(&x.arena, 2 * sizeof product), product);
    const char *const changes[][2] = {
        {"consumers: word>", "consumers: word, cm: int>"},
        {" raster rows(8)", " cluster [cm, 1] raster rows(8)"},
        {"    where consumers", "    tune cm in [1, 2]\n    where consumers"}};
    for (size_t i = 0; i < 3; i++) {
        char *at = strstr(text, changes[i][0]), *rest;
        cr_assert(at);
        rest = tile_arena_string(&x.arena, at + strlen(changes[i][0]),
                                 strlen(at) - strlen(changes[i][0]));
        strcpy(strcpy(at, changes[i][1]) + strlen(changes[i][1]), rest);
    }
    for (size_t i = 0; i < 3 * sizeof cases / sizeof *cases; i++) {
        const char *found =
            choose(&x, text, targets[i % 3], cases[i / 3].m, cases[i / 3].n, cases[i / 3].k);
        bool shares = cases[i / 3].shares && i % 3 == 0;
        cr_expect_eq(strstr(found, "cm=2") != NULL, shares, "%s: %lld %lld %lld: %s",
                     targets[i % 3], (long long)cases[i / 3].m, (long long)cases[i / 3].n,
                     (long long)cases[i / 3].k, found);
    }
    text_close(&x);
}

/* Clusters of 2 x 2 halve the traffic from L2, but at most 120 multiprocessors can hold one (H200:
 * 26.9 us instead of 29.9 at 1200 x 1200 x 4800, 41.5 instead of 29.3 at 2048 x 2048 x 2048). */
Test(tune_choose, clusters_of_four_take_one_round) {
    static const char text[] =
        "kernel @k<cn: int>(%m: i32, %n: i32 {divisible = 8}, %k: i32 {divisible = 8},\n"
        "     %a: view<f16[%m, %k]>, %b: view<f16[%k, %n]>, %c: view<f16[%m, %n]>)\n"
        "    tune cn in [1, 2]\n"
        "    grid [ceildiv(%m, 112), ceildiv(%n, 128)] cluster [2, cn] warps 8 {\n"
        "  %x, %y = block_id\n"
        "  %sa = alloc_shared : shared<f16[112, 64]>\n"
        "  %sb = alloc_shared : shared<f16[64, 128]>\n"
        "  %acc = for %i = 0 to %k step 64 iter (%s = 0.0 : tile<f32[112, 128]>) pipelined (6) {\n"
        "    copy %a[%x * 112, %i], %sa\n"
        "    copy %b[%i, %y * 128], %sb\n"
        "    yield dot(%sa, %sb, %s)\n"
        "  }\n"
        "  store f16(%acc), %c[%x * 112, %y * 128]\n"
        "}\n";
    static const struct {
        int64_t m, n, k;
        bool four;
    } cases[] = {{1200, 1200, 4800, true},
                 {1100, 1300, 6000, true},
                 {2464, 1408, 2048, false},
                 {1344, 1408, 4096, false}};
    text_fixture x;
    text_open(&x);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = choose(&x, text, "sm_90a", cases[i].m, cases[i].n, cases[i].k);
        cr_expect_eq(strstr(found, "cn=2") != NULL, cases[i].four, "%lld %lld %lld: %s",
                     (long long)cases[i].m, (long long)cases[i].n, (long long)cases[i].k, found);
    }
    text_close(&x);
}

/* As in tools/kernels/softmax.tile: a row that a block can hold is read once. Many threads with few
 * registers are no better than few threads with many (H200, 8192 x 8192 of f16: 8 warps 70.4 us, 16
 * warps 74.8, pieces of 1024 92.6). */
Test(tune_choose, rows_are_held_where_they_fit) {
    static const char text[] =
        "kernel @k<block: int, w: int>(%m: i32, %n: i32, %x: view<f16[%m, %n]>,\n"
        "     %y: view<f16[%m, %n]>)\n"
        "    tune (block, w) in [(4096, 4), (8192, 16), (8192, 8), (1024, 4), (16384, 16)]\n"
        "    grid [%m] warps w {\n"
        "  %r = block_id\n"
        "  if %n <= block {\n"
        "    %t = f32(load %x[%r, 0] : [1, block])\n"
        "    store f16(%t / reduce_add(%t, axis = 1)), %y[%r, 0]\n"
        "  } else {\n"
        "    %s = for %j = 0 to %n step block / 4 iter (%a = splat(0.0) : tile<f32[1, block / 4]>) "
        "{\n"
        "      yield %a + f32(load %x[%r, %j] : [1, block / 4])\n"
        "    }\n"
        "    %sum = reduce_add(%s, axis = 1)\n"
        "    for %j = 0 to %n step block / 4 {\n"
        "      store f16(f32(load %x[%r, %j] : [1, block / 4]) / %sum), %y[%r, %j]\n"
        "    }\n"
        "  }\n"
        "}\n";
    text_fixture x;
    text_open(&x);
    const char *found = choose(&x, text, "sm_90a", 8192, 8192, 0);
    cr_expect_str_eq(found, "block=8192 w=8", "%s", found);
    found = choose(&x, text, "sm_80", 8192, 16000, 0);
    cr_expect_str_eq(found, "block=16384 w=16", "%s", found);
    cr_expect_eq(x.errors, 0);
    text_close(&x);
}

/* Short rows that are whole in their tile are one range of memory, and share a block. Elements
 * outside of the array take instructions (H200, softmax of 699050 x 24 in f16: 128 x 32 took 22.4
 * us). */
Test(tune_choose, short_rows_share_a_block) {
    static const char text[] =
        "kernel @k<r: int, c: int>(%m: i32, %n: i32 {divisible = 8}, %x: view<f16[%m, %n]>,\n"
        "     %y: view<f16[%m, %n]>)\n"
        "    tune (r, c) in [(1, 8192), (1, 32), (128, 32), (8, 512)]\n"
        "    where %n <= c\n"
        "    grid [ceildiv(%m, r)] warps 4 {\n"
        "  %i = block_id\n"
        "  store load %x[%i * r, 0] : [r, c], %y[%i * r, 0]\n"
        "}\n";
    text_fixture x;
    text_open(&x);
    const char *found = choose(&x, text, "sm_90a", 699050, 24, 0);
    cr_expect_str_eq(found, "r=128 c=32", "%s", found);
    found = choose(&x, text, "sm_90a", 100000, 304, 0);
    cr_expect_str_eq(found, "r=8 c=512", "%s", found);
    found = choose(&x, text, "sm_90a", 4096, 8000, 0);
    cr_expect_str_eq(found, "r=1 c=8192", "%s", found);
    cr_expect_eq(x.errors, 0);
    text_close(&x);
}

/* If a tile's row is narrower than a cache line, the whole line is transferred anyway (H200, 8192 x
 * 8192 of f16 with a bias and gelu: 64 x 32 took 110.6 us, a copy takes 67). */
Test(tune_choose, lines_are_loaded_whole) {
    static const char text[] =
        "kernel @k<r: int, c: int>(%m: i32, %n: i32 {divisible = 8}, %x: view<f16[%m, %n]>,\n"
        "     %b: view<f16[1, %n]>, %y: view<f16[%m, %n]>)\n"
        "    tune (r, c) in [(64, 32), (16, 128)]\n"
        "    grid [ceildiv(%m, r), ceildiv(%n, c)] warps 4 {\n"
        "  %i, %j = block_id\n"
        "  %t = load %x[%i * r, %j * c] : [r, c]\n"
        "  store %t + load %b[0, %j * c] : [1, c], %y[%i * r, %j * c]\n"
        "}\n";
    text_fixture x;
    text_open(&x);
    const char *found = choose(&x, text, "sm_90a", 8192, 8192, 0);
    cr_expect_str_eq(found, "r=16 c=128", "%s", found);
    cr_expect_eq(x.errors, 0);
    text_close(&x);
}

/* As in tools/kernels/matmul_skinny.tile: data evicted from the L2 is read from memory again for
 * each further row of tiles (H200, 48 x 5120 x 5120: 64 rows 19.2 us, 32 rows 31.0, 16 rows
 * 31.7). */
Test(tune_choose, streams_are_read_once) {
    static const char skinny[] = "kernel @k<bm: int, stages: int>\n"
                                 "    (%m: i32, %n: i32 {divisible = 8}, %k: i32 {divisible = 8},\n"
                                 "     %a: view<f16[%m, %k]>, %b: view<f16[%k, %n]>,\n"
                                 "     %c: view<f16[%m, %n]>)\n"
                                 "    tune (bm, stages) in [(16, 5), (32, 4), (64, 6)]\n"
                                 "    grid [ceildiv(%n, 64), ceildiv(%m, bm)] warps 4 {\n"
                                 "  %y, %x = block_id\n"
                                 "  %sa = alloc_shared : shared<f16[bm, 128]>\n"
                                 "  %sb = alloc_shared : shared<f16[128, 64]>\n"
                                 "  %acc = for %i = 0 to %k step 128\n"
                                 "      iter (%s = 0.0 : tile<f32[bm, 64]>) pipelined (stages) {\n"
                                 "    copy %a[%x * bm, %i], %sa\n"
                                 "    copy %b[%i, %y * 64], %sb {cache = evict_first}\n"
                                 "    yield dot(%sa, %sb, %s)\n"
                                 "  }\n"
                                 "  store f16(%acc), %c[%x * bm, %y * 64]\n"
                                 "}\n";
    static const struct {
        int64_t m;
        const char *rows;
    } cases[] = {{16, "bm=16"}, {48, "bm=64"}, {64, "bm=64"}};
    text_fixture x;
    text_open(&x);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = choose(&x, skinny, "sm_90a", cases[i].m, 5120, 5120);
        cr_expect(strncmp(found, cases[i].rows, 5) == 0, "%lld: %s", (long long)cases[i].m, found);
    }
    text_close(&x);
}

/* The tuner, which instantiates all points, begins with the chosen one. */
Test(tune_choose, the_tuner_begins_with_the_same_point) {
    static const int64_t shapes[][6] = {
        {4096, 4096, 4096}, {1000, 1000, 10000}, {64, 64, 65536}, {16, 4096, 14336}, {1, 8, 8}};
    static const char *const targets[] = {"sm_90a", "sm_90", "sm_80"};
    text_fixture x;
    text_open(&x);
    for (size_t i = 0; i < 3 * sizeof shapes / sizeof *shapes; i++) {
        const int64_t *sizes = shapes[i / 3];
        const tile_device device = {.target = tile_target_find(targets[i % 3]), .num_sms = 132};
        tile_module *module = tile_module_parse(x.context, "choose", product, strlen(product));
        tune_point *points;
        size_t count;
        const tune_point *best = NULL;
        cr_assert(tune_list_points(tile_module_find(module, "k"), NULL, 0, sizes, &x.arena, &points,
                                   &count));
        tune_estimate_points(&device, module, "k", sizes, NULL, points, count);
        for (size_t p = 0; p < count; p++)
            if (points[p].c.state != TILE_CANDIDATE_dropped &&
                (!best || points[p].c.estimate < best->c.estimate))
                best = &points[p];
        cr_assert(best);
        cr_expect_str_eq(choose(&x, product, targets[i % 3], sizes[0], sizes[1], sizes[2]),
                         best->c.text);
        for (size_t p = 0; p < count; p++) tile_arena_reset(&points[p].arena);
        tile_module_destroy(module);
    }
    text_close(&x);
}

/* Tiles of the last wave are split with stream_k if that takes less than a wave (H200: 295 us
 * instead of 311 at 4864^3, 88 instead of 100 at 3072^3, 97 instead of 109 at 3000^3). They are not
 * split if they nearly fill the wave, if there are none, or if there are so few iterations that
 * splitting costs more. */
Test(tune_choose, the_last_round_is_shared_where_that_gains) {
    static const char waves[] = TUNE_PRODUCT(
        "bm: int = 128, bn: int = 256, bk: int = 64, stages: int = 4, split: int = 1,\n"
        " strategy: word, consumers: word = cooperative",
        "f16",
        "    tune strategy in [serial, stream_k]\n"
        "    grid [ceildiv(%m, bm), ceildiv(%n, bn)] raster rows(8) warps 8 persistent");
    static const struct {
        int64_t m, n, k;
        bool shares;
    } cases[] = {{4864, 4864, 4864, true},  {3072, 3072, 3072, true},  {3000, 3000, 3000, true},
                 {4352, 4352, 4352, true},  {2560, 2560, 4096, true},  {4096, 4096, 4096, false},
                 {8448, 4096, 4096, false}, {6144, 4096, 9216, false}, {4864, 4864, 256, false},
                 {2464, 1408, 2048, false}, {2560, 2560, 512, false},  {1024, 1024, 16384, true}};
    text_fixture x;
    text_open(&x);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = choose(&x, waves, "sm_90a", cases[i].m, cases[i].n, cases[i].k);
        cr_expect_eq(strstr(found, "stream_k") != NULL, cases[i].shares, "%lld %lld %lld: %s",
                     (long long)cases[i].m, (long long)cases[i].n, (long long)cases[i].k, found);
    }
    text_close(&x);
}

Test(tune_choose, nobody_takes_turns_without_wgmma) {
    text_fixture x;
    text_open(&x);
    const char *found = choose(&x, product, "sm_80", 4864, 4864, 4864);
    cr_expect(strstr(found, "consumers=cooperative"), "%s", found);
    text_close(&x);
}

Test(tune_choose, nothing_is_reported_where_nothing_fits) {
    static const char large[] =
        "kernel @k<b: int>(%m: i32, %n: i32, %k: i32) tune b in [65536] grid [1] warps 4 {\n"
        "  %s = alloc_shared : shared<f32[b]>\n"
        "}\n";
    text_fixture x;
    text_open(&x);
    cr_expect_str_eq(choose(&x, large, "sm_90a", 1, 1, 1), "");
    cr_expect_eq(x.errors, 0);
    text_close(&x);
}

static const char two_products[] =
    "plan @p(%m: i32, %n: i32, %k: i32, %a: view<f16[%m, %k]>, %b: view<f16[%k, %n]>,\n"
    "        %c: view<f16[%m, %n]>) {\n"
    "  launch @k(%m, %n, %k, %a, %b, %c)\n"
    "  for %i = 0 to 9 {\n"
    "    launch @j(512, 512, 16384, %a, %b, %c)\n"
    "  }\n"
    "}\n";

/* "bm=128 bn=256", the choice for @k at these sizes, with the plan's names. */
static const char *renamed(text_fixture *x, const char *words, const char *kernel) {
    const char *text = "";
    for (const char *at = words; *at;) {
        size_t length = strcspn(at, " ");
        text = tile_arena_format(&x->arena, "%s%s%s_%.*s", text, *text ? " " : "", kernel,
                                 (int)length, at);
        at += length + (at[length] == ' ');
    }
    return text;
}

/* The launches of a plan take the points that their kernels take for the same sizes. */
Test(tune_choose, kernels_of_a_plan_take_their_points) {
    text_fixture x;
    text_open(&x);
    const int64_t sizes[] = {4096, 4096, 4096, 0, 0, 0};
    const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
    const char *text =
        tile_arena_format(&x.arena, "%skernel @j%s%s", product, product + 9, two_products);
    const char *wanted = tile_arena_format(
        &x.arena, "%s %s", renamed(&x, choose(&x, product, "sm_90a", 4096, 4096, 4096), "k"),
        renamed(&x, choose(&x, product, "sm_90a", 512, 512, 16384), "j"));
    tile_module *module = text_parse(&x, text);
    unsigned count = 0;
    const char *found = "";
    cr_assert(module, "%s", x.messages);
    cr_assert_eq(tile_plan_take_points(tile_module_find(module, "p")), TILE_OK, "%s", x.messages);
    const tile_binding *bindings =
        tune_choose_point(&device, module, "p", NULL, 0, sizes, &x.arena, &count);
    for (unsigned i = 0; bindings && i < count; i++)
        found = tile_arena_format(&x.arena, "%s%s%s=%s", found, i ? " " : "", bindings[i].name,
                                  bindings[i].value);
    cr_expect_str_eq(found, wanted);
    tile_module_destroy(module);
    text_close(&x);
}
