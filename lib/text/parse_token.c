/* The basis of the parser: tokens, errors and error recovery.
 *
 * A statement has no end mark. After an error the parser continues at the next token that is the
 * first on its line, and skips the regions of the statement that it abandons. */
#include <string.h>

#include "lib/support/intern.h"
#include "lib/text/parse_function.h"
#include "lib/text/parser.h"

/* `;` and comments that begin with # are reported once and skipped. */
static void read_over(tile_parser *p) {
    tile_token *next = &p->next;
    while (next->kind == TILE_TOKEN_PUNCT && *next->text == '/' && next->text + 1 < p->lexer.end &&
           next->text[1] == '*') {
        if (!p->saw_hash && !p->skipping)
            p->saw_hash =
                !tile_parse_error(p, next->loc, "a comment begins with // and ends with its line");
        tile_lexer_skip_comment(&p->lexer);
        *next = tile_lexer_next(&p->lexer);
    }
    while (next->kind == TILE_TOKEN_BAD && (*next->text == ';' || *next->text == '#')) {
        bool hash = *next->text == '#', *seen = hash ? &p->saw_hash : &p->saw_end_mark;
        const tile_token token = p->token;
        p->token = *next;
        if (!*seen && !p->skipping) *seen = tile_parse_foreign(p, TILE_FOREIGN_MARK);
        p->token = token;
        if (hash) tile_lexer_skip_line(&p->lexer);
        *next = tile_lexer_next(&p->lexer);
    }
}

void tile_parse_advance(tile_parser *p) {
    p->token = p->next;
    if (p->stopped) {
        p->token.kind = TILE_TOKEN_END;
        return;
    }
    p->next = tile_lexer_next(&p->lexer);
    read_over(p);
}

void tile_parse_skip(tile_parser *p) {
    p->skipping = true;
    tile_parse_advance(p);
    p->skipping = false;
}

bool tile_parse_at(const tile_parser *p, const char *punctuation) {
    return p->token.kind == TILE_TOKEN_PUNCT &&
           tile_text_is(punctuation, p->token.text, p->token.length);
}

bool tile_parse_equals(tile_parser *p, const char *left) {
    return tile_parse_error(p, p->token.loc, "'=' does not compare; write `%s == %.*s`", left,
                            (int)p->next.length, p->next.text);
}

