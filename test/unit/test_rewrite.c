/* Visiting the operations of a function, also while they change. */
#include "lib/ir/function.h"
#include "text_fixture.h"

#define NESTED \
    "kernel @k(%n: i32) grid [1] warps 1 {\n" \
    "  %p = lt %n, 1\n" \
    "  for %i = 0 to %n step 1 {\n" \
    "    if %p { %a = add %n, 2 } else { }\n" \
    "    if %p { } else { %b = mul %n, 3 }\n" \
    "  }\n" \
    "  %c = sub %n, 4\n" \
    "}\n"

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

/* Returns the names of operations, except yields. */
static const char *append(text_fixture *x, const tile_function *f, tile_op op, const char *text) {
    if (tile_op_opcode(f, op) == TILE_OP_yield) return text;
    return tile_arena_format(&x->arena, "%s %s", text, tile_op_name(f, op));
}

static const char *inside(text_fixture *x, const tile_function *f, tile_region region) {
    const char *text = "";
    TILE_FOR_EACH_OP_INSIDE (f, op, region) text = append(x, f, op, text);
    return text;
}

static tile_op first_with(const tile_function *f, tile_opcode opcode) {
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_opcode(f, op) == opcode) return op;
    return TILE_NO_OP;
}

Test(rewrite, operations_are_visited_outer_ones_first) {
    text_fixture x;
    tile_function *f = parse_kernel(&x, NESTED);
    tile_op loop = first_with(f, TILE_OP_for), branch = first_with(f, TILE_OP_if);
    const char *nested = "", *in_branch = "", *in_none = "";
    cr_expect_str_eq(inside(&x, f, f->body), " lt for if add if mul sub");
    cr_expect_str_eq(inside(&x, f, tile_op_region(f, loop, 0)), " if add if mul");
    cr_expect_str_eq(inside(&x, f, tile_op_region(f, branch, 0)), " add");
    TILE_FOR_EACH_NESTED_OP (f, op, loop) nested = append(&x, f, op, nested);
    TILE_FOR_EACH_NESTED_OP (f, op, branch) in_branch = append(&x, f, op, in_branch);
    TILE_FOR_EACH_NESTED_OP (f, op, first_with(f, TILE_OP_lt)) in_none = append(&x, f, op, in_none);
    cr_expect_str_eq(nested, " if add if mul");
    cr_expect_str_eq(in_branch, " add");
    cr_expect_str_eq(in_none, "");
    close_kernel(&x, f);
}

Test(rewrite, the_second_region_alone_is_visited_to_its_end) {
    text_fixture x;
    tile_function *f = parse_kernel(&x, NESTED);
    tile_op second = tile_op_next(f, first_with(f, TILE_OP_if));
    cr_expect_str_eq(inside(&x, f, tile_op_region(f, second, 0)), "");
    cr_expect_str_eq(inside(&x, f, tile_op_region(f, second, 1)), " mul");
    close_kernel(&x, f);
}

Test(rewrite, erased_operations_do_not_end_the_iteration) {
    text_fixture x;
    tile_function *f = parse_kernel(&x, NESTED);
    const char *visited = "";
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        visited = append(&x, f, op, visited);
        if (tile_op_opcode(f, op) == TILE_OP_add) tile_erase_op(f, op);
    }
    cr_expect_str_eq(visited, " lt for if add if mul sub");
    visited = "";
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        visited = append(&x, f, op, visited);
        if (tile_op_opcode(f, op) != TILE_OP_if) continue;
        tile_op next = tile_op_next(f, op);
        tile_erase_op(f, op); /* erases the next one as well, which is then not visited */
        tile_erase_op(f, next);
    }
    cr_expect_str_eq(visited, " lt for if sub");
    visited = "";
    TILE_FOR_EACH_OP (f, op, f->body) {
        visited = append(&x, f, op, visited);
        if (tile_op_opcode(f, op) == TILE_OP_for) tile_erase_op(f, op);
    }
    cr_expect_str_eq(visited, " lt for sub");
    cr_expect_str_eq(inside(&x, f, f->body), " lt sub");
    close_kernel(&x, f);
}

Test(rewrite, operations_around_the_current_one_may_be_erased) {
    text_fixture x;
    tile_function *f = parse_kernel(&x, NESTED);
    const char *visited = "";
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        visited = append(&x, f, op, visited);
        if (tile_op_opcode(f, op) == TILE_OP_add) tile_erase_op(f, first_with(f, TILE_OP_for));
    }
    cr_expect_str_eq(visited, " lt for if add sub");
    close_kernel(&x, f);
}

Test(rewrite, operations_added_after_the_current_one_are_visited) {
    text_fixture x;
    tile_function *f = parse_kernel(&x, NESTED);
    const char *visited = "";
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        visited = append(&x, f, op, visited);
        if (tile_op_opcode(f, op) != TILE_OP_add) continue;
        tile_builder before = tile_builder_before(f, op), after = before;
        after.before = tile_op_next(f, op);
        tile_build_neg(&before, f->args[0].value);
        tile_build_abs(&after, f->args[0].value);
    }
    cr_expect_str_eq(visited, " lt for if add abs if mul sub");
    cr_expect_str_eq(inside(&x, f, f->body), " lt for if neg add abs if mul sub");
    close_kernel(&x, f);
}
