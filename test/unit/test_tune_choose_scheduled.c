/* The points of kernels that the pass `schedule` makes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tuning/space.h"
#include "runtime/model/choose.h"
#include "runtime/model/model.h"
#include "test/unit/text_fixture.h"
#include "test/unit/tune_product.h"
#include "tile/build.h"
#include "tile/compile.h"

/* Scheduled reductions ------------------------------------------------------------------------- */

static const char reductions[] =
    "compute @columns<m: dim, n: dim>(%x: tensor<f16[m, n]>) -> (%y: tensor<f32[1, n]>) {\n"
    "  %y = reduce_add(f32(%x), axis = 0)\n"
    "}\n"
    "compute @rows<m: dim, n: dim>(%x: tensor<f16[m, n]>) -> (%y: tensor<f32[m, 1]>) {\n"
    "  %y = reduce_add(f32(%x), axis = 1)\n"
    "}\n"
    "compute @both<m: dim, n: dim>(%x: tensor<f16[m, n]>)\n"
    "    -> (%y: tensor<f32[m, 1]>, %z: tensor<f32[1, n]>) {\n"
    "  %y = reduce_add(f32(%x), axis = 1)\n"
    "  %z = reduce_add(f32(%x), axis = 0)\n"
    "}\n";

/* Returns the number of parts of the reduction at these sizes. */
static long choose_split(text_fixture *x, const char *compute, const char *parameter, int64_t m,
                         int64_t n) {
    const int64_t sizes[] = {m, n, 0, 0, 0};
    const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
    tile_module *module = text_parse(x, reductions);
    unsigned given = 0, count = 0;
    const char *name;
    long split = 0;
    cr_assert(module, "%s", x->messages);
    cr_assert_eq(tile_schedule(module, compute, device.target, NULL, &given, &name), TILE_OK, "%s",
                 x->messages);
    const tile_binding *bindings =
        tune_choose_point(&device, module, name, NULL, 0, sizes, &x->arena, &count);
    for (unsigned i = 0; bindings && i < count; i++)
        if (strcmp(bindings[i].name, parameter) == 0) split = strtol(bindings[i].value, NULL, 10);
    tile_module_destroy(module);
    return split;
}

/* Reductions are split if blocks would leave multiprocessors idle for long. They are not split if
 * there are enough blocks, or so little work that a second launch costs more. */
Test(tune_choose_scheduled, few_columns_and_rows_are_cut_into_parts) {
    static const struct {
        const char *compute;
        int64_t m, n;
        long least, most;
    } cases[] = {
        {"columns", 8192, 8192, 4, 64},    {"columns", 4096, 4096, 4, 64},
        {"columns", 65536, 64, 64, 1024},  {"columns", 1000000, 128, 64, 1024},
        {"columns", 8192, 131072, 1, 1},   {"columns", 37, 50, 1, 1},
        {"columns", 1, 1, 1, 1},           {"columns", 2, 300000, 1, 1},
        {"rows", 1, 100000000, 256, 1024}, {"rows", 2, 300000, 16, 64},
        {"rows", 16, 100000, 4, 16},       {"rows", 8192, 8192, 1, 1},
        {"rows", 1, 8192, 1, 1},           {"rows", 1000000, 128, 1, 1},
    };
    text_fixture x;
    text_open(&x);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        long split = choose_split(&x, cases[i].compute, "split", cases[i].m, cases[i].n);
        cr_expect(cases[i].least <= split && split <= cases[i].most, "%s %lld %lld: %ld parts",
                  cases[i].compute, (long long)cases[i].m, (long long)cases[i].n, split);
    }
    text_close(&x);
}

/* Each kernel of a plan is split separately. */
Test(tune_choose_scheduled, kernels_of_a_plan_are_cut_on_their_own) {
    text_fixture x;
    text_open(&x);
    cr_expect_eq(choose_split(&x, "both", "split_1", 8192, 8192), 1);
    cr_expect_gt(choose_split(&x, "both", "split_2", 8192, 8192), 1);
    cr_expect_gt(choose_split(&x, "both", "split_1", 8, 1000000), 1);
    cr_expect_eq(choose_split(&x, "both", "split_2", 8, 1000000), 1);
    text_close(&x);
}

/* Kernels of plans are packed as single ones are: two_1 is the product, whose rows of a and b begin
 * anywhere if k and n are odd. */
static const char product_and_sum[] =
    "compute @two<m: dim, n: dim, k: dim>(%a: tensor<f16[m, k]>, %b: tensor<f16[k, n]>)\n"
    "    -> (%y: tensor<f32[m, n]>, %s: tensor<f32[m, 1]>) {\n"
    "  %y = matmul(%a, %b) : f32\n"
    "  %s = reduce_add(%y, axis = 1)\n"
    "}\n";

