/* Kernels with split sums: their points, single and multiple launches in one kernel, and what is
 * compiled. */
#include "tile/split.h"

#include <criterion/criterion.h>
#include <string.h>

#include "test/unit/text_fixture.h"
#include "tile/artifact.h"
#include "tile/device.h"

static const char sum_text[] =
    "kernel @sum<split: int, strategy: word>(%n: i32, %x: view<f32[%n, 32]>, %y: view<f32[1, "
    "32]>)\n"
    "    tune (split, strategy) in [(1, serial), (3, workspace), (2, serial)]\n"
    "    grid [1] warps 1 {\n"
    "  %all = for %i = 0 to %n iter (%s = 0.0 : tile<f32[1, 32]>) split (split, strategy) {\n"
    "    yield %s + load %x[%i, 0] : [1, 32]\n"
    "  }\n"
    "  store %all, %y[0, 0]\n"
    "}\n"
    "kernel @plain(%n: i32, %x: view<f32[%n, 32]>, %y: view<f32[1, 32]>) grid [1] warps 1 {\n"
    "  %all = for %i = 0 to %n iter (%s = 0.0 : tile<f32[1, 32]>) {\n"
    "    yield %s + load %x[%i, 0] : [1, 32]\n"
    "  }\n"
    "  store %all, %y[0, 0]\n"
    "}\n"
    "kernel @most(%n: i32, %x: view<f32[%n, 32]>, %y: view<f32[1, 32]>) grid [1] warps 1 {\n"
    "  %all = for %i = 0 to %n iter (%s = 0.0 : tile<f32[1, 32]>) {\n"
    "    yield max(%s, load %x[%i, 0] : [1, 32])\n"
    "  }\n"
    "  store %all, %y[0, 0]\n"
    "}\n"
    "kernel @product(%n: i32, %x: view<f32[%n, 32]>, %y: view<f32[1, 32]>) grid [1] warps 1 {\n"
    "  %all = for %i = 0 to %n iter (%s = 0.0 : tile<f32[1, 32]>) {\n"
    "    yield %s * load %x[%i, 0] : [1, 32]\n"
    "  }\n"
    "  store %all, %y[0, 0]\n"
    "}\n";

static const tile_target *target(void) {
    return tile_target_find("sm_90a");
}

static unsigned count_points(const tile_split_point *points, unsigned count, const char *strategy) {
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++)
        found += strcmp(points[i].strategy, strategy) == 0 && points[i].factor > 1;
    return found;
}

