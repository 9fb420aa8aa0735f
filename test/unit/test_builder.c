/* Modules that are built from C print like the ones that are parsed. */
#include "test/unit/text_fixture.h"
#include "tile/build.h"

static const tile_loc nowhere = {0, 0, 0};

static void expect_text(text_fixture *x, tile_module *built, const char *text) {
    cr_assert_eq(tile_module_verify(built), TILE_OK, "%s", x->messages);
    tile_module *parsed = text_parse(x, text);
    cr_assert(parsed, "%s", x->messages);
    cr_expect_str_eq(text_print(x, built), text_print(x, parsed));
    tile_module_destroy(parsed);
    tile_module_destroy(built);
    text_close(x);
}

static tile_function *add_kernel(tile_module *module, int64_t warps) {
    tile_context *context = tile_module_context(module);
    tile_function *kernel = tile_function_create(module, TILE_KERNEL, "k", nowhere);
    const tile_expr *one = tile_expr_int(context, 1);
    tile_function_set_grid(kernel, 1, &one);
    tile_function_set_warps(kernel, tile_expr_int(context, warps));
    return kernel;
}

static tile_builder builder_in(tile_function *f, tile_op op, unsigned index) {
    return tile_builder_at_end(f, tile_op_region(f, op, index));
}

/* compute @turned<n: dim>(%a: tensor<f32[n]>) -> (%c: tensor<f32[n]>) { %c = neg %a } */
static void add_compute(tile_module *module) {
    tile_context *context = tile_module_context(module);
    tile_type draft = {.kind = TILE_TYPE_TENSOR, .scalar = TILE_f32, .rank = 1};
    draft.dims[0] = tile_expr_param(context, "n");
    const tile_type *tensor = tile_type_get(context, &draft);
    tile_function *compute = tile_function_create(module, TILE_COMPUTE, "turned", nowhere);
    tile_function_add_param(compute, "n", TILE_PARAM_dim, NULL, NULL);
    tile_value a = tile_function_add_arg(compute, "a", tensor);
    tile_function_add_result(compute, "c", tensor);
    tile_builder b = tile_builder_at_end(compute, tile_function_body(compute));
    tile_function_set_result(compute, 0, tile_build_neg(&b, a));
    cr_assert_eq(tile_function_result(compute, 0).id,
                 tile_op_result(compute, tile_region_first(compute, b.region), 0).id);
}

Test(builder, references_and_clusters) {
    text_fixture x;
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    add_compute(module);
    tile_function *kernel = add_kernel(module, 4);
    const tile_type *f32 = tile_type_scalar(x.context, TILE_f32);
    const tile_expr *two = tile_expr_int(x.context, 2), *m = tile_expr_arg(x.context, 0);
    const tile_param_value value = {.name = "n", .expr = m};
    cr_assert_null(tile_function_reference(kernel));
    tile_function_add_arg(kernel, "m", tile_type_scalar(x.context, TILE_i32));
    tile_function_add_view_arg(kernel, "a", f32, 1, &m, NULL);
    tile_function_add_view_arg(kernel, "c", f32, 1, &m, NULL);
    tile_function_set_cluster(kernel, 1, &two);
    tile_function_set_reference(kernel, "turned", &value, 1);
    cr_assert_str_eq(tile_function_reference(kernel), "turned");
    expect_text(&x, module,
                "compute @turned<n: dim>(%a: tensor<f32[n]>) -> (%c: tensor<f32[n]>) {\n"
                "  %c = neg %a\n}\n"
                "kernel @k(%m: i32, %a: view<f32[%m]>, %c: view<f32[%m]>) of @turned<n = %m>\n"
                "    grid [1] cluster [2] warps 4 {\n}\n");
}

Test(builder, operations_of_clusters) {
    text_fixture x;
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    tile_function *kernel = add_kernel(module, 1);
    const tile_expr *two = tile_expr_int(x.context, 2);
    int64_t dims[] = {16, 8};
    tile_function_set_cluster(kernel, 1, &two);
    tile_builder b = tile_builder_at_end(kernel, tile_function_body(kernel));
    const tile_type *type = tile_type_shared(x.context, TILE_f32, 2, 2, dims);
    tile_value buffer = tile_build_alloc_shared(&b, type), rank = tile_build_cluster_rank(&b);
    tile_value peer = tile_build_map_shared(&b, buffer, rank);
    cr_assert_eq(tile_value_type(kernel, peer), tile_type_in_cluster(x.context, type));
    cr_assert(tile_value_type(kernel, peer)->cluster);
    tile_build_cluster_arrive(&b);
    tile_build_cluster_wait(&b);
    int64_t half[] = {8, 8};
    tile_value part[] = {tile_build_int(&b, 1), tile_build_int(&b, 8), tile_build_int(&b, 0)};
    tile_value tile =
        tile_build_load_shared(&b, peer, part, 3, tile_type_tile(x.context, TILE_f32, 2, half));
    tile_build_store_shared(&b, tile, buffer, part, 3);
    tile_value_set_name(kernel, buffer, "s");
    tile_value_set_name(kernel, rank, "r");
    tile_value_set_name(kernel, peer, "m");
    tile_value_set_name(kernel, tile, "t");
    expect_text(&x, module,
                "kernel @k() grid [1] cluster [2] warps 1 {\n"
                "  %s = alloc_shared : shared<f32[2][16, 8]>\n"
                "  %r = cluster_rank\n  %m = map_shared %s, %r\n  cluster_arrive\n"
                "  cluster_wait\n  %t = load_shared %m[1, 8, 0] : [8, 8]\n"
                "  store_shared %t, %s[1, 8, 0]\n}\n");
}

