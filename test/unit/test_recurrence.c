/* Loops of computes: built by the C builder, and run at level 1. */
#include "test/unit/text_fixture.h"
#include "tile/build.h"
#include "tile/compute.h"

enum { STEPS = 5, WIDTH = 3 };

/* compute @sums(%x: tensor<f32[5, 3]>) -> (%all: tensor<f32[5, 3]>, %last: tensor<f32[1, 3]>): all
 * sums of the first rows. */
static tile_function *build_sums(tile_context *context, tile_module *module) {
    const int64_t all[] = {STEPS, WIDTH}, one[] = {1, WIDTH};
    const tile_type *whole = tile_type_tensor(context, TILE_f32, 2, all),
                    *row = tile_type_tensor(context, TILE_f32, 2, one);
    tile_function *f = tile_function_create(module, TILE_COMPUTE, "sums", (tile_loc){0, 0, 0});
    tile_value x = tile_function_add_arg(f, "x", whole);
    tile_function_add_result(f, "all", whole);
    tile_function_add_result(f, "last", row);
    tile_builder b = tile_builder_at_end(f, tile_function_body(f));
    tile_value zero = tile_build_int(&b, 0);
    tile_value nothing = tile_build_float(&b, 0);
    const tile_value inits[] = {tile_build_splat(&b, nothing, whole),
                                tile_build_splat(&b, nothing, row)};
    tile_op loop =
        tile_build_for_loop(&b, zero, tile_build_int(&b, STEPS), tile_build_int(&b, 1), inits, 2);
    tile_region body = tile_op_region(f, loop, 0);
    tile_builder in = tile_builder_at_end(f, body);
    const tile_value t = tile_region_arg(f, body, 0), first[] = {t, zero};
    tile_value part = tile_build_slice(&in, x, first, 2, (tile_value){0}, row);
    tile_value sum = tile_build_add(&in, tile_region_arg(f, body, 2), part);
    const tile_value next[] = {
        tile_build_insert_slice(&in, sum, tile_region_arg(f, body, 1), first, 2), sum};
    tile_build_yield(&in, next, 2);
    tile_function_set_result(f, 0, tile_op_result(f, loop, 0));
    tile_function_set_result(f, 1, tile_op_result(f, loop, 1));
    return f;
}

Test(recurrence, a_loop_of_the_builder_runs_and_prints) {
    text_fixture x;
    float in[STEPS * WIDTH], all[STEPS * WIDTH], last[WIDTH], sum[WIDTH] = {0};
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    tile_function *f = build_sums(x.context, module);
    cr_assert_eq(tile_function_verify(f), TILE_OK, "%s", x.messages);
    for (int i = 0; i < STEPS * WIDTH; i++) in[i] = (float)(i * i % 11);
    const tile_compute_array input = {TILE_f32, 2, {STEPS, WIDTH}, in};
    const tile_compute_array outputs[] = {{TILE_f32, 2, {STEPS, WIDTH}, all},
                                          {TILE_f32, 2, {1, WIDTH}, last}};
    cr_assert_eq(tile_compute_run(f, &input, 1, outputs, 2), TILE_OK, "%s", x.messages);
    for (int t = 0; t < STEPS; t++)
        for (int i = 0; i < WIDTH; i++) {
            sum[i] += in[t * WIDTH + i];
            cr_assert_eq(all[t * WIDTH + i], sum[i]);
        }
    cr_assert_arr_eq(last, sum, sizeof last);
    tile_module_destroy(module);
    text_close(&x);
}

Test(recurrence, a_part_outside_of_its_tensor_is_an_error) {
    static const char text[] =
        "compute @f(%x: tensor<f32[5, 3]>, %row: tensor<f32[1, 3]>) -> (%y: tensor<f32[5, 3]>) {\n"
        "  %y = for %t = 0 to 6 iter (%y = %x) { yield insert_slice(%row, %y, [%t, 0]) }\n"
        "}\n";
    text_fixture x;
    float in[STEPS * WIDTH] = {0}, row[WIDTH] = {0}, out[STEPS * WIDTH];
    text_open(&x);
    tile_module *module = tile_module_parse(x.context, "text", text, strlen(text));
    cr_assert(module, "%s", x.messages);
    const tile_compute_array inputs[] = {{TILE_f32, 2, {STEPS, WIDTH}, in},
                                         {TILE_f32, 2, {1, WIDTH}, row}};
    const tile_compute_array output = {TILE_f32, 2, {STEPS, WIDTH}, out};
    cr_assert_eq(tile_compute_run(tile_module_function(module, 0), inputs, 2, &output, 1),
                 TILE_INVALID);
    cr_assert(strstr(x.messages, "insert_slice: the part of 1 elements begins at 5 of a dim of 5"),
              "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

/* Iterations that yield the carried values in another order, values from outside, and nothing that
 * the loop computes. */
Test(recurrence, carried_values_change_places) {
    static const char text[] =
        "compute @f<n: int>(%x: tensor<f32[1]>, %y: tensor<f32[1]>, %z: tensor<f32[1]>)\n"
        "    -> (%a: tensor<f32[1]>, %b: tensor<f32[1]>, %c: tensor<f32[1]>) {\n"
        "  %a, %b, %c, %d = for %t = 0 to n iter (%a = %x, %b = %y, %c = %z, %d = %x) {\n"
        "    yield %b, %c, %a, %z\n"
        "  }\n"
        "}\n";
    text_fixture x;
    float in[3] = {1, 2, 3}, out[3];
    tile_compute_array inputs[3], outputs[3];
    text_open(&x);
    tile_module *module = tile_module_parse(x.context, "text", text, strlen(text));
    cr_assert(module, "%s", x.messages);
    for (unsigned i = 0; i < 3; i++) {
        inputs[i] = (tile_compute_array){TILE_f32, 1, {1}, &in[i]};
        outputs[i] = (tile_compute_array){TILE_f32, 1, {1}, &out[i]};
    }
    for (int n = 0; n < 5; n++) {
        const tile_compute_value steps = {.name = "n", .number = n};
        cr_assert_eq(tile_compute_run_with(tile_module_function(module, 0), &steps, 1, inputs, 3,
                                           outputs, 3),
                     TILE_OK, "%s", x.messages);
        for (int i = 0; i < 3; i++) cr_assert_eq(out[i], in[(i + n) % 3]);
    }
    tile_module_destroy(module);
    text_close(&x);
}
