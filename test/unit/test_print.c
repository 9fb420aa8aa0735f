/* The printer: its output parses to the same module. */
#include "text_fixture.h"

#include <locale.h>

#include "lib/ir/function.h"
#include "lib/ir/syntax.h"
#include "tile/manual.h"

static void check_round_trip(text_fixture *x, const char *text) {
    tile_module *module = text_parse(x, text);
    cr_assert(module, "%s\nin\n%s", x->messages, text);
    const char *once = text_print(x, module);
    tile_module *again = text_parse(x, once);
    cr_assert(again, "%s\nin\n%s", x->messages, once);
    cr_assert_str_eq(text_print(x, again), once);
    tile_module_destroy(module);
    tile_module_destroy(again);
}

/* Returns a use of an elementwise operation, according to its row. */
static const char *elementwise_text(text_fixture *x, const tile_op_info *info) {
    const char *operands = "";
    for (unsigned k = 0; k < info->operand_count; k++) {
        const char *operand = info->operands[k].class_ == TILE_CLASS_integer   ? "%n"
                              : info->operands[k].class_ == TILE_CLASS_boolean ? "%t"
                                                                               : "%x";
        operands = tile_arena_format(&x->arena, "%s%s%s", operands, k ? ", " : " ", operand);
    }
    return tile_arena_format(&x->arena,
                             "kernel @k(%%x: f32, %%n: i32, %%t: i1) grid [1] warps 1 {\n"
                             "  %%r = %s%s%s\n}\n",
                             info->name, operands, info->type_given ? " : vector<f32[2]>" : "");
}

Test(print, round_trip_of_all_operations) {
    bool seen[TILE_OPCODE_LIMIT] = {false};
    text_fixture x;
    text_open(&x);
    for (unsigned i = 0; i < TEXT_CORPUS_COUNT; i++) {
        check_round_trip(&x, text_corpus[i]);
        tile_module *module = text_parse(&x, text_corpus[i]);
        tile_function *f;
        for (unsigned k = 0; (f = tile_module_function(module, k)); k++)
            TILE_FOR_EACH_OP_INSIDE (f, op, f->body) seen[tile_op_at(f, op)->opcode] = true;
        tile_module_destroy(module);
    }
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
        const tile_op_info *info = tile_op_get_info((tile_opcode)i);
        if (info->name && !seen[i] && info->traits & TILE_TRAIT_ELEMENTWISE)
            check_round_trip(&x, elementwise_text(&x, info));
        else if (info->name)
            cr_expect(seen[i], "no text in the corpus has '%s'", info->name);
    }
    text_close(&x);
}

static void check_print(const char *text, const char *wanted) {
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, text);
    cr_assert(module, "%s", x.messages);
    const char *printed = text_print(&x, module);
    cr_expect(strstr(printed, wanted), "wanted\n%s\nin\n%s", wanted, printed);
    tile_module_destroy(module);
    text_close(&x);
}

Test(print, form_of_loops_and_branches) {
    check_print(
        TEXT_KERNEL("%s = for %i = 0 to %n step 1 iter (%c = %x) pipelined (3) unroll (p) {\n"
                    "if %i == 2 { sync }\n"
                    "%d = if %i == 3 { yield %c } else { yield 1.0 }\n"
                    "yield %d }"),
        "  %s = for %i = 0 to %n step 1 iter (%c = %x) pipelined (3) unroll (p) {\n"
        "    %0 = eq %i, 2 : i1\n"
        "    if %0 {\n"
        "      sync\n"
        "    }\n"
        "    %1 = eq %i, 3 : i1\n"
        "    %d = if %1 {\n"
        "      yield %c\n"
        "    } else {\n"
        "      yield 1.0\n"
        "    }\n"
        "    yield %d\n"
        "  }\n");
}

Test(print, constants_name_their_type_where_it_is_not_plain) {
    check_print(TEXT_KERNEL("%a = add %l, 5"), "%a = add %l, i64(5) : i64\n");
    check_print(TEXT_KERNEL("%a = add %n, (p + 1) * 2"), "%a = add %n, i32((p + 1) * 2) : i32\n");
    check_print(TEXT_KERNEL("%a = add %n, p + 1 * 2"), "%a = add %n, p + 2 : i32\n");
    check_print(TEXT_KERNEL("%a = add %x, 2"), "%a = add %x, 2.0 : f32\n");
    check_print(TEXT_KERNEL("%a = select p < 3, %x, 1e300 * 0"), "select i1(p < 3), %x");
    check_print(TEXT_KERNEL("%a = select ~q, %n, 1"), "%a = select i1(q == 0), %n, 1 : i32\n");
    check_print(TEXT_KERNEL("%a = cast i32(q) : i64"), "%a = cast i32(q) : i64\n");
    check_print(TEXT_KERNEL("%a = splat 1 : tile<i8[4]>"), "%a = splat i8(1) : tile<i8[4]>\n");
    check_print(TEXT_KERNEL("%a = splat 1.0 : tile<T[4]>"), "%a = splat T(1) : tile<T[4]>\n");
}

Test(print, a_number_beside_a_tile_is_splat) {
    check_print(TEXT_KERNEL("%a = splat %x : tile<f32[4]>\n%b = 2 * %a"),
                "  %0 = splat 2.0 : tile<f32[4]>\n  %b = mul %0, %a : tile<f32[4]>\n");
    check_print(TEXT_KERNEL("%b = 2 : tile<f32[4]>"), "  %b = splat 2.0 : tile<f32[4]>\n");
}

