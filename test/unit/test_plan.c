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

/* kernel @t<block>(%n, %x) tune block in [32, 64]; plan @q(%n, %x) { for %i = 0 to %n { %part =
 * subview %x[%i], [1]; launch @t(%i, %part) } } */
static tile_function *add_loop(tile_module *module) {
    tile_context *context = tile_module_context(module);
    const tile_type *i32 = tile_type_scalar(context, TILE_i32);
    const tile_expr *n = tile_expr_arg(context, 0), *block = tile_expr_param(context, "block");
    const tile_expr *points[] = {tile_expr_int(context, 32), tile_expr_int(context, 64)};
    static const char *const names[] = {"block"};
    tile_function *f[2];
    for (unsigned i = 0; i < 2; i++) {
        f[i] = tile_function_create(module, i ? TILE_PLAN : TILE_KERNEL, i ? "q" : "t", nowhere);
        tile_function_add_arg(f[i], "n", i32);
        tile_function_add_view_arg(f[i], "x", tile_type_scalar(context, TILE_f32), 1, &n, NULL);
    }
    tile_function_add_param(f[0], "block", TILE_PARAM_int, NULL, NULL);
    tile_function_add_tune(f[0], 1, names, 2, points);
    tile_function_set_grid(f[0], 1, &block);
    tile_function_set_warps(f[0], tile_expr_int(context, 1));
    tile_builder b = tile_builder_at_end(f[1], tile_function_body(f[1]));
    tile_op loop = tile_build_for_loop(&b, tile_build_int(&b, 0), tile_function_arg(f[1], 0),
                                       tile_build_int(&b, 1), NULL, 0);
    tile_region body = tile_op_region(f[1], loop, 0);
    tile_value i = tile_region_arg(f[1], body, 0);
    b = tile_builder_at_end(f[1], body);
    const tile_value one = tile_build_int(&b, 1);
    const tile_value arguments[] = {
        i, tile_build_subview(&b, tile_function_arg(f[1], 1), &i, 1, &one, 1, NULL)};
    tile_build_launch(&b, "t", NULL, 0, arguments, 2);
    tile_build_yield(&b, NULL, 0);
    return f[1];
}

Test(plan, loops_and_points_are_built) {
    text_fixture x;
    char text[2048] = "";
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    tile_function *plan = add_loop(module);
    cr_assert_eq(tile_module_verify(module), TILE_OK, "%s", x.messages);
    cr_assert_eq(tile_plan_take_points(plan), TILE_OK, "%s", x.messages);
    tile_function_print(plan, append, text);
    cr_expect_str_eq(text, "plan @q<block: int>(%n: i32, %x: view<f32[%n]>)\n"
                           "    tune block in [32, 64]\n{\n"
                           "  for %0 = 0 to %n step 1 {\n"
                           "    %1 = subview %x[%0], [1] : view<f32[1]>\n"
                           "    launch @t<block = block>(%0, %1)\n  }\n}\n");
    cr_assert_eq(tile_plan_take_points(plan), TILE_OK, "it has all of them");
    text[0] = 0;
    tile_function_print(plan, append, text);
    cr_expect(strstr(text, "@q<block: int>("), "%s", text);
    cr_expect_eq(tile_plan_take_points(tile_module_find(module, "t")), TILE_OK, "no plan");
    cr_expect_eq(tile_plan_take_points(NULL), TILE_INVALID);
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
