/* Plans built from C are the same as from text; what has no text form is refused. */
#include "test/unit/text_fixture.h"
#include "tile/build.h"
#include "tile/compile.h"

static const tile_loc nowhere = {0, 0, 0};

static tile_function *add_kernel(tile_module *module) {
    tile_context *context = tile_module_context(module);
    tile_function *kernel = tile_function_create(module, TILE_KERNEL, "k", nowhere);
    const tile_expr *one = tile_expr_int(context, 1), *split = tile_expr_param(context, "split");
    tile_function_add_param(kernel, "split", TILE_PARAM_int, NULL, NULL);
    tile_function_add_arg(kernel, "n", tile_type_scalar(context, TILE_i32));
    tile_function_add_arg(kernel, "w", tile_type_ptr(context, TILE_f32));
    tile_function_set_grid(kernel, 1, &split);
    tile_function_set_warps(kernel, one);
    return kernel;
}

/* plan @p<split>(%n) { %w = scratch [%n]; fill %w, 0; launch @k<split = split * 2>(%n, %w) } */
static tile_function *add_plan(tile_module *module, tile_op *launch) {
    tile_context *context = tile_module_context(module);
    tile_function *plan = tile_function_create(module, TILE_PLAN, "p", nowhere);
    const int64_t unknown = -1;
    tile_function_add_param(plan, "split", TILE_PARAM_int, NULL, NULL);
    tile_value n = tile_function_add_arg(plan, "n", tile_type_scalar(context, TILE_i32));
    tile_builder b = tile_builder_at_end(plan, tile_function_body(plan));
    tile_value w = tile_build_scratch(&b, &n, 1, tile_type_view(context, TILE_f32, 1, &unknown));
    tile_build_fill(&b, w, tile_build_float(&b, 0));
    const tile_value arguments[] = {n, w};
    const tile_param_value twice = {.name = "split",
                                    .expr = tile_expr_op(context, TILE_OP_mul,
                                                         tile_expr_param(context, "split"),
                                                         tile_expr_int(context, 2), NULL)};
    *launch = tile_build_launch(&b, "k", &twice, 1, arguments, 2);
    return plan;
}

static void append(const char *text, size_t length, void *user) {
    strncat(user, text, length);
}

Test(plan, is_built_and_instantiated) {
    text_fixture x;
    char text[2048] = "";
    tile_op launch;
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    tile_function *plan = add_plan(module, &launch);
    add_kernel(module);
    cr_assert_eq(tile_function_level(plan), 0);
    cr_assert_eq(tile_module_verify(module), TILE_OK, "%s", x.messages);
    tile_module *copy = tile_module_clone(module);
    const tile_binding binding = {"split", "3"};
    cr_assert_eq(tile_instantiate(copy, "p", &binding, 1), TILE_OK, "%s", x.messages);
    tile_function_print(tile_module_find(copy, "p"), append, text);
    cr_expect_str_eq(text, "plan @p(%n: i32)\n{\n  %0 = scratch [%n] : view<f32[?]>\n"
                           "  fill %0, 0.0\n  launch @p_k(%n, %0)\n}\n");
    text[0] = 0;
    tile_function_print(tile_module_find(copy, "p_k"), append, text);
    cr_expect(strstr(text, "grid [6]"), "%s", text);
    tile_module_destroy(copy);
    text[0] = 0;
    tile_function_print(plan, append, text); /* the original has not changed */
    cr_expect(strstr(text, "launch @k<split = split * 2>(%n, %0)"), "%s", text);
    tile_module_destroy(module);
    text_close(&x);
}

Test(plan, what_does_not_fit_is_refused) {
    text_fixture x;
    tile_op launch;
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    tile_function *plan = add_plan(module, &launch);
    cr_expect_eq(tile_module_verify(module), TILE_INVALID);
    cr_expect(strstr(x.messages, "there is no kernel @k"), "%s", x.messages);
    tile_function_set_warps(plan, tile_expr_int(x.context, 4));
    cr_expect_eq(tile_function_verify(plan), TILE_INVALID);
    cr_expect(strstr(x.messages, "a plan cannot have results or a kernel's clauses"), "%s",
              x.messages);
    tile_op_set_text(plan, launch, TILE_ATTR_callee, NULL);
    cr_expect_eq(tile_function_verify(plan), TILE_INVALID);
    cr_expect_null(tile_function_create(module, (tile_function_kind)7, "q", nowhere));
    cr_expect(strstr(x.messages, "@q has no valid kind of function"), "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}