Test(print, layouts_stand_once_at_the_top) {
    text_fixture x;
    text_open(&x);
    tile_module *module = text_parse(&x, text_corpus[2]);
    cr_assert(module, "%s", x.messages);
    const char *printed = text_print(&x, module);
    const char *top =
        "#layout0 = layout {offset = [[0, 1], [0, 2], [0, 4], [1, 1], [2, 2], [4, 4], [8, 0]]}\n"
        "#layout1 = layout {reg = [[0, 1], [8, 0]], lane = [[0, 2], [0, 4], [1, 0], [2, 0], "
        "[4, 0]], warp = []}\n"
        "#layout2 = layout {reg = [], lane = [[1], [2], [4], [0], [0]], warp = [[0]]}\n\nkernel";
    cr_expect_eq(strncmp(printed, top, strlen(top)), 0, "%s", printed);
    cr_expect(strstr(printed, "%t = load_shared %s[%y] : tile<f16[16, 8], #layout1>\n"));
    tile_module_destroy(module);
    text_close(&x);
}

static tile_function *new_kernel(text_fixture *x, tile_module **module, tile_builder *b) {
    *module = tile_module_create(x->context);
    tile_function *f = tile_function_create(*module, TILE_KERNEL, "k", (tile_loc){0});
    const tile_expr *one = tile_expr_int(x->context, 1);
    tile_function_set_grid(f, 1, &one);
    tile_function_set_warps(f, one);
    tile_function_add_arg(f, "n", tile_type_scalar(x->context, TILE_i32));
    *b = tile_builder_at_end(f, tile_function_body(f));
    return f;
}

Test(print, names_become_unique_and_readable) {
    static const char *const names[] = {"x", "x", NULL, "n", "a b%", "x_1", "7", "x", NULL};
    text_fixture x;
    tile_module *module;
    tile_builder b;
    text_open(&x);
    tile_function *f = new_kernel(&x, &module, &b);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        tile_value value = tile_build_neg(&b, tile_function_arg(f, 0));
        if (names[i]) tile_value_set_name(f, value, names[i]);
    }
    cr_expect_str_eq(text_print(&x, module), "kernel @k(%n: i32)\n    grid [1]\n    warps 1\n{\n"
                                             "  %x = neg %n : i32\n  %x_1 = neg %n : i32\n"
                                             "  %0 = neg %n : i32\n  %n_1 = neg %n : i32\n"
                                             "  %a_b_ = neg %n : i32\n  %x_1_1 = neg %n : i32\n"
                                             "  %1 = neg %n : i32\n  %x_2 = neg %n : i32\n"
                                             "  %2 = neg %n : i32\n}\n");
    check_round_trip(&x, text_print(&x, module));
    tile_module_destroy(module);
    text_close(&x);
}

/* Printing an invalid kernel must not crash the printer. */
Test(print, an_operand_that_is_nowhere_defined) {
    text_fixture x;
    tile_module *module;
    tile_builder b;
    text_open(&x);
    tile_function *f = new_kernel(&x, &module, &b);
    tile_value lost = tile_build_neg(&b, tile_function_arg(f, 0));
    tile_build_neg(&b, lost);
    tile_erase_op(f, tile_value_def(f, lost));
    cr_expect(strstr(text_print(&x, module), "%0 = neg %undefined"), "%s", text_print(&x, module));
    tile_module_destroy(module);
    text_close(&x);
}

Test(print, numbers_do_not_depend_on_the_locale) {
    static const double values[] = {0.1, 1.0, -2.5, 1e300, 5e-324, 3.0000000000000004, 1e21};
    static const char *const names[] = {"C", "de_DE.UTF-8", "de_DE.utf8"};
    for (unsigned l = 0; l < sizeof names / sizeof *names; l++) {
        if (!setlocale(LC_ALL, names[l])) continue;
        for (unsigned i = 0; i < sizeof values / sizeof *values; i++) {
            char text[TILE_DOUBLE_TEXT];
            double back;
            tile_double_to_text(values[i], text);
            cr_expect(tile_double_from_text(text, strlen(text), &back));
            cr_expect_eq(back, values[i]);
            cr_expect(strpbrk(text, ".e") && !strchr(text, ','), "%s", text);
        }
    }
    setlocale(LC_ALL, "C");
}

/* True if the page that text_append has collected contains the text. */
static bool page_has(tile_opcode opcode, const char *wanted) {
    text_fixture x;
    text_open(&x);
    text_buffer b = {.arena = &x.arena};
    bool found =
        tile_manual_print_operation(tile_op_get_info(opcode)->name, NULL, text_append, &b) &&
        strstr(b.data, wanted);
    text_close(&x);
    return found;
}

Test(print, manual_has_a_page_with_an_example_of_every_operation) {
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
        const char *name = tile_op_get_info((tile_opcode)i)->name;
        char file[64];
        snprintf(file, sizeof file, "\n// %s.tile\n", name ? name : "add");
        cr_expect(!name || page_has((tile_opcode)i, file), "%s", name);
    }
}

Test(print, manual_lists_every_operation_and_attribute) {
    text_fixture x;
    char wanted[64];
    text_open(&x);
    text_buffer b = {.arena = &x.arena};
    tile_manual_print(text_append, &b);
    for (unsigned i = 1; i < TILE_OPCODE_LIMIT; i++) {
        const tile_op_info *info = tile_op_get_info((tile_opcode)i);
        snprintf(wanted, sizeof wanted, "\n| `%s", info->name ? info->name : "add");
        cr_expect(strstr(b.data, wanted), "%s", wanted);
    }
    for (unsigned i = 1; i < TILE_ATTR_LIMIT && tile_attr_keyword((tile_attr_id)i); i++) {
        snprintf(wanted, sizeof wanted, "\n| `%s", tile_attr_keyword((tile_attr_id)i));
        cr_expect(strstr(b.data, wanted), "%s", wanted);
    }
    text_close(&x);
}