Test(builder, roles) {
    text_fixture x;
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    tile_function *kernel = add_kernel(module, 6);
    tile_builder b = tile_builder_at_end(kernel, tile_function_body(kernel));
    const tile_value one = tile_build_int(&b, 1), two = tile_build_int(&b, 2);
    const tile_value four = tile_build_int(&b, 4);
    const tile_value warps[] = {four, one}, groups[] = {one, two};
    const tile_value registers[] = {tile_build_int(&b, 40), tile_build_int(&b, 0)};
    tile_op roles = tile_build_role_regions(&b, warps, groups, registers, 2);
    cr_assert(roles.id, "%s", x.messages);
    tile_builder producer = builder_in(kernel, roles, 0), consumer = builder_in(kernel, roles, 1);
    tile_build_sync(&producer, one, four);
    tile_build_yield(&producer, NULL, 0);
    tile_value group = tile_region_arg(kernel, tile_op_region(kernel, roles, 1), 0);
    tile_value_set_name(kernel, group, "g");
    tile_build_uniform(&consumer, group);
    tile_build_yield(&consumer, NULL, 0);
    expect_text(&x, module,
                "kernel @k() grid [1] warps 6 {\n"
                "  roles {\n"
                "    warps 4 registers 40 { sync 1, 4 }\n"
                "    warps 1 groups 2 as %g { %0 = uniform %g }\n"
                "  }\n}\n");
}

Test(builder, barriers_by_the_author) {
    text_fixture x;
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    tile_function *kernel = add_kernel(module, 1);
    tile_builder b = tile_builder_at_end(kernel, tile_function_body(kernel));
    const tile_type *i32 = tile_type_scalar(x.context, TILE_i32);
    tile_value thread = tile_build_thread_id(&b);
    tile_op region = tile_build_sync_explicit(&b, &i32, 1);
    tile_builder inside = builder_in(kernel, region, 0);
    const tile_value none = {0};
    tile_build_sync(&inside, none, none);
    tile_build_yield(&inside, &thread, 1);
    tile_value result = tile_op_result(kernel, region, 0);
    cr_assert_eq(tile_value_op(kernel, result).id, region.id);
    cr_assert_eq(tile_value_op(kernel, tile_build_int(&b, 1)).id, 0);
    tile_build_neg(&b, result);
    expect_text(&x, module,
                "kernel @k() grid [1] warps 1 {\n"
                "  %0 = thread_id\n  %1 = sync explicit { sync yield %0 }\n  %2 = neg %1\n}\n");
}

Test(builder, attributes_with_values) {
    text_fixture x;
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    tile_function *plan = tile_function_create(module, TILE_PLAN, "p", nowhere);
    tile_function *kernel = add_kernel(module, 1);
    tile_function_add_param(kernel, "T", TILE_PARAM_type, NULL, NULL);
    const tile_param_value value = {.name = "T", .type = tile_type_scalar(x.context, TILE_f16)};
    tile_builder b = tile_builder_at_end(plan, tile_function_body(plan));
    b.loc = (tile_loc){0, 3, 7};
    tile_op launch = tile_build_launch(&b, "k", NULL, 0, NULL, 0);
    cr_assert_eq(tile_op_loc(plan, launch).column, 7);
    tile_op_set_values(plan, launch, TILE_ATTR_values, &value, 1);
    expect_text(&x, module,
                "plan @p() {\n  launch @k<T = f16>()\n}\n"
                "kernel @k<T: type>() grid [1] warps 1 {\n}\n");
}

/* An attribute that the operation's row does not have is kept, and refused by the verifier. */
Test(builder, constants_as_attributes) {
    text_fixture x;
    text_open(&x);
    tile_module *module = tile_module_create(x.context);
    tile_function *kernel = add_kernel(module, 1);
    tile_builder b = tile_builder_at_end(kernel, tile_function_body(kernel));
    tile_build_thread_id(&b);
    cr_expect_eq(tile_function_verify(kernel), TILE_OK);
    tile_op_set_constant(kernel, tile_region_first(kernel, b.region), TILE_ATTR_pad,
                         tile_type_scalar(x.context, TILE_f16), tile_expr_float(x.context, 0.5));
    cr_expect_eq(tile_function_verify(kernel), TILE_INVALID);
    cr_expect(strstr(x.messages, "'pad'"), "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

static bool value_of_p(const char *name, int64_t *value, void *user) {
    *value = 3;
    (void)user;
    return strcmp(name, "p") == 0;
}

Test(builder, expressions_are_substituted) {
    text_fixture x;
    text_open(&x);
    const tile_bindings bindings = {.param = value_of_p};
    const tile_expr *p = tile_expr_param(x.context, "p"), *q = tile_expr_param(x.context, "q");
    const tile_expr *square = tile_expr_op(x.context, TILE_OP_mul, p, p, NULL);
    const tile_expr *sum = tile_expr_op(x.context, TILE_OP_add, square, q, NULL);
    const tile_expr *nine = tile_expr_int(x.context, 9);
    cr_expect_eq(tile_expr_substitute(x.context, square, &bindings), nine);
    cr_expect_eq(tile_expr_substitute(x.context, sum, &bindings),
                 tile_expr_op(x.context, TILE_OP_add, nine, q, NULL));
    text_close(&x);
}

Test(builder, the_library_is_the_headers) {
    cr_expect_eq(tile_api_version(), TILE_API_VERSION);
    cr_expect_eq(tile_attr_from_name("fast", 4), TILE_ATTR_fast);
    cr_expect_eq(tile_attr_from_name("faster", 6), TILE_ATTR_NONE);
}
