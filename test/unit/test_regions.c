/* Values carried by region operations, and replacing them. */
#include "lib/ir/regions.h"

#include "lib/ir/function.h"
#include "text_fixture.h"

#define KERNEL(body) "kernel @k(%n: i32)\n    grid [1]\n    warps 1\n{\n" body "}\n"

static tile_op first_of_shape(const tile_function *f, tile_region_shape shape) {
    tile_op op = tile_region_first(f, f->body);
    while (op.id && tile_shape_of(f, op) != shape) op = tile_op_next(f, op);
    cr_assert(op.id);
    return op;
}

static tile_function *parse_kernel(text_fixture *x, const char *text) {
    text_open(x);
    tile_module *module = text_parse(x, text);
    cr_assert_not_null(module, "%s", x->messages);
    return tile_module_function(module, 0);
}

static void close_kernel(text_fixture *x, tile_function *f) {
    tile_module_destroy(f->module);
    text_close(x);
}

/* Returns the name of a value, its number if it is an integer constant, "-" if there is none. */
static const char *name_of(text_fixture *x, const tile_function *f, tile_value value) {
    int64_t number;
    if (tile_value_is_int(f, value, &number))
        return tile_arena_format(&x->arena, "%lld", (long long)number);
    return value.id ? tile_value_at(f, value)->name : "-";
}

/* Returns what the operation, then each region, sends and receives: "1>s a>b". */
static const char *flow_of(text_fixture *x, const tile_function *f, tile_op op, unsigned i) {
    const char *text = "";
    TILE_FOR_EACH_BRANCH_POINT (f, op, at)
        text = tile_arena_format(&x->arena, "%s %s>%s", text,
                                 name_of(x, f, tile_carried_sent(f, op, at, i)),
                                 name_of(x, f, tile_carried_received(f, op, at, i)));
    return text;
}

Test(regions, carried_values_of_each_shape) {
    text_fixture x;
    tile_function *f = parse_kernel(
        &x, KERNEL("%r, %s = for %i = 0 to %n step 2 iter (%a = 5, %b = %n) { yield %b, %i }\n"
                   "%t = lt %n, 7\n"
                   "%u = if %t { yield %r } else { yield %s }\n"));
    tile_op loop = first_of_shape(f, TILE_SHAPE_LOOP);
    cr_expect_eq(tile_carried_count(f, loop), 2u);
    cr_expect_str_eq(flow_of(&x, f, loop, 0), " 5>r b>a");
    cr_expect_str_eq(flow_of(&x, f, loop, 1), " n>s i>b");
    cr_expect_str_eq(flow_of(&x, f, loop, 2), " ->- ->-");
    cr_expect_eq(tile_region_own_args(f, tile_op_region(f, loop, 0)), 1u);
    cr_expect_eq(tile_control_operand_count(f, loop), 3u);
    cr_expect_str_eq(name_of(&x, f, tile_control_operand(f, loop, 1)), "n");
    cr_expect(tile_repeats(f, loop) && tile_control_flows(f, loop, 0, 0));
    cr_expect(tile_control_flows(f, loop, TILE_PARENT_OP, TILE_PARENT_OP));

    tile_op branch = first_of_shape(f, TILE_SHAPE_BRANCH);
    cr_expect_str_eq(flow_of(&x, f, branch, 0), " ->u r>- s>-");
    cr_expect_eq(tile_control_operand_count(f, branch), 1u);
    cr_expect_str_eq(name_of(&x, f, tile_control_operand(f, branch, 0)), "t");
    cr_expect(!tile_repeats(f, branch) && !tile_control_flows(f, branch, 0, 1));
    cr_expect(tile_control_flows(f, branch, 1, TILE_PARENT_OP) &&
              tile_control_flows(f, branch, TILE_PARENT_OP, 1));

    tile_op compare = tile_op_at(f, branch)->prev;
    cr_expect_eq(tile_carried_count(f, compare), 0u);
    cr_expect_eq(tile_control_operand_count(f, compare), 0u);
    close_kernel(&x, f);
}

/* Drops the values with a 0 in kept, adds the given ones, and prints. */
static const char *carry(text_fixture *x, tile_function *f, tile_region_shape shape,
                         const bool *kept, const tile_value *added, unsigned added_count) {
    tile_op op = first_of_shape(f, shape);
    size_t before = f->value_count, limit = tile_carry_limit(f, op, added_count);
    tile_value *map = TILE_NEW_ARRAY(&x->arena, tile_value, before + limit);
    tile_carry(f, op, kept, added, added_count, map);
    cr_expect_leq(f->value_count, before + limit);
    tile_replace_values(f, f->body, map);
    cr_expect_eq(tile_function_verify(f), TILE_OK, "%s", x->messages);
    return text_print(x, f->module);
}