Test(tune_choose_scheduled, kernels_of_a_plan_are_packed) {
    static const struct {
        int64_t m, n, k;
        const char *packed;
    } cases[] = {{4096, 4096, 4096, ""},
                 {4095, 4095, 4097, "two_1.a+two_1.b"},
                 {4096, 4096, 4097, "two_1.a"},
                 {65, 67, 77, ""}};
    text_fixture x;
    text_open(&x);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t sizes[] = {cases[i].m, cases[i].n, cases[i].k, 0, 0, 0, 0};
        const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
        tile_module *module = text_parse(&x, product_and_sum);
        unsigned given = 0, count = 0;
        const char *name, *packed = "";
        cr_assert(module, "%s", x.messages);
        cr_assert_eq(tile_schedule(module, "two", device.target, NULL, &given, &name), TILE_OK);
        const tile_binding *bindings =
            tune_choose_point(&device, module, name, NULL, 0, sizes, &x.arena, &count);
        cr_assert(bindings);
        for (unsigned b = 0; b < count; b++)
            if (strcmp(bindings[b].name, "pack.arguments") == 0) packed = bindings[b].value;
        cr_expect_str_eq(packed, cases[i].packed);
        cr_expect_eq(tile_instantiate(module, name, bindings, count), TILE_OK, "%s", x.messages);
        tile_module_destroy(module);
    }
    text_close(&x);
}

/* Scheduled convolutions ----------------------------------------------------------------------- */

static const char convolution[] =
    "compute @k<n: dim, h: dim, w: dim, c: dim, p: dim, q: dim, k: dim, r: dim, s: dim>(\n"
    "    %stride: i32, %pad: i32, %x: tensor<f16[n, h, w, c]>, %f: tensor<f16[r, s, c, k]>,\n"
    "    %z: tensor<f16[n, p, q, k]>) -> (%y: tensor<f16[n, p, q, k]>) {\n"
    "  %v = window %x, [%stride, %stride], [%pad, %pad] {axis = 1} : [n, p, q, r, s, c]\n"
    "  %m = matmul((reshape(%v) : [n * p * q, r * s * c]), (reshape(%f) : [r * s * c, k])) : f32\n"
    "  %y = f16((reshape(%m) : [n, p, q, k]) + f32(%z))\n"
    "}\n";

/* Each block computes the addresses of the elements that it copies. Large tiles and many parts
 * copy, and address, fewer elements (H200: split 16 is the fastest at 8 x 7 x 7 x 512, no split at
 * 32 x 28 x 28 x 256). */
Test(tune_choose_scheduled, convolutions_count_how_elements_are_found) {
    static const struct {
        int64_t n, side, channels;
        const char *parts;
    } cases[] = {{8, 7, 512, "16"}, {32, 28, 256, "1"}, {32, 56, 64, "1"}};
    text_fixture x;
    text_open(&x);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t n = cases[i].n, side = cases[i].side, channels = cases[i].channels;
        const int64_t sizes[16] = {n, side, side, channels, side, side, channels, 3, 3, 1, 1};
        const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
        tile_module *module = text_parse(&x, convolution);
        unsigned given = 0, count = 0;
        const char *name;
        cr_assert(module, "%s", x.messages);
        cr_assert_eq(tile_schedule(module, "k", device.target, NULL, &given, &name), TILE_OK);
        const tile_binding *bindings =
            tune_choose_point(&device, module, name, NULL, 0, sizes, &x.arena, &count);
        cr_assert(bindings);
        for (unsigned b = 0; b < count; b++)
            if (strcmp(bindings[b].name, "split") == 0)
                cr_expect_str_eq(bindings[b].value, cases[i].parts);
        tile_module_destroy(module);
    }
    text_close(&x);
}

/* Lengths in an array are assumed to be at their upper bound. */
static const char lengths[] =
    "kernel @k<split: int>(%n: i32, %l: view<i32[1]>, %x: view<f16[%n, 128]>,\n"
    "                      %y: view<f32[64, 128]>)\n"
    "    tune split in [1, 4, 64]\n"
    "    grid [split]  warps 4\n"
    "{\n"
    "  %z = block_id\n"
    "  %length = min(load %l[0], %n)\n"
    "  %span = ceildiv(%length, split)\n"
    "  %sum = for %i = %z * %span to min((%z + 1) * %span, %length) step 64\n"
    "      iter (%s = 0.0 : tile<f32[1, 128]>) {\n"
    "    yield %s + reduce_add(f32(load %x[%i, 0] : [64, 128]), axis = 0)\n"
    "  }\n"
    "  store %sum, %y[%z, 0]\n"
    "}\n";

