/* The parser of the text form: tokens and errors here, headers of functions in parse_function.c,
 * types, expressions and statements in the other parse_*.c. The grammar is in manual.c.
 *
 * A statement has no end mark. After a mistake the parser goes on at the next token that is the
 * first on its line, and skips the regions that belong to what it gives up. */
#include <string.h>

#include "lib/ir/intern.h"
#include "lib/ir/parse_function.h"
#include "lib/ir/parser.h"

void tile_parse_advance(tile_parser *p) {
    p->token = p->next;
    if (p->stopped) {
        p->token.kind = TILE_TOKEN_END;
        return;
    }
    p->next = tile_lexer_next(&p->lexer);
}

bool tile_parse_at(const tile_parser *p, const char *punctuation) {
    return p->token.kind == TILE_TOKEN_PUNCT && p->token.length == strlen(punctuation) &&
           memcmp(p->token.text, punctuation, p->token.length) == 0;
}

bool tile_parse_at_word(const tile_parser *p, const char *word) {
    return p->token.kind == TILE_TOKEN_WORD && p->token.length == strlen(word) &&
           memcmp(p->token.text, word, p->token.length) == 0;
}

bool tile_parse_take(tile_parser *p, const char *punctuation) {
    bool found = tile_parse_at(p, punctuation);
    if (found) tile_parse_advance(p);
    return found;
}

bool tile_parse_take_word(tile_parser *p, const char *word) {
    bool found = tile_parse_at_word(p, word);
    if (found) tile_parse_advance(p);
    return found;
}

static bool has_failed(const tile_parser *p) {
    return tile_context_error_count(p->context) != p->first_error;
}

/* Once the limit is reached, the text ends here for the parser. */
static void stop_if_too_many(tile_parser *p, tile_loc loc) {
    if (tile_context_error_count(p->context) - p->first_error < TILE_PARSE_MAX_ERRORS) return;
    tile_report(p->context, TILE_NOTE, loc, "the rest of the text is not read after %d errors",
                TILE_PARSE_MAX_ERRORS);
    p->stopped = true;
    p->token.kind = p->next.kind = TILE_TOKEN_END;
}

bool tile_parse_error(tile_parser *p, tile_loc loc, const char *format, ...) {
    if (p->stopped) return false;
    va_list args;
    va_start(args, format);
    tile_report(p->context, TILE_ERROR, loc, "%s", tile_arena_vformat(&p->arena, format, args));
    va_end(args);
    stop_if_too_many(p, loc);
    return false;
}

bool tile_parse_expected(tile_parser *p, const char *what) {
    const tile_token *token = &p->token;
    static const char *const marks[] = {
        [TILE_TOKEN_VALUE] = "%", [TILE_TOKEN_SYMBOL] = "@", [TILE_TOKEN_ALIAS] = "#"};
    if (token->kind == TILE_TOKEN_BAD) return tile_parse_error(p, token->loc, "%s", token->problem);
    if (token->kind == TILE_TOKEN_END)
        return tile_parse_error(p, token->loc, "expected %s, found the end of the text", what);
    bool marked = token->kind == TILE_TOKEN_VALUE || token->kind == TILE_TOKEN_SYMBOL ||
                  token->kind == TILE_TOKEN_ALIAS;
    return tile_parse_error(p, token->loc, "expected %s, found '%s%.*s'", what,
                            marked ? marks[token->kind] : "", (int)token->length, token->text);
}

bool tile_parse_too_deep(tile_parser *p, tile_loc loc) {
    return tile_parse_error(p, loc, "this is nested more than %d levels deep",
                            TILE_PARSE_MAX_DEPTH);
}

static bool expected_quoted(tile_parser *p, const char *word) {
    return tile_parse_expected(p, tile_arena_format(&p->arena, "'%s'", word));
}

bool tile_parse_expect(tile_parser *p, const char *punctuation) {
    return tile_parse_take(p, punctuation) || expected_quoted(p, punctuation);
}

bool tile_parse_expect_word(tile_parser *p, const char *word) {
    return tile_parse_take_word(p, word) || expected_quoted(p, word);
}

const char *tile_parse_name(tile_parser *p, tile_token_kind kind, const char *what) {
    if (p->token.kind != kind) {
        tile_parse_expected(p, what);
        return NULL;
    }
    const char *name = tile_intern_name(p->context, p->token.text, p->token.length);
    tile_parse_advance(p);
    return name;
}

/* From an opening brace to behind its partner. */
static void skip_braces(tile_parser *p) {
    unsigned depth = 0;
    do {
        depth += tile_parse_at(p, "{");
        depth -= tile_parse_at(p, "}");
        tile_parse_advance(p);
    } while (depth && p->token.kind != TILE_TOKEN_END);
}

void tile_parse_recover(tile_parser *p, const char *start) {
    stop_if_too_many(p, p->token.loc);
    while (p->token.kind != TILE_TOKEN_END && !tile_parse_at(p, "}")) {
        if (p->token.first_on_line && p->token.text != start) return;
        if (tile_parse_at(p, "{"))
            skip_braces(p);
        else
            tile_parse_advance(p);
    }
}

/* To the next layout or function at the margin of the file. */
static void recover_top_level(tile_parser *p, const char *start) {
    stop_if_too_many(p, p->token.loc);
    while (p->token.kind != TILE_TOKEN_END) {
        bool begins = tile_parse_at_word(p, "kernel") || tile_parse_at_word(p, "compute") ||
                      p->token.kind == TILE_TOKEN_ALIAS;
        if (begins && p->token.first_on_line && p->token.text != start) return;
        tile_parse_advance(p);
    }
}

static bool parse_top_level(tile_parser *p) {
    if (p->token.kind == TILE_TOKEN_ALIAS) return tile_parse_layout_alias(p);
    if (tile_parse_at_word(p, "kernel") || tile_parse_at_word(p, "compute"))
        return tile_parse_function(p);
    return tile_parse_expected(p, "'kernel', 'compute' or '#name = layout'");
}

static bool parse_version(tile_parser *p) {
    if (!tile_parse_take_word(p, "tile_ir")) return true;
    if (p->token.kind != TILE_TOKEN_INT) return tile_parse_expected(p, "the format's version");
    if (p->token.integer != 1)
        return tile_parse_error(p, p->token.loc, "this text has version %llu, only 1 is known",
                                (unsigned long long)p->token.integer);
    tile_parse_advance(p);
    return true;
}

static void parse_file(tile_parser *p) {
    if (!parse_version(p)) return;
    while (p->token.kind != TILE_TOKEN_END) {
        const char *start = p->token.text;
        p->function = NULL;
        p->symbols = (tile_symbol_table){.slots = NULL};
        if (!parse_top_level(p)) recover_top_level(p, start);
    }
}

tile_module *tile_module_parse(tile_context *context, const char *name, const char *text,
                               size_t length) {
    if (!context) return NULL;
    length = text ? length : 0;
    uint32_t file = tile_context_add_source(context, name, text, length);
    tile_parser parser = {.context = context, .module = tile_module_create(context)};
    parser.lexer = tile_lexer_start(file, context->sources[file].text, length);
    parser.first_error = tile_context_error_count(context);
    parser.token = tile_lexer_next(&parser.lexer);
    parser.next = tile_lexer_next(&parser.lexer);
    parse_file(&parser);
    bool ok = !has_failed(&parser) && tile_module_verify(parser.module) == TILE_OK;
    tile_arena_reset(&parser.arena);
    if (ok) return parser.module;
    tile_module_destroy(parser.module);
    return NULL;
}