bool tile_parse_at_word(const tile_parser *p, const char *word) {
    return p->token.kind == TILE_TOKEN_WORD && tile_text_is(word, p->token.text, p->token.length);
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

bool tile_parse_has_failed(const tile_parser *p) {
    return tile_context_error_count(p->context) != p->first_error;
}

void tile_parse_stop_if_too_many(tile_parser *p, tile_loc loc) {
    if (tile_context_error_count(p->context) - p->first_error < TILE_MAX_ERRORS) return;
    tile_report(p->context, TILE_NOTE, loc, "too many errors: parsing stops after %d",
                TILE_MAX_ERRORS);
    p->stopped = true;
    p->token.kind = p->next.kind = TILE_TOKEN_END;
}

bool tile_parse_error(tile_parser *p, tile_loc loc, const char *format, ...) {
    if (p->stopped || p->abandoned) return false;
    va_list args;
    va_start(args, format);
    tile_report(p->context, TILE_ERROR, loc, "%s", tile_arena_vformat(&p->arena, format, args));
    va_end(args);
    tile_parse_stop_if_too_many(p, loc);
    return false;
}

bool tile_parse_expected(tile_parser *p, const char *what) {
    const tile_token *token = &p->token;
    static const char *const marks[] = {
        [TILE_TOKEN_VALUE] = "%", [TILE_TOKEN_SYMBOL] = "@", [TILE_TOKEN_ALIAS] = "#"};
    bool mark = token->kind == TILE_TOKEN_BAD || token->kind == TILE_TOKEN_ALIAS;
    if (mark &&
        (tile_parse_foreign(p, *token->text == '.' ? TILE_FOREIGN_OPERATION : TILE_FOREIGN_MARK) ||
         tile_parse_foreign(p, TILE_FOREIGN_TOP)))
        return false;
    if (token->kind == TILE_TOKEN_BAD) return tile_parse_error(p, token->loc, "%s", token->problem);
    if (token->kind == TILE_TOKEN_END)
        return tile_parse_error(p, token->loc, "expected %s, found the end of the text", what);
    bool marked = token->kind == TILE_TOKEN_VALUE || token->kind == TILE_TOKEN_SYMBOL ||
                  token->kind == TILE_TOKEN_ALIAS;
    return tile_parse_error(p, token->loc, "expected %s, found '%s%.*s'", what,
                            marked ? marks[token->kind] : "", (int)token->length, token->text);
}

bool tile_parse_too_deep(tile_parser *p, tile_loc loc) {
    return tile_parse_error(
        p, loc,
        "this expression has more than %d nested operations; give a part of it a name, %%x = ..",
        TILE_MAX_EXPRESSION_DEPTH);
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

/* Whether a comment hides the end of the line on which the token is. */
static bool has_comment(const tile_parser *p, const tile_token *token) {
    const char *at = token->text;
    while (at + 1 < p->lexer.end && *at != '\n' && !(at[0] == '/' && at[1] == '/')) at++;
    return at + 1 < p->lexer.end && *at == '/';
}

bool tile_parse_close(tile_parser *p, const char *mark, const tile_token *open) {
    bool ends = p->token.kind == TILE_TOKEN_END;
    if (!(ends || p->token.first_on_line) || tile_parse_at(p, mark))
        return tile_parse_expect(p, mark);
    const char *comment =
        has_comment(p, open) ? "; `//` begins a comment, and `/` divides integers, too" : "";
    return tile_parse_error(
        p, open->loc, "this '%.*s' has no '%s' before the %s%.*s%s%s", (int)open->length,
        open->text, mark, ends ? "end of the text" : "next line, which begins with '",
        ends ? 0 : (int)p->token.length, ends ? "" : p->token.text, ends ? "" : "'", comment);
}

/* A word without the mark of a name. */
static bool refuse_bare_name(tile_parser *p, tile_token_kind kind, const char *what) {
    bool symbol = kind == TILE_TOKEN_SYMBOL;
    if (p->token.kind != TILE_TOKEN_WORD || (!symbol && kind != TILE_TOKEN_VALUE)) return false;
    tile_parse_error(p, p->token.loc, "expected %s, found '%.*s'; a %s name begins with %s: %s%.*s",
                     what, (int)p->token.length, p->token.text, symbol ? "function's" : "value's",
                     symbol ? "@" : "%", symbol ? "@" : "%", (int)p->token.length, p->token.text);
    return true;
}

const char *tile_parse_name(tile_parser *p, tile_token_kind kind, const char *what) {
    if (p->token.kind != kind) {
        if (!refuse_bare_name(p, kind, what)) tile_parse_expected(p, what);
        return NULL;
    }
    const char *name = tile_intern_name(p->context, p->token.text, p->token.length);
    tile_parse_advance(p);
    return name;
}

/* From an opening brace to after its closing brace. */
static void skip_braces(tile_parser *p) {
    unsigned depth = 0;
    do {
        depth += tile_parse_at(p, "{");
        depth -= tile_parse_at(p, "}");
        tile_parse_skip(p);
    } while (depth && p->token.kind != TILE_TOKEN_END);
}

void tile_parse_recover(tile_parser *p, const char *start) {
    tile_parse_stop_if_too_many(p, p->token.loc);
    while (p->token.kind != TILE_TOKEN_END && !tile_parse_at(p, "}")) {
        if (p->token.first_on_line && p->token.text != start) return;
        if (tile_parse_at(p, "{"))
            skip_braces(p);
        else
            tile_parse_skip(p);
    }
}

bool tile_parse_old_word(tile_parser *p, tile_rename_kind kind, const char *where) {
    const tile_token *token = &p->token;
    const tile_rename *row = token->kind == TILE_TOKEN_WORD
                                 ? tile_rename_find(kind, where, token->text, token->length)
                                 : NULL;
    if (row) tile_parse_error(p, token->loc, "%s", tile_rename_message(row, &p->arena));
    return row != NULL;
}

const tile_expr *tile_parse_word_expr(tile_parser *p, const char *word) {
    p->has_old_words |= tile_rename_find(TILE_RENAMED_word, NULL, word, strlen(word)) != NULL;
    return tile_expr_word(p->context, word);
}

void tile_parse_recover_function(tile_parser *p, const char *start) {
    tile_parse_stop_if_too_many(p, p->token.loc);
    while (p->token.kind != TILE_TOKEN_END) {
        bool begins = tile_parse_at_function(p) || p->token.kind == TILE_TOKEN_ALIAS ||
                      tile_parse_at_word(p, "include");
        if (begins && p->token.first_on_line && p->token.text != start) return;
        tile_parse_skip(p);
    }
}

bool tile_parse_abandon(tile_parser *p) {
    tile_parse_recover_function(p, p->token.text);
    p->abandoned = true;
    return false;
}