/* H200, attention of one query and 32768 keys, in 1, 4 and 16 parts: 313, 85 and 48 us. */
Test(tune_choose_scheduled, lengths_that_are_read_are_shared_out) {
    static const struct {
        int64_t n;
        const char *parts;
    } cases[] = {{64, "1"}, {32768, "64"}};
    text_fixture x;
    text_open(&x);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int64_t sizes[] = {cases[i].n, 0, 0, 0};
        const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
        tile_module *module = text_parse(&x, lengths);
        unsigned count = 0;
        cr_assert(module, "%s", x.messages);
        const tile_binding *bindings =
            tune_choose_point(&device, module, "k", NULL, 0, sizes, &x.arena, &count);
        cr_assert(bindings && count == 1);
        cr_expect_str_eq(bindings[0].value, cases[i].parts, "%lld", (long long)cases[i].n);
        tile_module_destroy(module);
    }
    text_close(&x);
}

/* Transposed operands -------------------------------------------------------------------------- */

/* The arrays of a compute are row-major, so that its kernel makes a view with other strides. */
static const char transposed[] =
    "kernel @k<block_m: int, block_n: int, block_k: int, stages: int, num_warps: int, split: int,\n"
    "          strategy: word, consumers: word, cluster_m: int, cluster_n: int>\n"
    "    (%m: i32 {divisible = 8}, %n: i32 {divisible = 8}, %k: i32 {divisible = 8},\n"
    "     %a: view<bf16[%m, %k], strides [1, %m]>, %b: view<bf16[%k, %n], strides [1, %k]>,\n"
    "     %c: view<bf16[%m, %n]>)\n"
    "    tune auto grid [ceildiv(%m, block_m), ceildiv(%n, block_n)] cluster [cluster_m, "
    "cluster_n]\n"
    "    raster auto warps num_warps persistent auto\n"
    "{\n"
    "  %x, %y = block_id\n"
    "  %sa = alloc_shared : shared<bf16[block_m, block_k]>\n"
    "  %sb = alloc_shared : shared<bf16[block_k, block_n]>\n"
    "  %acc = for %i = 0 to %k step block_k iter (%s = 0.0 : tile<f32[block_m, block_n]>)\n"
    "      split (split, strategy) pipelined (stages, consumers = consumers) {\n"
    "    copy %a[%x * block_m, %i], %sa\n"
    "    copy %b[%i, %y * block_n], %sb\n"
    "    yield dot(%sa, %sb, %s)\n"
    "  }\n"
    "  store bf16(%acc), %c[%x * block_m, %y * block_n]\n"
    "}\n"
    "compute @product<m: dim, n: dim, k: dim>(%a: tensor<bf16[k, m]>, %b: tensor<bf16[n, k]>)\n"
    "    -> (%c: tensor<bf16[m, n]>) {\n"
    "  %c = matmul(%a, %b, trans_lhs, trans_rhs) : bf16\n"
    "}\n";

typedef struct ranked {
    double estimates[4096];
    unsigned count;
} ranked;

static bool take_ranked(const tile_binding *bindings, unsigned count, double estimate, void *user) {
    ranked *r = user;
    (void)bindings, (void)count;
    if (r->count < sizeof r->estimates / sizeof *r->estimates) r->estimates[r->count++] = estimate;
    return true;
}

/* Rows that cross L2 lines, and tiles that are not inside of the arrays, count in both. */
Test(tune_choose_scheduled, views_in_a_body_are_estimated_like_arguments) {
    static const int64_t shapes[][6] = {{10496, 5384, 3704}, {40, 1000, 72}, {1000, 24, 8}};
    static ranked by_kernel, by_compute;
    text_fixture x;
    text_open(&x);
    const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
    tile_module *module = text_parse(&x, transposed);
    unsigned given = 0;
    const char *name;
    cr_assert(module, "%s", x.messages);
    cr_assert_eq(tile_schedule(module, "product", device.target, NULL, &given, &name), TILE_OK);
    cr_assert_eq(tile_resolve_tuning(tile_module_find(module, "k"), device.target, NULL, 0),
                 TILE_OK);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        by_kernel.count = by_compute.count = 0;
        tune_rank_points(&device, module, "k", NULL, 0, shapes[i], take_ranked, &by_kernel);
        tune_rank_points(&device, module, name, NULL, 0, shapes[i], take_ranked, &by_compute);
        cr_assert_gt(by_kernel.count, 100);
        cr_assert_eq(by_kernel.count, by_compute.count);
        for (unsigned p = 0; p < by_kernel.count; p++)
            cr_assert_eq(by_kernel.estimates[p], by_compute.estimates[p], "shape %zu: %g and %g", i,
                         by_kernel.estimates[p], by_compute.estimates[p]);
    }
    tile_module_destroy(module);
    text_close(&x);
}
