/* Attributes of every kind: parsed, set, printed, compared and refused. */
#include <math.h>

#include "lib/ir/function.h"
#include "lib/text/parser.h"
#include "test/unit/text_fixture.h"
#include "tile/pass.h"

typedef struct attrs_fixture {
    text_fixture text;
    tile_parser parser;
    tile_parsed_attr attrs[4];
    unsigned count;
    bool ok;
} attrs_fixture;

/* Parses attributes of any kind in braces. */
static void read_attrs(attrs_fixture *x, const char *text) {
    *x = (attrs_fixture){.ok = false};
    text_open(&x->text);
    tile_context *context = x->text.context;
    uint32_t file = tile_context_add_source(context, "attrs", text, strlen(text));
    x->parser = (tile_parser){.context = context, .module = tile_module_create(context)};
    x->parser.lexer = tile_lexer_start(file, context->sources[file].text, strlen(text));
    x->parser.token = tile_lexer_next(&x->parser.lexer);
    x->parser.next = tile_lexer_next(&x->parser.lexer);
    x->parser.function =
        tile_function_create(x->parser.module, TILE_KERNEL, "k", (tile_loc){file, 1, 1});
    x->parser.builder =
        tile_builder_at_end(x->parser.function, tile_function_body(x->parser.function));
    tile_function_add_param(x->parser.function, "how", TILE_PARAM_word,
                            tile_expr_word(context, "fma"), NULL);
    const tile_attr_set all = {{UINT64_MAX, UINT64_MAX}};
    x->ok = tile_parse_attrs(&x->parser, all, "this", x->attrs, &x->count);
}

static void close_attrs(attrs_fixture *x) {
    tile_arena_reset(&x->parser.arena);
    tile_module_destroy(x->parser.module);
    text_close(&x->text);
}

Test(attrs, have_seven_kinds) {
    attrs_fixture x;
    read_attrs(&x, "{ordering = acq_rel, text = \"a \\\"b\\\" \\\\\", callee = @k}");
    cr_assert(x.ok, "%s", x.text.messages);
    cr_assert_eq(x.count, 3u);
    cr_expect_str_eq(x.attrs[0].text, "acq_rel");
    cr_expect_str_eq(x.attrs[1].text, "a \"b\" \\");
    cr_expect_str_eq(x.attrs[2].text, "k");
    close_attrs(&x);
    read_attrs(&x, "{pad = -inf, clean, offset = 2 * 3, stage = [1, 2]}");
    cr_assert(x.ok, "%s", x.text.messages);
    cr_expect(x.attrs[0].type->scalar == TILE_f32 && x.attrs[0].expr->number == -INFINITY);
    cr_expect_eq(x.attrs[2].expr->integer, 6);
    cr_expect(x.attrs[3].count == 2 && x.attrs[3].list[1] == 2);
    close_attrs(&x);
    read_attrs(&x, "{pad = i8(-3)}");
    cr_assert(x.ok, "%s", x.text.messages);
    cr_expect(x.attrs[0].type->scalar == TILE_i8 && x.attrs[0].expr->integer == -3);
    close_attrs(&x);
}

/* An error names the invalid word when the parameter is bound. */
Test(attrs, words_of_parameters_are_checked) {
    attrs_fixture x;
    read_attrs(&x, "{ordering = how}");
    tile_builder *b = &x.parser.builder;
    tile_op op = tile_build_op(b, TILE_OP_sync, (tile_segment[2]){{{0}, NULL, 0}}, 2, NULL);
    tile_parse_set_attrs(&x.parser, op, x.attrs, x.count);
    const tile_pass_options unverified = {.size = sizeof unverified, .skip_verify = true};
    tile_run_passes(x.parser.module, "instantiate", &unverified);
    cr_expect(strstr(x.text.messages,
                     "'ordering' is one of relaxed, acquire, release, acq_rel, sc, but how = fma"),
              "%s", x.text.messages);
    close_attrs(&x);
}

