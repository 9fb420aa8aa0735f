/* Funcs through the C API: building and calling them, inlining, misuse, and what depends on their
 * bodies. The text form is tested by test/text/func.tile. */
#include "lib/builder/inline.h"
#include "lib/builder/builder.h"
#include "lib/support/text.h"
#include "test/unit/text_fixture.h"
#include "tile/artifact.h"
#include "tile/build.h"
#include "tile/compile.h"
#include "tile/compute.h"

static const tile_loc here = {0, 7, 3};

/* func @madd<T: type>(%x: T, %w: T) -> (%y: T) { %y = %x * %w + 1 } */
static tile_function *add_madd(tile_module *module) {
    tile_context *context = tile_module_context(module);
    tile_function *f = tile_function_create(module, TILE_FUNC, "madd", here);
    const tile_type draft = {.kind = TILE_TYPE_SCALAR, .param = "T"};
    tile_function_add_param(f, "T", TILE_PARAM_type, NULL, NULL);
    const tile_type *type = tile_type_get(context, &draft);
    tile_value x = tile_function_add_arg(f, "x", type), w = tile_function_add_arg(f, "w", type);
    tile_function_add_result(f, "y", type);
    tile_builder b = tile_builder_at_end(f, tile_function_body(f));
    tile_value one = tile_build_constant(&b, type, tile_expr_int(context, 1));
    tile_function_set_result(f, 0, tile_build_add(&b, tile_build_mul(&b, x, w), one));
    return f;
}

static tile_function *add_kernel(tile_module *module) {
    tile_context *context = tile_module_context(module);
    tile_function *f = tile_function_create(module, TILE_KERNEL, "k", here);
    const tile_expr *one = tile_expr_int(context, 1);
    tile_function_set_grid(f, 1, &one);
    tile_function_set_warps(f, one);
    return f;
}

static const char *print(text_fixture *x, const tile_module *module) {
    tile_text text = {.arena = &x->arena};
    tile_module_print(module, tile_text_append, &text);
    return text.data;
}

Test(func, builder) {
    static const char whole[] = "func @madd<T: type>(%x: T, %w: T) -> (%y: T)\n"
                                "{\n"
                                "  %0 = mul %x, %w : T\n"
                                "  %y = add %0, T(1) : T\n"
                                "}\n"
                                "\n"
                                "kernel @k(%n: f16)\n"
                                "    grid [1]\n"
                                "    warps 1\n"
                                "{\n"
                                "  %0 = madd(%n, f16(2.0))\n"
                                "  %1 = madd<T = f16>(%0, %n)\n"
                                "}\n";
    text_fixture x;
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    add_madd(module);
    tile_function *kernel = add_kernel(module);
    const tile_type *f16 = tile_type_scalar(x.context, TILE_f16);
    tile_value n = tile_function_add_arg(kernel, "n", f16);
    tile_builder b = tile_builder_at_end(kernel, tile_function_body(kernel));
    tile_value two = tile_build_constant(&b, f16, tile_expr_float(x.context, 2.0));
    tile_op call = tile_build_call(&b, "madd", NULL, 0, (tile_value[]){n, two}, 2);
    tile_value sum = tile_op_result(kernel, call, 0);
    const tile_param_value value = {.name = "T", .type = f16};
    tile_build_call(&b, "madd", &value, 1, (tile_value[]){sum, n}, 2);
    cr_expect_eq(tile_module_verify(module), TILE_OK, "%s", x.messages);
    cr_expect_str_eq(print(&x, module), whole);
    tile_module *again = tile_module_parse(x.context, "again", whole, sizeof whole - 1);
    cr_assert(again, "%s", x.messages);
    cr_expect_str_eq(print(&x, again), whole);
    tile_module_destroy(again);
    cr_expect(tile_inline_calls(kernel));
    cr_expect_eq(tile_module_verify(module), TILE_OK, "%s", x.messages);
    cr_expect_null(strstr(strstr(print(&x, module), "kernel"), "madd("));
    tile_module_destroy(module);
    text_close(&x);
}

