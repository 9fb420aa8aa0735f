/* Splits a text into tokens; accepts any bytes. */
#include "lib/text/lexer.h"

#include <math.h>
#include <string.h>

#include "lib/ir/syntax.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c) {
    return is_letter(c) || is_digit(c);
}

tile_lexer tile_lexer_start(uint32_t file, const char *text, size_t length) {
    return (tile_lexer){.at = text,
                        .end = text + length,
                        .line_start = text,
                        .file = file,
                        .line = 1,
                        .fresh_line = true};
}

static char peek(const tile_lexer *lexer, size_t distance) {
    return (size_t)(lexer->end - lexer->at) > distance ? lexer->at[distance] : 0;
}

void tile_lexer_skip_line(tile_lexer *lexer) {
    const char *newline = memchr(lexer->at, '\n', (size_t)(lexer->end - lexer->at));
    lexer->at = newline ? newline : lexer->end;
}

/* At a newline. */
static void end_line(tile_lexer *lexer) {
    lexer->line++;
    lexer->line_start = lexer->at + 1;
    lexer->fresh_line = true;
}

void tile_lexer_skip_comment(tile_lexer *lexer) {
    for (; lexer->at < lexer->end; lexer->at++) {
        if (*lexer->at == '\n') end_line(lexer);
        if (lexer->at[0] != '*' || peek(lexer, 1) != '/') continue;
        lexer->at += 2;
        return;
    }
}

static void skip_space(tile_lexer *lexer) {
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        if (c == '\n') {
            end_line(lexer);
        } else if (c == '/' && peek(lexer, 1) == '/') {
            tile_lexer_skip_line(lexer);
            continue;
        } else if (c != ' ' && c != '\t' && c != '\r') {
            return;
        }
        lexer->at++;
    }
}

static void skip_digits(tile_lexer *lexer) {
    while (is_digit(peek(lexer, 0))) lexer->at++;
}

static int digit_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

static void read_integer(tile_token *token, const char *text, size_t length, unsigned base) {
    token->kind = TILE_TOKEN_INT;
    if (length == 0) *token = (tile_token){.kind = TILE_TOKEN_BAD, .problem = "'0x' needs digits"};
    for (size_t i = 0; i < length; i++) {
        uint64_t digit = (uint64_t)digit_value(text[i]);
        if (token->integer > (UINT64_MAX - digit) / base) {
            token->kind = TILE_TOKEN_BAD;
            token->problem = "this number is too large";
            return;
        }
        token->integer = token->integer * base + digit;
    }
}

static void lex_number(tile_lexer *lexer, tile_token *token) {
    const char *start = lexer->at;
    bool floating = false;
    if (*start == '0' && (peek(lexer, 1) == 'x' || peek(lexer, 1) == 'X')) {
        for (lexer->at += 2; digit_value(peek(lexer, 0)) < 16;) lexer->at++;
        read_integer(token, start + 2, (size_t)(lexer->at - start - 2), 16);
        return;
    }
    skip_digits(lexer);
    if (peek(lexer, 0) == '.' && is_digit(peek(lexer, 1))) {
        floating = true;
        lexer->at++;
        skip_digits(lexer);
    }
    char mark = peek(lexer, 0), sign = peek(lexer, 1);
    bool has_sign = sign == '+' || sign == '-';
    if ((mark == 'e' || mark == 'E') && is_digit(has_sign ? peek(lexer, 2) : sign)) {
        floating = true;
        lexer->at += has_sign ? 2 : 1;
        skip_digits(lexer);
    }
    size_t length = (size_t)(lexer->at - start);
    char suffix = peek(lexer, 0);
    if (suffix == '_') {
        while (is_name(peek(lexer, 0))) lexer->at++;
        token->kind = TILE_TOKEN_BAD;
        token->problem = "the digits of a number have no `_` between them";
    } else if (suffix == '.' && !is_letter(peek(lexer, 1)) && peek(lexer, 1) != '.') {
        lexer->at++;
        token->kind = TILE_TOKEN_BAD;
        token->problem = "a digit follows the point of a number: 1.0";
    } else if (suffix && strchr("fFuUlLhH", suffix) && !is_name(peek(lexer, 1))) {
        lexer->at++;
        token->kind = TILE_TOKEN_BAD;
        token->problem =
            "a number has no suffix; its type follows from the context, or from a cast: f16(2.0)";
    } else if (!floating) {
        read_integer(token, start, length, 10);
    } else if (tile_double_from_text(start, length, &token->number)) {
        token->kind = isinf(token->number) ? TILE_TOKEN_BAD : TILE_TOKEN_FLOAT;
        token->problem = "this number is larger than any f64; write inf for infinity";
    } else {
        _Static_assert(TILE_MAX_NUMBER == 120, "the text states this limit");
        token->kind = TILE_TOKEN_BAD;
        token->problem = "this number has more than 120 characters; write fewer digits";
    }
}