/* The pass instantiate replaces a parameter of kind word by its value. */
Test(attrs, words_may_be_parameters) {
    attrs_fixture x;
    read_attrs(&x, "{via = how, ordering = relaxed}");
    cr_assert(x.ok && x.count == 2, "%s", x.text.messages);
    cr_expect_null(x.attrs[0].text);
    cr_expect_eq(x.attrs[0].expr, tile_expr_param(x.text.context, "how"));
    tile_builder *b = &x.parser.builder;
    tile_op op = tile_build_op(b, TILE_OP_sync, (tile_segment[2]){{{0}, NULL, 0}}, 2, NULL);
    tile_parse_set_attrs(&x.parser, op, x.attrs, 2);
    cr_expect(strstr(text_print(&x.text, x.parser.module), "how: word = fma"));
    /* No operation has such an attribute yet; nothing else is reported. */
    const tile_pass_options unverified = {.size = sizeof unverified, .skip_verify = true};
    cr_expect_eq(tile_run_passes(x.parser.module, "instantiate", &unverified), TILE_INVALID);
    cr_expect_null(strstr(x.text.messages, "is one of"), "%s", x.text.messages);
    cr_expect_str_eq(tile_op_attr_text(b->function, op, TILE_ATTR_via), "fma");
    close_attrs(&x);
}

static void expect_refusal(const char *text, const char *words) {
    attrs_fixture x;
    read_attrs(&x, text);
    cr_expect(!x.ok && strstr(x.text.messages, words), "%s: %s", text, x.text.messages);
    close_attrs(&x);
}

Test(attrs, say_what_they_take) {
    expect_refusal("{ordering = aquire}", "'ordering' takes one of relaxed, acquire, release, "
                                          "acq_rel, sc, not 'aquire'; did you mean 'acquire'?");
    expect_refusal("{ordering}", "expected '='");
    expect_refusal("{text = @k}", "expected a text in quotation marks");
    expect_refusal("{text = \"open}", "this text lacks its closing quotation mark");
    expect_refusal("{callee = k}", "a function's name such as @k");
    expect_refusal("{pad = [1]}", "expected");
    expect_refusal("{pad = i8(200)}", "200 does not fit i8");
}

/* Attributes that are set print; the verifier refuses attributes of the wrong kind. */
Test(attrs, are_checked_by_kind) {
    text_fixture x;
    text_open(&x);
    const char text[] = "kernel @k(%p: ptr<f32>) grid [1] warps 1 {\n"
                        "  %s = alloc_shared : shared<f32[32]>\n}\n";
    tile_module *module = text_parse(&x, text);
    tile_function *f = tile_module_function(module, 0);
    tile_op op = tile_region_first(f, tile_function_body(f));
    tile_op_set_text(f, op, TILE_ATTR_offset, "far");
    cr_expect_eq(tile_module_verify(module), TILE_INVALID);
    cr_expect(strstr(x.messages, "'offset' has a value of the wrong kind"), "%s", x.messages);
    tile_op_set_int(f, op, TILE_ATTR_via, 3);
    cr_expect(strstr(text_print(&x, module), "via = 3") == NULL); /* alloc_shared has none */
    cr_expect_eq(tile_module_verify(module), TILE_INVALID);
    tile_op_remove_attr(f, op, TILE_ATTR_via);
    tile_op_set_int(f, op, TILE_ATTR_offset, 16);
    cr_expect_eq(tile_module_verify(module), TILE_OK);
    tile_module_destroy(module);
    text_close(&x);
}

/* A word is unique within each attribute, and only word attributes have words. */
Test(attrs, words_belong_to_word_attributes) {
    for (unsigned i = 1; i < TILE_ATTR_LIMIT; i++) {
        tile_attr_id id = (tile_attr_id)i;
        const tile_attr_info *info = tile_attr_get_info(id);
        if (info->name)
            cr_expect_eq(tile_attr_word(id, 0) != NULL, info->kind == TILE_KIND_word, "%s",
                         info->name);
        for (unsigned a = 0; tile_attr_word(id, a); a++)
            for (unsigned b = 0; b < a; b++)
                cr_expect_str_neq(tile_attr_word(id, a), tile_attr_word(id, b));
    }
}
