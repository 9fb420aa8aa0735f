/* Points that launches of computes take: chosen by the model among those that attributes allow. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/model/choose.h"
#include "test/unit/text_fixture.h"
#include "tile/compile.h"

static const char text[] =
    "compute @conv<n: dim, h: dim, w: dim, c: dim, k: dim>(\n"
    "    %x: tensor<f16[n, h, w, c]>, %f: tensor<f16[9 * c, k]>) -> (%y: tensor<f16[n, h, w, k]>) "
    "{\n"
    "  %v = window %x, [1, 1], [1, 1] {axis = 1} : [n, h, w, 3, 3, c]\n"
    "  %m = matmul((reshape(%v) : [n * h * w, 9 * c]), %f) : f32\n"
    "  %y = f16(reshape(%m) : [n, h, w, k])\n"
    "}\n"
    "compute @nchw<n: dim, h: dim, w: dim, c: dim, k: dim>(\n"
    "    %x: tensor<f16[n, c, h, w]>, %f: tensor<f16[k, 9 * c]>) -> (%y: tensor<f16[n, k, h, w]>) "
    "{\n"
    "  %v = window %x, [1, 1], [1, 1] {axis = 2} : [n, c, h, w, 3, 3]\n"
    "  %t = transpose %v {order = [0, 1, 4, 5, 2, 3]}\n"
    "  %m = matmul(%f, (reshape(%t) : [n, 9 * c, h * w])) : f32\n"
    "  %y = f16(reshape(%m) : [n, k, h, w])\n"
    "}\n"
    "compute @place<m: dim, n: dim>(%x: tensor<f32[m, n]>)\n"
    "    -> (%y: tensor<f32[1, n]>, %i: tensor<i32[1, n]>) {\n"
    "  %y, %i = reduce_arg_max %x {axis = 0}\n"
    "}\n"
    "compute @bits<m: dim, n: dim>(%x: tensor<i32[m, n]>) -> (%y: tensor<i32[m, 1]>) {\n"
    "  %y = reduce_xor(%x, axis = 1)\n"
    "}\n"
    "compute @said<m: dim, n: dim, k: dim>(%a: tensor<f16[m, k]>, %b: tensor<f16[k, n]>)\n"
    "    -> (%c: tensor<f16[m, n]>) {\n"
    "  %c = f16(matmul(%a, %b, tile = [64, 64], stages = 3) : f32)\n"
    "}\n"
    "compute @parts<m: dim, n: dim>(%x: tensor<f32[m, n]>) -> (%y: tensor<f32[1, n]>) {\n"
    "  %y = reduce_add(%x, axis = 0, split = 5)\n"
    "}\n";

/* Returns the model's value for a parameter at these sizes; -1: the kernel has no such
 * parameter. */
static long choose(text_fixture *x, const char *compute, const char *parameter,
                   const int64_t *sizes) {
    const tile_device device = {.target = tile_target_find("sm_90a"), .num_sms = 132};
    tile_module *module = text_parse(x, text);
    unsigned given = 0, count = 0;
    const char *name;
    long value = -1;
    cr_assert(module, "%s", x->messages);
    cr_assert_eq(tile_schedule(module, compute, device.target, NULL, &given, &name), TILE_OK, "%s",
                 x->messages);
    const tile_binding *bindings =
        tune_choose_point(&device, module, name, NULL, 0, sizes, &x->arena, &count);
    cr_assert(bindings, "%s", compute);
    for (unsigned i = 0; i < count; i++)
        if (strcmp(bindings[i].name, parameter) == 0) value = strtol(bindings[i].value, NULL, 10);
    tile_module_destroy(module);
    return value;
}

/* Few pixels and many channels, as in the last layers of a network. */
Test(schedule_points, sums_of_windows_are_cut_where_tiles_are_few) {
    const int64_t late[] = {1, 7, 7, 512, 512, 0, 0, 0}, early[] = {32, 56, 56, 64, 256, 0, 0, 0};
    text_fixture x;
    text_open(&x);
    cr_expect_gt(choose(&x, "conv", "split", late), 1);
    cr_expect_eq(choose(&x, "conv", "split", early), 1);
    cr_expect_gt(choose(&x, "nchw", "split", late), 1);
    cr_expect_eq(choose(&x, "nchw", "split", early), 1);
    text_close(&x);
}

Test(schedule_points, places_and_bits_are_cut_like_sums) {
    const int64_t columns[] = {65536, 64, 0, 0, 0}, small[] = {37, 50, 0, 0, 0};
    const int64_t row[] = {1, 100000000, 0, 0}, rows[] = {1000000, 128, 0, 0};
    text_fixture x;
    text_open(&x);
    cr_expect_geq(choose(&x, "place", "split", columns), 16);
    cr_expect_eq(choose(&x, "place", "split", small), 1);
    cr_expect_geq(choose(&x, "bits", "split", row), 64);
    cr_expect_eq(choose(&x, "bits", "split", rows), 1);
    text_close(&x);
}

Test(schedule_points, what_attributes_fix_holds) {
    const int64_t large[] = {4096, 4096, 4096, 0, 0, 0}, few[] = {37, 50, 0, 0};
    text_fixture x;
    text_open(&x);
    cr_expect_eq(choose(&x, "said", "block_m", large), 64);
    cr_expect_eq(choose(&x, "said", "block_n", large), 64);
    cr_expect_eq(choose(&x, "said", "stages", large), 3);
    cr_expect_eq(choose(&x, "parts", "split", few), 5);
    text_close(&x);
}