Test(split, space_has_what_is_legal) {
    text_fixture x;
    text_open(&x);
    tile_split_point points[TILE_MAX_SPLIT_POINTS];
    tile_module *module = text_parse(&x, sum_text);
    tile_function *plain = tile_module_find(module, "plain");
    unsigned count = tile_split_space(plain, target(), points);
    cr_assert_eq(points[0].factor, 1);
    cr_assert_eq(count_points(points, count, "serial"), 14);
    cr_assert_eq(count_points(points, count, "workspace"), 14);
    cr_assert_eq(count_points(points, count, "exchange"), 14);
    cr_assert_eq(count_points(points, count, "cluster"), 7); /* 2, 3, 4, 6, .. 16 */
    count = tile_split_space(plain, tile_target_find("sm_80"), points);
    cr_assert_eq(count_points(points, count, "cluster"), 0, "clusters begin at sm_90");
    count = tile_split_space(tile_module_find(module, "most"), target(), points);
    cr_assert_eq(count_points(points, count, "serial"), 14);
    cr_assert_eq(count_points(points, count, "atomic"), 0, "it only adds");
    cr_assert_eq(tile_split_space(tile_module_find(module, "product"), target(), points), 1);
    cr_assert_eq(tile_split_space(tile_module_find(module, "sum"), target(), points), 0,
                 "it has parameters");
    cr_assert_eq(tile_split_space(NULL, target(), points), 0);
    cr_assert_str_empty(x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

/* The loop is in the only kernel that has one. If two kernels have one, it is ambiguous. */
Test(split, a_plan_has_the_points_of_its_kernel) {
    static const char plans[] =
        "kernel @one(%n: i32, %x: view<f32[%n, 32]>, %y: view<f32[1, 32]>) grid [1] warps 1 {\n"
        "  %all = for %i = 0 to %n iter (%s = 0.0 : tile<f32[1, 32]>) {\n"
        "    yield %s + load %x[%i, 0] : [1, 32]\n"
        "  }\n"
        "  store %all, %y[0, 0]\n"
        "}\n"
        "kernel @other(%n: i32, %x: view<f32[%n, 32]>, %y: view<f32[1, 32]>) grid [1] warps 1 {\n"
        "  %all = for %i = 0 to %n iter (%s = 0.0 : tile<f32[1, 32]>) {\n"
        "    yield %s - load %x[%i, 0] : [1, 32]\n"
        "  }\n"
        "  store %all, %y[0, 0]\n"
        "}\n"
        "kernel @copied(%x: view<f32[1, 32]>, %y: view<f32[1, 32]>) grid [1] warps 1 {\n"
        "  store load %x[0, 0] : [1, 32], %y[0, 0]\n"
        "}\n"
        "plan @first(%n: i32, %x: view<f32[%n, 32]>, %y: view<f32[1, 32]>, %z: view<f32[1, 32]>) "
        "{\n"
        "  launch @one(%n, %x, %y)\n"
        "  launch @copied(%y, %z)\n"
        "}\n"
        "plan @both(%n: i32, %x: view<f32[%n, 32]>, %y: view<f32[1, 32]>, %z: view<f32[1, 32]>) {\n"
        "  launch @one(%n, %x, %y)\n"
        "  launch @other(%n, %x, %z)\n"
        "}\n"
        "plan @none(%y: view<f32[1, 32]>, %z: view<f32[1, 32]>) {\n"
        "  launch @copied(%y, %z)\n"
        "}\n";
    const tile_split_point point = {4, "serial"};
    text_fixture x;
    text_open(&x);
    tile_split_point points[TILE_MAX_SPLIT_POINTS];
    tile_module *module = text_parse(&x, plans);
    cr_assert(module, "%s", x.messages);
    unsigned count = tile_split_space(tile_module_find(module, "first"), target(), points);
    cr_expect_eq(count_points(points, count, "workspace"), 14);
    cr_expect_eq(tile_split_space(tile_module_find(module, "both"), target(), points), 1);
    cr_expect_eq(tile_split_space(tile_module_find(module, "none"), target(), points), 1);
    cr_assert_str_empty(x.messages);
    cr_expect_eq(tile_split_write(tile_module_find(module, "first"), &point), TILE_OK);
    cr_expect(strstr(text_print(&x, module), "split (4, serial) {"));
    cr_expect_eq(tile_split_write(tile_module_find(module, "both"), &point), TILE_INVALID);
    cr_expect(strstr(x.messages, "several of its kernels have a loop"), "%s", x.messages);
    cr_expect_eq(tile_split_write(tile_module_find(module, "none"), &point), TILE_INVALID);
    cr_expect(strstr(x.messages, "none of its kernels has a loop"), "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

Test(split, a_point_is_written_as_a_clause) {
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, sum_text);
    tile_function *plain = tile_module_find(module, "plain");
    cr_assert_eq(tile_split_write(plain, &(tile_split_point){5, "workspace"}), TILE_OK);
    cr_assert_eq(tile_split_write(plain, &(tile_split_point){7, "serial"}), TILE_OK);
    cr_assert_eq(tile_function_verify(plain), TILE_OK);
    const char *text = text_print(&x, module);
    cr_assert(strstr(text, "split (7, serial) {"), "%s", text);
    cr_assert_eq(tile_split_write(plain, &(tile_split_point){0, "serial"}), TILE_INVALID);
    cr_assert_eq(tile_split_write(plain, &(tile_split_point){2, "fast"}), TILE_INVALID);
    cr_assert(strstr(x.messages, "into 2 parts by the strategy 'fast'"), "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

/* Launches and compares with n rows of ones. */
static void check_sum(tile_kernel *kernel, tile_device *device, int n, const char *messages) {
    float ones[64 * 32], sums[32];
    tile_buffer *x, *y;
    for (int i = 0; i < n * 32; i++) ones[i] = 1;
    cr_assert_eq(tile_buffer_create(device, sizeof *ones * 32 * (size_t)n, &x), TILE_OK);
    cr_assert_eq(tile_buffer_create(device, sizeof sums, &y), TILE_OK);
    tile_buffer_write(x, 0, ones, sizeof *ones * 32 * (size_t)n);
    const tile_argument arguments[] = {{.integer = n}, {.buffer = x}, {.buffer = y}};
    cr_assert_eq(tile_kernel_prepare(kernel, arguments, 3, NULL), TILE_OK, "%s", messages);
    cr_assert_eq(tile_kernel_launch(kernel, arguments, 3, NULL), TILE_OK, "%s", messages);
    tile_buffer_read(y, 0, sums, sizeof sums);
    for (int i = 0; i < 32; i++) cr_assert_eq(sums[i], (float)n);
    tile_buffer_destroy(x);
    tile_buffer_destroy(y);
}

Test(split, points_of_one_kernel_take_one_launch_or_several) {
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, sum_text);
    tile_device *device;
    tile_kernel *kernel;
    const tile_binding steps[] = {{"split", "3"}, {"strategy", "workspace"}};
    const tile_binding chain[] = {{"split", "2"}, {"strategy", "serial"}};
    cr_assert_eq(tile_device_create_cpu(x.context, NULL, &device), TILE_OK);
    cr_assert_eq(tile_kernel_create(device, module, "sum", NULL, 0, &kernel), TILE_OK);
    cr_assert(tile_kernel_abi(kernel));
    const tile_argument few[] = {{.integer = 5}, {NULL, 0, 0, 0}, {NULL, 0, 0, 0}};
    const tile_argument many[] = {{.integer = 40}, {NULL, 0, 0, 0}, {NULL, 0, 0, 0}};
    cr_assert_eq(tile_kernel_set_point(kernel, few, 3, steps, 2), TILE_OK, "%s", x.messages);
    cr_assert_eq(tile_kernel_set_point(kernel, many, 3, chain, 2), TILE_OK, "%s", x.messages);
    check_sum(kernel, device, 5, x.messages);  /* two steps */
    check_sum(kernel, device, 40, x.messages); /* a chain of two blocks */
    check_sum(kernel, device, 17, x.messages); /* no split */
    tile_kernel_destroy(kernel);
    cr_assert_eq(tile_kernel_create(device, module, "sum", steps, 2, &kernel), TILE_OK);
    cr_assert_not(tile_kernel_abi(kernel));
    check_sum(kernel, device, 1, x.messages);
    tile_kernel_destroy(kernel);
    tile_device_destroy(device);
    tile_module_destroy(module);
    text_close(&x);
}

Test(split, artifacts_have_all_kernels_of_the_steps) {
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, sum_text);
    const tile_binding steps[] = {{"split", "3"}, {"strategy", "workspace"}};
    const tile_build_options options = {
        .size = sizeof options, .target = target(), .wants = TILE_WANT_PTX};
    tile_artifact_key before, again;
    tile_artifact *artifact;
    cr_assert_eq(tile_instantiate(module, "sum", steps, 2), TILE_OK);
    cr_assert_eq(tile_artifact_make_key(module, "sum", &options, &before), TILE_OK);
    cr_assert_eq(tile_artifact_make_key(module, "sum", &options, &again), TILE_OK);
    cr_assert_str_eq(before.text, again.text);
    cr_assert_eq(tile_artifact_build(module, "sum", &options, &artifact), TILE_OK, "%s",
                 x.messages);
    cr_assert(tile_artifact_plan(artifact));
    cr_assert_eq(tile_artifact_kernel_count(artifact), 2);
    for (unsigned i = 0; i < 2; i++)
        cr_assert_gt(tile_artifact_kernel_at(artifact, i)->ptx.size, 0);
    tile_artifact_destroy(artifact);
    tile_module_destroy(module);
    text_close(&x);
}