static void lex_name(tile_lexer *lexer, tile_token *token, tile_token_kind kind) {
    const char *start = lexer->at;
    while (is_name(peek(lexer, 0))) lexer->at++;
    token->kind = kind;
    token->text = start;
    token->length = (size_t)(lexer->at - start);
}

static void lex_text(tile_lexer *lexer, tile_token *token) {
    const char *start = ++lexer->at;
    while (lexer->at < lexer->end && *lexer->at != '"' && *lexer->at != '\n')
        lexer->at +=
            *lexer->at == '\\' && lexer->end - lexer->at > 1 && lexer->at[1] != '\n' ? 2 : 1;
    token->kind = TILE_TOKEN_TEXT;
    token->text = start;
    token->length = (size_t)(lexer->at - start);
    bool closed = lexer->at < lexer->end && *lexer->at == '"';
    lexer->at += closed;
    if (closed && token->length <= TILE_MAX_TEXT) return;
    _Static_assert(TILE_MAX_TEXT == 16384, "the text states this limit");
    token->kind = TILE_TOKEN_BAD;
    token->problem = closed ? "this text has more than 16384 bytes; write a shorter one"
                            : "this text lacks its closing quotation mark";
}

static void lex_punctuation(tile_lexer *lexer, tile_token *token) {
    static const char *const two[] = {"->", "==", "!=", "<=", ">=", "<<", ">>"};
    for (unsigned i = 0; i < sizeof two / sizeof *two; i++)
        if (lexer->at[0] == two[i][0] && peek(lexer, 1) == two[i][1]) {
            lexer->at += 2;
            return;
        }
    if (*lexer->at == 0 || !strchr("()[]{}<>,:=+-*/&|^~?", *lexer->at)) {
        token->kind = TILE_TOKEN_BAD;
        bool point = *lexer->at == '.' && is_digit(peek(lexer, 1));
        bool ascii = (unsigned char)*lexer->at < 0x80;
        token->problem = point ? "a digit precedes the point of a number: 0.5"
                         : ascii
                             ? "unexpected character"
                             : "this character is not ASCII; only comments and texts have others";
    }
    /* A multi-byte character is reported once. */
    for (lexer->at++; lexer->at < lexer->end && (*lexer->at & 0xc0) == 0x80;) lexer->at++;
}

tile_token tile_lexer_next(tile_lexer *lexer) {
    skip_space(lexer);
    const char *start = lexer->at;
    tile_token token = {.kind = TILE_TOKEN_PUNCT};
    tile_loc loc = {lexer->file, lexer->line, (uint32_t)(start - lexer->line_start) + 1};
    char c = peek(lexer, 0), after = peek(lexer, 1);
    if (start == lexer->end) {
        token.kind = TILE_TOKEN_END;
    } else if (is_letter(c)) {
        lex_name(lexer, &token, TILE_TOKEN_WORD);
    } else if (is_digit(c)) {
        lex_number(lexer, &token);
    } else if (c == '"') {
        lex_text(lexer, &token);
    } else if ((c == '%' || c == '@' || c == '#') && is_name(after)) {
        lexer->at++;
        lex_name(lexer, &token,
                 c == '%'   ? TILE_TOKEN_VALUE
                 : c == '@' ? TILE_TOKEN_SYMBOL
                            : TILE_TOKEN_ALIAS);
    } else {
        lex_punctuation(lexer, &token);
    }
    if (!token.text) {
        token.text = start;
        token.length = (size_t)(lexer->at - start);
    }
    token.loc = loc;
    token.first_on_line = lexer->fresh_line;
    lexer->fresh_line = false;
    return token;
}
