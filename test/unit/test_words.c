/* Parameters that are words or types, through the C functions: compared, tuned, and refused. */
#include "text_fixture.h"

#include "tile/build.h"
#include "tile/pass.h"

static tile_function *new_kernel(text_fixture *x, tile_module **module) {
    text_open(x);
    *module = tile_module_create(x->context);
    tile_function *f = tile_function_create(*module, TILE_KERNEL, "k", (tile_loc){0});
    tile_function_set_grid(f, 1, (const tile_expr *[]){tile_expr_int(x->context, 1)});
    tile_function_set_warps(f, tile_expr_int(x->context, 1));
    return f;
}

static const tile_expr *compare(text_fixture *x, tile_opcode opcode, const char *param,
                                const char *word) {
    return tile_expr_op(x->context, opcode, tile_expr_param(x->context, param),
                        tile_expr_word(x->context, word), NULL);
}

Test(words, are_equal_to_themselves_only) {
    text_fixture x;
    text_open(&x);
    const tile_expr *rows = tile_expr_word(x.context, "rows"),
                    *columns = tile_expr_word(x.context, "columns");
    int64_t value;
    cr_expect_eq(rows, tile_expr_word(x.context, "rows"));
    cr_expect(tile_expr_is_int(tile_expr_op(x.context, TILE_OP_eq, rows, rows, NULL), &value));
    cr_expect_eq(value, 1);
    cr_expect(tile_expr_is_int(tile_expr_op(x.context, TILE_OP_eq, rows, columns, NULL), &value));
    cr_expect_eq(value, 0);
    cr_expect(
        tile_expr_eval(tile_expr_op(x.context, TILE_OP_ne, rows, columns, NULL), NULL, &value));
    cr_expect_eq(value, 1);
    text_close(&x);
}

Test(words, are_tuned_and_decide) {
    text_fixture x;
    tile_module *module;
    tile_function *f = new_kernel(&x, &module);
    tile_function_add_param(f, "policy", TILE_PARAM_word, tile_expr_word(x.context, "rows"), NULL);
    tile_function_add_param(f, "T", TILE_PARAM_type, NULL, NULL);
    const char *names[] = {"T"};
    const tile_expr *types[] = {tile_expr_word(x.context, "bf16"),
                                tile_expr_word(x.context, "f16")};
    tile_function_add_tune(f, 1, names, 2, types);
    tile_function_add_where(f, compare(&x, TILE_OP_eq, "policy", "rows"));
    tile_function_add_where(f, compare(&x, TILE_OP_ne, "T", "bf16"));
    cr_expect_eq(tile_module_verify(module), TILE_OK, "%s", x.messages);
    cr_expect(strstr(text_print(&x, module), "tune T in [bf16, f16]"));
    cr_expect_eq(tile_run_passes(module, "instantiate{T=f16}", NULL), TILE_OK, "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
    f = new_kernel(&x, &module);
    tile_function_add_param(f, "T", TILE_PARAM_type, NULL, NULL);
    tile_function_add_tune(f, 1, names, 1,
                           (const tile_expr *[]){tile_expr_word(x.context, "bf16")});
    tile_function_add_where(f, compare(&x, TILE_OP_eq, "T", "f16"));
    cr_expect_eq(tile_run_passes(module, "instantiate", NULL), TILE_INVALID);
    cr_expect(strstr(x.messages, "`where T == f16` does not hold: T = bf16"), "%s", x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

/* A kernel with a parameter p of that kind and a clause must be refused with these words. */
static void expect_refusal(tile_param_kind kind, const tile_expr *(*where)(text_fixture *),
                           const tile_expr *(*tuned)(text_fixture *), const char *words) {
    text_fixture x;
    tile_module *module;
    tile_function *f = new_kernel(&x, &module);
    const char *name = "p";
    tile_function_add_param(f, name, kind, NULL, NULL);
    if (where) tile_function_add_where(f, where(&x));
    if (tuned) tile_function_add_tune(f, 1, &name, 1, (const tile_expr *[]){tuned(&x)});
    cr_expect_eq(tile_module_verify(module), TILE_INVALID, "%s", words);
    cr_expect(strstr(x.messages, words), "%s: %s", words, x.messages);
    tile_module_destroy(module);
    text_close(&x);
}

static const tile_expr *word(text_fixture *x) {
    return tile_expr_word(x->context, "rows");
}

static const tile_expr *odd_word(text_fixture *x) {
    return tile_expr_word(x->context, "no word");
}

static const tile_expr *number(text_fixture *x) {
    return tile_expr_int(x->context, 1);
}

static const tile_expr *same(text_fixture *x) {
    return compare(x, TILE_OP_eq, "p", "rows");
}

static const tile_expr *less(text_fixture *x) {
    return compare(x, TILE_OP_lt, "p", "rows");
}

Test(words, stand_only_where_they_mean_something) {
    expect_refusal(TILE_PARAM_word, word, NULL, "`where` may depend on");
    expect_refusal(TILE_PARAM_word, less, NULL, "`where` may depend on");
    expect_refusal(TILE_PARAM_int, same, NULL, "`where` may depend on");
    expect_refusal(TILE_PARAM_word, NULL, number, "`tune` needs");
    expect_refusal(TILE_PARAM_word, NULL, odd_word, "`tune` needs");
    expect_refusal(TILE_PARAM_int, NULL, word, "`tune` needs");
    expect_refusal(TILE_PARAM_type, NULL, word, "`tune` needs");
}

/* Passes refuse unverified IR, too. */
Test(words, of_the_wrong_kind_reach_no_pass) {
    const struct {
        tile_param_kind kind;
        bool is_default;
    } cases[] = {{TILE_PARAM_word, true}, {TILE_PARAM_word, false}, {TILE_PARAM_type, false}};
    for (unsigned i = 0; i < 3; i++) {
        text_fixture x;
        tile_module *module;
        tile_function *f = new_kernel(&x, &module);
        const char *name = "p";
        const tile_expr *three = tile_expr_int(x.context, 3);
        tile_function_add_param(f, name, cases[i].kind, cases[i].is_default ? three : NULL, NULL);
        if (!cases[i].is_default) tile_function_add_tune(f, 1, &name, 1, &three);
        cr_expect_eq(tile_run_passes(module, "instantiate", NULL), TILE_INVALID);
        tile_module_destroy(module);
        text_close(&x);
    }
}
