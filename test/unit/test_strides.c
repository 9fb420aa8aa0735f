/* Computes whose arguments and results have strides, built and launched through the C API. */
#include <criterion/criterion.h>
#include <string.h>

#include "test/unit/text_fixture.h"
#include "tile/build.h"
#include "tile/compute.h"
#include "tile/device.h"
#include "tile/strides.h"

enum { M = 3, N = 4, PITCH = 6 };

typedef struct fixture {
    text_fixture text;
    tile_device *device;
    tile_module *module;
    tile_kernel *kernel;
} fixture;

/* y = x + x, where x has rows of PITCH elements and y is stored transposed. */
static tile_function *build(fixture *t) {
    const int64_t dims[] = {M, N};
    tile_context *context = t->text.context;
    t->module = tile_module_create(context);
    tile_function *f =
        tile_function_create(t->module, TILE_COMPUTE, "twice", (tile_loc){.line = 1});
    const tile_type *type = tile_type_tensor(context, TILE_f32, 2, dims);
    tile_value x = tile_function_add_arg(f, "x", type);
    tile_function_add_result(f, "y", type);
    const tile_expr *one = tile_expr_int(context, 1);
    const tile_expr *rows[] = {tile_expr_int(context, PITCH), one};
    const tile_expr *columns[] = {one, tile_expr_int(context, M)};
    tile_function_set_arg_strides(f, 0, rows);
    tile_function_set_result_strides(f, 0, columns);
    tile_builder b = tile_builder_at_end(f, tile_function_body(f));
    tile_function_set_result(f, 0, tile_build_add(&b, x, x));
    cr_assert_eq(tile_module_verify(t->module), TILE_OK, "%s", t->text.messages);
    return f;
}

static void open_fixture(fixture *t) {
    text_open(&t->text);
    build(t);
    const tile_device_options options = {.size = sizeof options};
    cr_assert_eq(tile_device_create_cpu(t->text.context, &options, &t->device), TILE_OK);
    cr_assert_eq(tile_kernel_create(t->device, t->module, "twice", NULL, 0, &t->kernel), TILE_OK,
                 "%s", t->text.messages);
}

static void close_fixture(fixture *t) {
    tile_kernel_destroy(t->kernel);
    tile_device_destroy(t->device);
    tile_module_destroy(t->module);
    text_close(&t->text);
}

static tile_buffer *make_buffer(fixture *t, unsigned elements) {
    tile_buffer *buffer = NULL;
    float values[M * PITCH];
    for (unsigned i = 0; i < M * PITCH; i++) values[i] = (float)i;
    cr_assert_eq(tile_buffer_create(t->device, elements * sizeof *values, &buffer), TILE_OK);
    cr_assert_eq(tile_buffer_write(buffer, 0, values, elements * sizeof *values), TILE_OK);
    return buffer;
}

/* A buffer ends with the last element: the padding behind it is not needed. */
static tile_status launch(fixture *t, unsigned in, unsigned out, float *result) {
    tile_argument arguments[2] = {{.buffer = make_buffer(t, in)}, {.buffer = make_buffer(t, out)}};
    tile_status status = tile_kernel_launch(t->kernel, arguments, 2, NULL);
    if (status == TILE_OK)
        cr_assert_eq(tile_buffer_read(arguments[1].buffer, 0, result, out * sizeof *result),
                     TILE_OK);
    for (unsigned i = 0; i < 2; i++) tile_buffer_destroy(arguments[i].buffer);
    return status;
}

Test(strides, a_launch_reads_and_writes_by_strides) {
    fixture t;
    float result[M * N];
    open_fixture(&t);
    cr_assert_eq(launch(&t, (M - 1) * PITCH + N, M * N, result), TILE_OK, "%s", t.text.messages);
    for (unsigned i = 0; i < M; i++)
        for (unsigned k = 0; k < N; k++)
            cr_expect_eq(result[k * M + i], 2.0f * (float)(i * PITCH + k));
    close_fixture(&t);
}

Test(strides, a_launch_refuses_a_buffer_that_ends_before_the_last_element) {
    fixture t;
    float result[M * N];
    open_fixture(&t);
    cr_expect_eq(launch(&t, (M - 1) * PITCH + N - 1, M * N, result), TILE_INVALID);
    cr_expect(strstr(t.text.messages, "x"), "%s", t.text.messages);
    cr_expect_eq(launch(&t, M * PITCH, M * N - 1, result), TILE_INVALID);
    close_fixture(&t);
}

/* At level 1 arrays are row-major. */
Test(strides, the_reference_has_no_strides) {
    fixture t;
    float in[M * N], out[M * N];
    text_open(&t.text);
    tile_function *f = build(&t);
    for (unsigned i = 0; i < M * N; i++) in[i] = (float)i;
    const tile_compute_array x = {TILE_f32, 2, {M, N}, in}, y = {TILE_f32, 2, {M, N}, out};
    cr_assert_eq(tile_compute_run(f, &x, 1, &y, 1), TILE_OK, "%s", t.text.messages);
    for (unsigned i = 0; i < M * N; i++) cr_expect_eq(out[i], 2.0f * (float)i);
    tile_module_destroy(t.module);
    text_close(&t.text);
}

Test(strides, queries_compute_row_major_strides) {
    fixture t;
    int64_t stride;
    text_open(&t.text);
    tile_function *f = build(&t);
    cr_assert(tile_expr_is_int(tile_function_arg_stride(f, 0, 0), &stride));
    cr_expect_eq(stride, PITCH);
    cr_assert(tile_expr_is_int(tile_function_result_stride(f, 0, 1), &stride));
    cr_expect_eq(stride, M);
    tile_function_set_result_strides(f, 0, NULL);
    cr_assert(tile_expr_is_int(tile_function_result_stride(f, 0, 0), &stride));
    cr_expect_eq(stride, N);
    cr_expect_null(tile_function_result_stride(f, 0, 2));
    cr_expect_null(tile_function_arg_stride(f, 1, 0));
    tile_module_destroy(t.module);
    text_close(&t.text);
}

Test(strides, the_verifier_reports_strides_that_lack_dims) {
    fixture t;
    text_open(&t.text);
    tile_function *f = build(&t);
    const tile_expr *short_list[] = {tile_expr_int(t.text.context, 1), NULL};
    tile_function_set_arg_strides(f, 0, short_list);
    cr_expect_eq(tile_module_verify(t.module), TILE_INVALID);
    cr_expect(strstr(t.text.messages, "stride 1 of the argument %x"), "%s", t.text.messages);
    tile_module_destroy(t.module);
    text_close(&t.text);
}