Test(regions, a_loop_carries_something_else) {
    text_fixture x;
    tile_function *f = parse_kernel(
        &x, KERNEL("%r, %s = for %i = 0 to %n step 1 iter (%a = 5, %b = %n) { yield %a, %b }\n"
                   "%t = add %s, 1\n"));
    const bool kept[] = {false, true};
    tile_value n = f->args[0].value;
    cr_expect_str_eq(carry(&x, f, TILE_SHAPE_LOOP, kept, &n, 1),
                     KERNEL("  %s, %0 = for %i = 0 to %n step 1 iter (%b = %n, %1 = %n) {\n"
                            "    yield %b, %1\n"
                            "  }\n"
                            "  %t = add %s, 1 : i32\n"));
    tile_op loop = first_of_shape(f, TILE_SHAPE_LOOP);
    tile_carried_send(f, loop, 0, 1, tile_region_arg(f, tile_op_region(f, loop, 0), 0));
    const bool first[] = {true, false};
    cr_expect_str_eq(carry(&x, f, TILE_SHAPE_LOOP, first, NULL, 0),
                     KERNEL("  %s = for %i = 0 to %n step 1 iter (%b = %n) {\n"
                            "    yield %b\n"
                            "  }\n"
                            "  %t = add %s, 1 : i32\n"));
    tile_carried_send(f, loop, 0, 0, tile_region_arg(f, tile_op_region(f, loop, 0), 0));
    cr_expect_str_eq(name_of(&x, f, tile_carried_sent(f, loop, 0, 0)), "i");
    close_kernel(&x, f);
}

Test(regions, a_branch_gives_something_else) {
    text_fixture x;
    tile_function *f =
        parse_kernel(&x, KERNEL("%t = lt %n, 7\n"
                                "%r, %s = if %t { yield 1, %n } else { yield %n, 2 }\n"
                                "%u = add %s, 1\n"));
    const bool kept[] = {false, true};
    tile_value n = f->args[0].value;
    cr_expect_str_eq(carry(&x, f, TILE_SHAPE_BRANCH, kept, &n, 1),
                     KERNEL("  %t = lt %n, 7 : i1\n"
                            "  %s, %0 = if %t {\n"
                            "    yield %n, %n\n"
                            "  } else {\n"
                            "    yield 2, %n\n"
                            "  }\n"
                            "  %u = add %s, 1 : i32\n"));
    close_kernel(&x, f);
}

Test(regions, a_while_carries_something_else) {
    text_fixture x;
    tile_function *f = parse_kernel(&x, KERNEL("%r, %s = while iter (%a = 5, %b = %n) {\n"
                                               "  %t = lt %b, 7\n"
                                               "  yield %t, %b, %a\n"
                                               "} do (%c, %d) { yield %d, %n }\n"
                                               "%u = add %s, 1\n"));
    tile_op op = first_of_shape(f, TILE_SHAPE_WHILE);
    cr_expect_str_eq(flow_of(&x, f, op, 0), " 5>r b>a d>c");
    cr_expect_str_eq(flow_of(&x, f, op, 1), " n>s a>b n>d");
    cr_expect_eq(tile_control_operand_count(f, op), 1u);
    cr_expect_str_eq(name_of(&x, f, tile_control_operand(f, op, 0)), "t");
    cr_expect(tile_repeats(f, op) && !tile_control_flows(f, op, TILE_PARENT_OP, 1));
    cr_expect(tile_control_flows(f, op, 0, 1) && tile_control_flows(f, op, 1, 0) &&
              !tile_control_flows(f, op, 0, 0));
    cr_expect(tile_control_flows(f, op, 0, TILE_PARENT_OP) &&
              !tile_control_flows(f, op, 1, TILE_PARENT_OP));
    tile_value n = f->args[0].value;
    tile_carried_send(f, op, 0, 1, tile_carried_received(f, op, 0, 1)); /* a is not used */
    const bool kept[] = {false, true};
    cr_expect_str_eq(carry(&x, f, TILE_SHAPE_WHILE, kept, &n, 1),
                     KERNEL("  %s, %0 = while iter (%b = %n, %1 = %n) {\n"
                            "    %t = lt %b, 7 : i1\n"
                            "    yield %t, %b, %1\n"
                            "  } do (%d, %2) {\n"
                            "    yield %n, %2\n"
                            "  }\n"
                            "  %u = add %s, 1 : i32\n"));
    close_kernel(&x, f);
}

Test(regions, an_operation_can_have_any_number) {
    text_fixture x;
    tile_function *f = parse_kernel(&x, KERNEL("for %i = 0 to %n step 1 { }\n"));
    tile_op op = tile_region_first(f, f->body);
    for (unsigned r = 1; r < 100; r++) {
        tile_region region = tile_add_region(f, op, NULL, 0);
        tile_builder b = tile_builder_at_end(f, region);
        for (unsigned i = 0; i < r; i++) tile_build_sync(&b, TILE_NO_VALUE, TILE_NO_VALUE);
        tile_build_yield(&b, NULL, 0);
    }
    tile_module *copy = tile_module_clone(f->module);
    tile_function *g = tile_module_function(copy, 0);
    tile_add_region(f, op, NULL, 0);
    tile_add_region(g, tile_region_first(g, g->body), NULL, 0);
    tile_value *map = TILE_NEW_ARRAY(&x.arena, tile_value, f->value_count);
    tile_builder b = tile_builder_at_end(f, f->body);
    tile_op twin = tile_clone_op(&b, op, map, f->value_count);
    cr_assert_eq(tile_op_at(f, op)->region_count, 101u);
    cr_assert_eq(tile_op_at(f, twin)->region_count, 101u);
    cr_assert_eq(tile_op_at(g, tile_region_first(g, g->body))->region_count, 101u);
    for (unsigned r = 1; r < 100; r++) {
        unsigned ops = 0;
        TILE_FOR_EACH_OP (f, inner, tile_op_region(f, twin, r)) ops++;
        cr_assert_eq(ops, r + 1);
    }
    cr_expect_eq(tile_op_region(f, op, 101).id, 0u);
    tile_module_destroy(copy);
    close_kernel(&x, f);
}
