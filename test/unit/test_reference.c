/* The arrays of a reference: which argument each one is, and the positions of its elements. */
#include "test/unit/text_fixture.h"
#include "tile/compute.h"

static const char text[] =
    "compute @add<m: dim, n: dim>(%x: tensor<f32[m, n]>, %y: tensor<f32[n]>)\n"
    "    -> (%z: tensor<f32[m, n]>) {\n  %z = %x + %y\n}\n"
    "kernel @k(%rows: i32, %z: view<f32[%rows, 8], strides [1, %rows]>, %m: i32, %y: ptr<f32>,\n"
    "    %x: ptr<f32>) of @add<n = 8> grid [1] warps 1 {\n}\n"
    "compute @turned<n: dim>(%x: tensor<f32[2, n, n]>) -> (%y: tensor<f32[2, n, n]>) {\n"
    "  %y = neg %x\n}\n"
    "kernel @cube(%n: i64, %x: ptr<f32>, %y: ptr<f32>) of @turned grid [1] warps 1 {\n}\n"
    "kernel @none(%m: i32) grid [1] warps 1 {\n}\n"
    "kernel @open<p: int>(%m: i32, %x: ptr<f32>, %y: ptr<f32>, %z: ptr<f32>)\n"
    "    of @add<n = p> grid [1] warps 1 {\n}\n"
    "kernel @long(%m: i64, %n: i64, %x: ptr<f32>, %y: ptr<f32>, %z: ptr<f32>)\n"
    "    of @add grid [1] warps 1 {\n}\n";

typedef struct reference_fixture {
    text_fixture text;
    tile_module *module;
    const tile_function *compute;
    tile_compute_array arrays[3];
    unsigned which[3];
    int64_t strides[3][TILE_MAX_RANK];
} reference_fixture;

static tile_status find_shapes(reference_fixture *x, const char *kernel, const int64_t *sizes,
                               unsigned count) {
    x->text.messages[0] = 0;
    x->text.length = 0;
    return tile_reference_shapes(tile_module_find(x->module, kernel), sizes, &x->compute, x->arrays,
                                 x->which, x->strides, count);
}

static void open_fixture(reference_fixture *x) {
    *x = (reference_fixture){.module = NULL};
    text_open(&x->text);
    x->module = text_parse(&x->text, text);
    cr_assert(x->module, "%s", x->text.messages);
}

static void close_fixture(reference_fixture *x) {
    tile_module_destroy(x->module);
    text_close(&x->text);
}

Test(reference, arrays_are_arguments_by_name) {
    reference_fixture x;
    const int64_t sizes[] = {5, 0, 5, 0, 0};
    open_fixture(&x);
    cr_assert_eq(find_shapes(&x, "k", sizes, 3), TILE_OK, "%s", x.text.messages);
    cr_expect_eq(x.compute, tile_module_find(x.module, "add"));
    cr_expect(x.which[0] == 4 && x.which[1] == 3 && x.which[2] == 1);
    cr_expect(x.arrays[0].rank == 2 && x.arrays[0].dims[0] == 5 && x.arrays[0].dims[1] == 8);
    cr_expect(x.arrays[1].rank == 1 && x.arrays[1].dims[0] == 8);
    cr_expect(x.strides[0][0] == 8 && x.strides[0][1] == 1, "a pointer's are row-major");
    cr_expect(x.strides[2][0] == 1 && x.strides[2][1] == 5, "a view says its own");
    close_fixture(&x);
}

Test(reference, what_has_none_is_refused) {
    reference_fixture x;
    const int64_t sizes[] = {5, 5, 0, 0, 0};
    const int64_t below[] = {5, 0, -1, 0, 0}, far[] = {2, INT64_MAX, 0, 0, 0};
    open_fixture(&x);
    cr_expect_eq(find_shapes(&x, "none", sizes, 3), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "@none names no reference"), "%s", x.text.messages);
    cr_expect_eq(find_shapes(&x, "k", sizes, 2), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "another number of arrays"), "%s", x.text.messages);
    cr_expect_eq(find_shapes(&x, "open", sizes, 3), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "instantiate it first"), "%s", x.text.messages);
    cr_expect_eq(find_shapes(&x, "k", below, 3), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "no extents for 'x'"), "%s", x.text.messages);
    cr_expect_eq(find_shapes(&x, "long", far, 3), TILE_OK, "rows of 2^63 - 1: strides fit");
    cr_expect_eq(x.strides[0][0], INT64_MAX);
    cr_expect_eq(find_shapes(&x, "cube", far + 1, 2), TILE_INVALID);
    cr_expect(strstr(x.text.messages, "no strides for 'x'"), "%s", x.text.messages);
    close_fixture(&x);
}
