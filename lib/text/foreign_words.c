/* Spellings of other languages: an error at one of them says what to write instead. */
#include <string.h>

#include "lib/text/parser.h"

#define FOREIGN(place, spelling, advice) {TILE_FOREIGN_##place, spelling, advice},
static const struct {
    tile_foreign_place place;
    const char *spelling, *advice;
} rows[] = {
#include "lib/text/foreign_words.def"
};

static const char *const kinds[] = {
    [TILE_FOREIGN_OPERATION] = "unknown operation",
    [TILE_FOREIGN_WORD] = "unexpected word",
    [TILE_FOREIGN_TYPE] = "unknown type",
    [TILE_FOREIGN_CLAUSE] = "unknown clause",
    [TILE_FOREIGN_ATTRIBUTE] = "unknown attribute",
    [TILE_FOREIGN_MARK] = "unexpected",
    [TILE_FOREIGN_TOP] = "unexpected",
    [TILE_FOREIGN_MEMBER] = "unexpected",
};

/* The row for this place, or a row of WORD if an operation is expected; TILE_FOREIGN_NONE if there
 * is none. */
static size_t find_row(tile_foreign_place place, const char *text, size_t length) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool fits = rows[i].place == place ||
                    (place == TILE_FOREIGN_OPERATION && rows[i].place == TILE_FOREIGN_WORD);
        if (fits && tile_text_is(rows[i].spelling, text, length)) return i;
    }
    return SIZE_MAX;
}

/* The length of NAME in `.NAME`, if the next token begins with a point. */
static size_t member_length(const tile_parser *p, const tile_token *point) {
    const char *at = point->text + 1;
    if (point->kind != TILE_TOKEN_BAD || *point->text != '.' || (*at >= '0' && *at <= '9'))
        return 0;
    while (at < p->lexer.end && (*at == '_' || (*at >= '0' && *at <= '9') ||
                                 (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')))
        at++;
    return (size_t)(at - point->text) - 1;
}

bool tile_parse_foreign(tile_parser *p, tile_foreign_place place) {
    const tile_token *token = &p->token;
    bool point = *token->text == '.' && token->kind == TILE_TOKEN_BAD;
    bool marked = token->kind == TILE_TOKEN_SYMBOL || token->kind == TILE_TOKEN_ALIAS;
    const char *text = token->text - marked;
    size_t own = token->length + marked;
    size_t member = member_length(p, point ? token : &p->next);
    const char *name = point ? token->text + 1 : p->next.text + 1;
    if (token->kind == TILE_TOKEN_END || token->kind == TILE_TOKEN_TEXT) return false;
    size_t row = find_row(place, text, own);
    if (point) place = TILE_FOREIGN_OPERATION;
    if (row == SIZE_MAX && member) row = find_row(TILE_FOREIGN_MEMBER, name, member);
    if (row == SIZE_MAX && member) row = find_row(place, name, member);
    if (row == SIZE_MAX && !member) return false;
    const char *kind = kinds[row == SIZE_MAX ? place : rows[row].place];
    int length = (int)(point ? member + 1 : member ? (size_t)(name - text) + member : own);
    if (row != SIZE_MAX)
        tile_parse_error(p, token->loc, "%s '%.*s': %s", kind, length, text, rows[row].advice);
    else if (tile_opcode_from_name(name, member))
        tile_parse_error(p, token->loc, "%s '%.*s': write `%.*s`", kind, length, text, (int)member,
                         name);
    else
        tile_parse_error(p, token->loc, "%s '%.*s': `tile-opt --ops` lists the operations", kind,
                         length, text);
    return true;
}

bool tile_parse_is_foreign(const tile_token *token) {
    return token->kind == TILE_TOKEN_WORD &&
           find_row(TILE_FOREIGN_OPERATION, token->text, token->length) != SIZE_MAX;
}

void tile_parse_foreign_mark(tile_parser *p, tile_loc loc, const char *mark) {
    size_t row = find_row(TILE_FOREIGN_MARK, mark, strlen(mark));
    tile_parse_error(p, loc, "unexpected '%s': %s", mark, rows[row].advice);
}

const char *tile_foreign_advice(tile_foreign_place place, const tile_token *token) {
    size_t row = find_row(place, token->text, token->length);
    return row == SIZE_MAX ? NULL : rows[row].advice;
}
