/* The points of products whose epilogues reduce their rows, or compute much. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/passes.h"
#include "runtime/model/choose.h"
#include "runtime/model/model.h"
#include "runtime/model/space.h"
#include "test/unit/text_fixture.h"
#include "tile/build.h"
#include "tile/compile.h"

static const tile_device *h200(void) {
    static tile_device device;
    device = (tile_device){.target = tile_target_find("sm_90a"), .num_sms = 132};
    return &device;
}

/* The value that the bindings give to a parameter whose name ends like this; "" if there is none.
 */
static const char *find(const tile_binding *bindings, unsigned count, const char *end) {
    const char *value = "";
    for (unsigned i = 0; bindings && i < count; i++) {
        const size_t length = strlen(bindings[i].name), own = strlen(end);
        if (length >= own && strcmp(bindings[i].name + length - own, end) == 0)
            value = bindings[i].value;
    }
    return value;
}

/* Rows and columns are reduced, so that one of both is exchanged by all warps. Their buffer does
 * not fit beside the stages of the larger tile, which the model does not know. */
static const char crossed[] =
    "kernel @k<bm: int, bn: int, stages: int>(%m: i32 {divisible = 8}, %n: i32 {divisible = 8},\n"
    "    %k: i32 {divisible = 8}, %a: view<f16[%m, %k]>, %b: view<f16[%k, %n]>,\n"
    "    %c: view<f16[%m, %n]>)\n"
    "    tune (bm, bn) in [(256, 128), (128, 128)] tune stages in [4]\n"
    "    grid [ceildiv(%m, bm), ceildiv(%n, bn)] warps 8 persistent\n"
    "{\n"
    "  %x, %y = block_id\n"
    "  %sa = alloc_shared : shared<f16[bm, 64]>\n"
    "  %sb = alloc_shared : shared<f16[64, bn]>\n"
    "  %zero = 0.0 : tile<f32[bm, bn]>\n"
    "  %sum = for %i = 0 to %k step 64 iter (%s = %zero) pipelined (stages) {\n"
    "    copy %a[%x * bm, %i], %sa\n"
    "    copy %b[%i, %y * bn], %sb\n"
    "    %t = dot(%sa, %sb, %s)\n"
    "    yield %t\n"
    "  }\n"
    "  %p = %sum - reduce_max(%sum, axis = 0)\n"
    "  %q = %p * rsqrt(reduce_add(%p * %p, axis = 1) + 1.0)\n"
    "  store f16(%q), %c[%x * bm, %y * bn]\n"
    "}\n";

static bool fits(const tile_module *module, const tile_binding *bindings, unsigned count,
                 tile_arena *arena) {
    return !tile_point_fault(tile_module_find(module, "k"),
                             tune_make_options(bindings, count, arena), count, h200()->target,
                             arena);
}

Test(tune_statistics, points_that_do_not_fit_are_passed_over) {
    text_fixture x;
    text_open(&x);
    const int64_t sizes[] = {8192, 8192, 8192, 0, 0, 0};
    tile_module *module = text_parse(&x, crossed);
    unsigned count = 0;
    cr_assert(module, "%s", x.messages);
    const tile_binding *bindings =
        tune_choose_point(h200(), module, "k", NULL, 0, sizes, &x.arena, &count);
    cr_expect_str_eq(find(bindings, count, "bm"), "256");
    cr_expect_not(fits(module, bindings, count, &x.arena));
    bindings = tune_choose_fitting_point(h200(), module, "k", NULL, 0, sizes, &x.arena, &count);
    cr_expect_str_eq(find(bindings, count, "bm"), "128");
    cr_expect(fits(module, bindings, count, &x.arena));
    tile_module_destroy(module);
    text_close(&x);
}

/* Schedules the compute, and returns the chosen value of a parameter. */
static const char *choose(const char *text, const char *compute, const char *parameter) {
    static char value[32];
    text_fixture x;
    text_open(&x);
    const int64_t sizes[16] = {0};
    tile_module *module = text_parse(&x, text);
    unsigned given = 0, count = 0;
    const char *name;
    cr_assert(module, "%s", x.messages);
    cr_assert_eq(tile_schedule(module, compute, h200()->target, NULL, &given, &name), TILE_OK, "%s",
                 x.messages);
    const tile_binding *bindings =
        tune_choose_point(h200(), module, name, NULL, 0, sizes, &x.arena, &count);
    snprintf(value, sizeof value, "%s", find(bindings, count, parameter));
    tile_module_destroy(module);
    text_close(&x);
    return value;
}

static const char products[] =
    "compute @two(%x: tensor<f16[16384, 2048]>, %w: tensor<f16[2048, 4096]>,\n"
    "    %v: tensor<f16[4096, 1024]>) -> (%y: tensor<f32[16384, 1]>) {\n"
    "  %h = f16(matmul(%x, %w) : f32)\n"
    "  %y = reduce_add(exp(matmul(%h, %v) : f32), axis = 1)\n"
    "}\n"
    "compute @norm(%x: tensor<f16[1024, 8192]>, %w: tensor<f16[8192, 8192]>,\n"
    "    %s: tensor<f16[8192]>) -> (%y: tensor<f16[1024, 8192]>) {\n"
    "  %g = reshape(matmul(%x, %w) : f32) : [1024, 256, 32]\n"
    "  %c = %g - reduce_add(%g, axis = 2) / 32.0\n"
    "  %n = f16(reshape(%c * rsqrt(reduce_add(%c * %c, axis = 2) / 32.0 + 1.0e-5)) "
    ": [1024, 8192])\n"
    "  %t = %n * (1.0 / (1.0 + exp(-%n))) * %s\n"
    "  %y = %t * (1.0 / (1.0 + exp(-%t)))\n"
    "}\n"
    "compute @plain(%x: tensor<f16[1024, 8192]>, %w: tensor<f16[8192, 8192]>,\n"
    "    %s: tensor<f16[8192]>) -> (%y: tensor<f16[1024, 8192]>) {\n"
    "  %y = f16((matmul(%x, %w) : f32) + f32(%s))\n"
    "}\n";

/* The second product reduces its rows, and has other points than the first one. Its first point is
 * a tile of 128 x 128 for 4 warps, which takes 292 us instead of about 170 (H200). */
Test(tune_statistics, products_of_a_plan_have_their_own_points) {
    cr_expect_str_eq(choose(products, "two", "_2_num_warps"), "8");
    cr_expect_str_eq(choose(products, "two", "_2_stages"), "4");
}

/* Groups of warps that alternate between tiles hide the epilogue: a group norm and two activations
 * take 187 us in turns, and 191 if both groups share tiles of 256 x 128 (H200). */
Test(tune_statistics, long_epilogues_run_beside_products) {
    cr_expect_str_eq(choose(products, "norm", "consumers"), "ping_pong");
    cr_expect_str_eq(choose(products, "plain", "consumers"), "cooperative");
}
