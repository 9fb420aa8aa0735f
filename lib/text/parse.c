/* The parser of the text form. This file parses whole texts, parse_include.c finds those that they
 * include, and parse_function.c parses the headers of functions. The other parse_*.c parse types,
 * expressions and statements, and parse_token.c handles tokens and errors. The grammar is in
 * lib/manual/chapters/grammar.md. */
#include "lib/support/options.h"
#include "lib/text/migrate.h"
#include "lib/text/parse_function.h"
#include "lib/text/parser.h"

static bool parse_top_level(tile_parser *p) {
    if (tile_parse_at_function(p)) return tile_parse_function(p);
    if (tile_parse_foreign(p, TILE_FOREIGN_TOP)) return false;
    if (p->token.kind == TILE_TOKEN_ALIAS) return tile_parse_layout_alias(p);
    if (tile_parse_at_word(p, "include")) return tile_parse_include(p);
    if (tile_parse_at_clause(p))
        return tile_parse_error(p, p->token.loc, "a clause comes before the body of its kernel");
    if (tile_parse_at(p, "}"))
        return tile_parse_error(p, p->token.loc, "this '}' has no '{'; remove it");
    return tile_parse_expected(
        p, "'kernel', 'compute', 'func', 'plan', 'include' or '#name = layout'");
}

static bool parse_version(tile_parser *p) {
    if (!tile_parse_take_word(p, "tile_ir")) return true;
    if (p->token.kind != TILE_TOKEN_INT) return tile_parse_expected(p, "the format's version");
    if (p->token.integer != 1)
        return tile_parse_error(p, p->token.loc,
                                "unsupported format version %llu; this compiler reads version 1",
                                (unsigned long long)p->token.integer);
    tile_parse_advance(p);
    return true;
}

void tile_parse_text(tile_parser *p) {
    tile_parse_advance(p);
    tile_parse_advance(p);
    if (!parse_version(p)) return;
    while (p->token.kind != TILE_TOKEN_END) {
        const char *start = p->token.text;
        p->function = NULL;
        p->abandoned = false;
        p->symbols = (tile_symbol_table){.entries = NULL};
        if (!parse_top_level(p)) tile_parse_recover_function(p, start);
    }
}

/* Reports values that become an attribute only through parameters: each alone could be a word of
 * the user. */
static void report_old_words(tile_parser *p, uint32_t file) {
    const tile_source *source = &p->context->sources[file];
    tile_old_words old = tile_find_old_words(source->text, source->length, file, &p->arena);
    for (size_t i = 0; i < old.count && !p->stopped; i++)
        tile_parse_error(p, old.words[i].token.loc, "%s",
                         tile_rename_message(old.words[i].row, &p->arena));
}

static bool parse_module(tile_parser *p, const char *name, const char *text, size_t length) {
    uint32_t file = tile_context_add_source(p->context, name, text, length);
    const char *identity = p->options.identity;
    tile_parse_source(p, identity ? identity : p->context->sources[file].name, file);
    bool has_old_words = p->has_old_words && !tile_parse_has_failed(p);
    for (const tile_parsed_text *t = p->texts; has_old_words && t; t = t->next)
        report_old_words(p, t->file);
    return !tile_parse_has_failed(p) && tile_module_verify(p->module) == TILE_OK;
}

tile_module *tile_module_parse_with(tile_context *context, const char *name, const char *text,
                                    size_t length, const tile_parse_options *options) {
    TILE_GUARD_OUTSIDE(context, NULL)
    if (!context) return NULL;
    tile_parser parser = {.context = context};
    if (!TILE_TAKE_OPTIONS(context, tile_parse_options, &parser.options, options)) return NULL;
    parser.module = tile_module_create(context);
    parser.first_error = tile_context_error_count(context);
    bool ok = parse_module(&parser, name, text, length);
    tile_arena_reset(&parser.arena);
    if (ok) return parser.module;
    tile_module_destroy(parser.module);
    return NULL;
}

tile_module *tile_module_parse(tile_context *context, const char *name, const char *text,
                               size_t length) {
    return tile_module_parse_with(context, name, text, length, NULL);
}
