/* Computes through the library: launched as kernels, compiled to PTX, and their errors. */
#include <criterion/criterion.h>
#include <string.h>

#include "test/unit/text_fixture.h"
#include "tile/compile.h"
#include "tile/device.h"

static const char text[] =
    "compute @scaled<n: dim, T: type>(%x: tensor<T[n]>, %s: f32) -> (%y: tensor<T[n]>) {\n"
    "  %y = T(f32(%x) * %s)\n"
    "}\n"
    "compute @softmax<m: dim, n: dim>(%x: tensor<f32[m, n]>) -> (%y: tensor<f32[m, n]>) {\n"
    "  %e = exp(%x - reduce_max(%x, axis = 1))\n"
    "  %y = %e / reduce_add(%e, axis = 1)\n"
    "}\n";

static const char numbered[] =
    "compute @rows<m: dim, d: int = 64, e: int>(%x: tensor<f32[m, d]>, %z: tensor<f32[m, e]>)\n"
    "    -> (%y: tensor<f32[m, 1]>) {\n"
    "  %y = reduce_add(%x, axis = 1) + reduce_add(%z, axis = 1)\n"
    "}\n";

static tile_module *parse(text_fixture *x) {
    text_open(x);
    tile_module *module = tile_module_parse(x->context, "computes", text, strlen(text));
    cr_assert(module, "%s", x->messages);
    return module;
}

Test(schedule, a_kernel_of_a_compute_is_launched) {
    text_fixture x;
    tile_module *module = parse(&x);
    tile_device *device;
    tile_kernel *kernel;
    const tile_binding type = {"T", "f32"};
    float in[5] = {1, -2, 3, 0.5f, 8}, out[5] = {0};
    tile_argument arguments[4] = {{.integer = 5}, {.buffer = NULL}, {.number = 2}};
    cr_assert_eq(tile_device_create_cpu(x.context, NULL, &device), TILE_OK);
    cr_assert_eq(tile_kernel_create(device, module, "scaled", &type, 1, &kernel), TILE_OK, "%s",
                 x.messages);
    for (unsigned i = 1; i < 4; i += 2)
        cr_assert_eq(tile_buffer_create(device, sizeof in, &arguments[i].buffer), TILE_OK);
    cr_assert_eq(tile_buffer_write(arguments[1].buffer, 0, in, sizeof in), TILE_OK);
    cr_assert_eq(tile_kernel_launch(kernel, arguments, 4, NULL), TILE_OK, "%s", x.messages);
    cr_assert_eq(tile_buffer_read(arguments[3].buffer, 0, out, sizeof out), TILE_OK);
    for (unsigned i = 0; i < 5; i++) cr_expect_eq(out[i], 2 * in[i]);
    tile_buffer_destroy(arguments[1].buffer);
    tile_buffer_destroy(arguments[3].buffer);
    tile_kernel_destroy(kernel);
    tile_device_destroy(device);
    tile_module_destroy(module);
    text_close(&x);
}

Test(schedule, a_compute_becomes_ptx) {
    text_fixture x;
    tile_module *module = parse(&x);
    const tile_emit_options options = {.size = sizeof options,
                                       .target = tile_target_find("sm_90a")};
    tile_blob ptx;
    cr_assert_eq(tile_compile(module, "softmax", NULL, 0, &options, &ptx, NULL), TILE_OK, "%s",
                 x.messages);
    cr_expect(strstr(ptx.data, ".entry softmax_kernel"));
    tile_blob_destroy(&ptx);
    tile_module_destroy(module);
    text_close(&x);
}

Test(schedule, bindings_that_are_left_are_the_kernels) {
    text_fixture x;
    tile_module *module = parse(&x);
    tile_binding bindings[] = {{"T", "f16"}, {"block", "512"}, {"n", "77"}};
    unsigned count = 3;
    const char *name;
    cr_assert_eq(tile_schedule(module, "scaled", NULL, bindings, &count, &name), TILE_OK, "%s",
                 x.messages);
    cr_expect_str_eq(name, "scaled_kernel");
    cr_expect_eq(count, 1);
    cr_expect_str_eq(bindings[0].name, "block");
    cr_expect_str_eq(tile_function_reference(tile_module_find(module, name)), "scaled");
    tile_module_destroy(module);
    text_close(&x);
}

Test(schedule, a_number_by_default_is_taken_where_none_is_given) {
    text_fixture x;
    text_open(&x);
    tile_module *module = tile_module_parse(x.context, "numbered", numbered, strlen(numbered));
    cr_assert(module, "%s", x.messages);
    const tile_function *rows = tile_module_find(module, "rows");
    cr_expect(tile_function_has_number(rows, "d"));
    cr_expect_not(tile_function_has_number(rows, "m"));
    cr_expect_not(tile_function_has_number(rows, "e"));
    cr_expect_not(tile_function_has_number(rows, "nobody"));
    cr_expect_not(tile_function_has_number(rows, NULL));
    cr_expect_not(tile_function_has_number(NULL, "d"));
    unsigned none = 0, one = 1;
    tile_binding given = {"d", "32"};
    const char *name;
    cr_assert_eq(tile_schedule(module, "rows", NULL, NULL, &none, &name), TILE_OK, "%s",
                 x.messages);
    const tile_function *made = tile_module_find(module, name);
    cr_expect_str_eq(tile_function_arg_name(made, 0), "m");
    cr_expect_str_eq(tile_function_arg_name(made, 1), "e");
    cr_expect_str_eq(tile_function_arg_name(made, 2), "x");
    cr_assert_eq(tile_function_arg_type(made, 2)->dims[1]->integer, 64);
    cr_assert_eq(tile_schedule(module, "rows", NULL, &given, &one, &name), TILE_OK, "%s",
                 x.messages);
    made = tile_module_find(module, name);
    cr_assert_eq(tile_function_arg_type(made, 2)->dims[1]->integer, 32);
    tile_module_destroy(module);
    text_close(&x);
}

Test(schedule, what_is_no_compute_or_is_open_is_refused) {
    text_fixture x;
    tile_module *module = parse(&x);
    unsigned count = 0;
    const char *name = "";
    cr_expect_eq(tile_schedule(module, "nobody", NULL, NULL, &count, &name), TILE_INVALID);
    cr_expect_null(name);
    cr_expect(strstr(x.messages, "there is no compute @nobody"), "%s", x.messages);
    cr_expect_eq(tile_schedule(NULL, "scaled", NULL, NULL, &count, &name), TILE_INVALID);
    cr_expect_eq(tile_schedule(module, NULL, NULL, NULL, &count, &name), TILE_INVALID);
    cr_expect_eq(tile_schedule(module, "scaled", NULL, NULL, &count, &name), TILE_INVALID);
    cr_expect(strstr(x.messages, "the element type 'T' has no value"), "%s", x.messages);
    tile_binding barrier[] = {{"T", "barrier"}}, twice[] = {{"T", "f16"}, {"n", "4"}, {"n", "5"}};
    count = 1;
    cr_expect_eq(tile_schedule(module, "scaled", NULL, barrier, &count, &name), TILE_INVALID);
    cr_expect(strstr(x.messages, "'T' is an element type, such as f16, not 'barrier'"), "%s",
              x.messages);
    count = 3;
    cr_expect_eq(tile_schedule(module, "scaled", NULL, twice, &count, &name), TILE_INVALID);
    cr_expect(strstr(x.messages, "'n' of @scaled is given twice"), "%s", x.messages);
    cr_expect_null(name);
    tile_module_destroy(module);
    text_close(&x);
}