/* As other operations apply a func: on values of any shape, with results as values. */
Test(func, inline_func) {
    text_fixture x;
    text_open(&x);
    tile_context_add_source(x.context, "text", "", 0);
    tile_module *module = tile_module_create(x.context);
    const tile_function *madd = add_madd(module);
    tile_function *kernel = add_kernel(module);
    tile_builder b = tile_builder_at_end(kernel, tile_function_body(kernel));
    const tile_type *column = tile_type_tile(x.context, TILE_f32, 2, (int64_t[]){8, 1});
    tile_value both[] = {tile_build_zero(&b, column), tile_build_float(&b, 3.0)}, sum;
    b.loc = (tile_loc){0, 20, 5};
    cr_assert(tile_inline_func(&b, madd, NULL, 0, both, 2, &sum), "%s", x.messages);
    cr_expect_eq(tile_value_type(kernel, sum), column);
    cr_expect_eq(tile_op_opcode(kernel, tile_value_op(kernel, sum)), TILE_OP_add);
    cr_expect_eq(tile_module_verify(module), TILE_OK, "%s", x.messages);
    both[1] = tile_build_int(&b, 3);
    cr_expect_not(tile_inline_func(&b, madd, NULL, 0, both, 2, &sum));
    cr_expect(strstr(x.messages, "20:5: error: argument %w of @madd has elements of f32"), "%s",
              x.messages);
    cr_expect(strstr(x.messages, "7:3: note: @madd is defined here"), "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

/* A func that nobody has verified is refused where it is inlined. */
Test(func, invalid_body) {
    static const char *const messages[] = {
        "the body of @madd is invalid", "@madd calls itself", "the callee is missing",
        "there is no func @mad; did you mean '@madd'?", "@k is a kernel and cannot be called"};
    for (unsigned i = 0; i < sizeof messages / sizeof *messages; i++) {
        text_fixture x;
        text_open(&x);
        tile_module *module = tile_module_create(x.context);
        tile_function *madd = add_madd(module), *kernel = add_kernel(module);
        tile_builder in = tile_builder_at_end(madd, tile_function_body(madd));
        tile_builder b = tile_builder_at_end(kernel, tile_function_body(kernel));
        tile_value both[] = {tile_build_float(&b, 1.0), tile_build_float(&b, 2.0)}, result;
        tile_value own[] = {tile_function_arg(madd, 0), tile_function_arg(madd, 1)};
        const tile_segment segment = {{0}, both, 2};
        if (i == 0) tile_build_block_id(&in);
        if (i == 1) tile_build_call(&in, "madd", NULL, 0, own, 2);
        if (i < 2) cr_expect_not(tile_inline_func(&b, madd, NULL, 0, both, 2, &result));
        if (i < 2) cr_expect_eq(tile_module_verify(module), TILE_INVALID);
        if (i == 2) cr_expect_eq(tile_build_op(&b, TILE_OP_call, &segment, 1, NULL).id, 0);
        if (i > 2) cr_expect_eq(tile_build_call(&b, i == 3 ? "mad" : "k", NULL, 0, both, 2).id, 0);
        cr_expect(strstr(x.messages, messages[i]), "%s", x.messages);
        tile_module_destroy(module);
        text_close(&x);
    }
}

/* A value that the caller does not have. */
Test(func, invalid_value) {
    text_fixture x;
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    tile_function *f = tile_function_create(module, TILE_FUNC, "f", here);
    tile_function_add_param(f, "n", TILE_PARAM_int, NULL, NULL);
    tile_function_add_result(f, "y", tile_type_scalar(x.context, TILE_i32));
    tile_builder in = tile_builder_at_end(f, tile_function_body(f));
    tile_function_set_result(f, 0, tile_build_int(&in, 1));
    tile_function *kernel = add_kernel(module);
    tile_builder b = tile_builder_at_end(kernel, tile_function_body(kernel));
    const tile_param_value value = {.name = "n", .expr = tile_expr_param(x.context, "m")};
    tile_build_call(&b, "f", &value, 1, NULL, 0);
    cr_expect_eq(tile_module_verify(module), TILE_INVALID);
    cr_expect(strstr(x.messages, "the value of 'n' may depend on compile-time parameters of @k"),
              "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

/* A func that has more results than other operations may have. */
Test(func, many_results) {
    text_fixture x;
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    tile_function *f = tile_function_create(module, TILE_FUNC, "copies", here);
    const tile_type *f32 = tile_type_scalar(x.context, TILE_f32);
    tile_value arg = tile_function_add_arg(f, "x", f32);
    for (unsigned i = 0; i < 40; i++) {
        tile_function_add_result(f, tile_arena_format(&x.arena, "y%u", i), f32);
        tile_function_set_result(f, i, arg);
    }
    tile_function *kernel = add_kernel(module);
    tile_builder b = tile_builder_at_end(kernel, tile_function_body(kernel));
    tile_value one = tile_build_float(&b, 1.0);
    tile_op call = tile_build_call(&b, "copies", NULL, 0, &one, 1);
    cr_expect_eq(tile_op_result_count(kernel, call), 40);
    tile_build_neg(&b, tile_op_result(kernel, call, 39));
    cr_expect_eq(tile_module_verify(module), TILE_OK, "%s", x.messages);
    cr_expect(tile_inline_calls(kernel));
    cr_expect_eq(tile_module_verify(module), TILE_OK, "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

/* The key of a kernel that has not been instantiated follows from the bodies of its funcs. */
Test(func, artifact_key) {
    static const char text[] = "func @f(%x: f32) -> (%y: f32) { %y = %x * 2.0 }\n"
                               "kernel @k(%x: view<f32[8]>) grid [1] warps 1 {\n"
                               "  store f(load %x[0] : [8]), %x[0]\n}\n";
    const tile_build_options options = {
        .size = sizeof options, .target = tile_target_find("sm_80"), .wants = TILE_WANT_PTX};
    tile_artifact_key keys[2];
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < 2; i++) {
        char *copy = tile_arena_string(&x.arena, text, sizeof text - 1);
        strstr(copy, "2.0")[0] = i ? '3' : '2';
        tile_module *module = tile_module_parse(x.context, "text", copy, sizeof text - 1);
        cr_assert(module, "%s", x.messages);
        cr_assert_eq(tile_artifact_make_key(module, "k", &options, &keys[i]), TILE_OK);
        tile_module_destroy(module);
    }
    cr_expect_neq(strcmp(keys[0].text, keys[1].text), 0);
    text_close(&x);
}

/* Level 1 inlines a copy: the compute keeps its calls. */
Test(func, level_1) {
    static const char text[] =
        "compute @c(%x: tensor<f32[3]>) -> (%y: tensor<f32[3]>) { %y = f(%x, 10.0) - 1.0 }\n"
        "func @f(%x: f32, %w: f32) -> (%y: f32) { %y = g(%x) + %w }\n"
        "func @g(%x: f32) -> (%y: f32) { %y = %x * %x }\n";
    text_fixture x;
    text_open(&x);
    tile_module *module = tile_module_parse(x.context, "text", text, sizeof text - 1);
    cr_assert(module, "%s", x.messages);
    const char *before = print(&x, module);
    float in[] = {1, 2, 3}, out[3] = {0};
    const tile_compute_array array = {TILE_f32, 1, {3}, in}, result = {TILE_f32, 1, {3}, out};
    const tile_function *c = tile_module_find(module, "c");
    cr_assert_eq(tile_compute_run(c, &array, 1, &result, 1), TILE_OK, "%s", x.messages);
    for (unsigned i = 0; i < 3; i++) cr_expect_eq(out[i], in[i] * in[i] + 9);
    cr_expect_str_eq(print(&x, module), before);
    tile_module_destroy(module);
    text_close(&x);
}
