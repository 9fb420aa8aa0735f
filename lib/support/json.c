/* A JSON reader with one function for each kind of value, and functions shared by writers. */
#include "lib/support/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 64 };

typedef struct reader {
    tile_arena *arena;
    const char *at, *end;
    unsigned depth, line;
    const char *line_start;
} reader;

static bool read_value(reader *r, tile_json *value);

static void skip_blanks(reader *r) {
    for (; r->at < r->end && memchr(" \t\r\n", *r->at, 4); r->at++) {
        if (*r->at != '\n') continue;
        r->line++;
        r->line_start = r->at + 1;
    }
}

static bool take(reader *r, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) return false;
    r->at += length;
    return true;
}

/* Strings ------------------------------------------------------------------------------------- */

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_hex(reader *r, uint32_t *code) {
    *code = 0;
    if (r->end - r->at < 4) return false;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(*r->at++);
        if (digit < 0) return false;
        *code = *code << 4 | (uint32_t)digit;
    }
    return true;
}

static char *put_utf8(char *to, uint32_t code) {
    static const uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    unsigned bytes = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (unsigned i = bytes - 1; i > 0; i--, code >>= 6) to[i] = (char)(0x80 | (code & 0x3f));
    *to = (char)(heads[bytes] | code);
    return to + bytes;
}

/* \uXXXX, or a surrogate pair of two of them. */
static bool read_code(reader *r, char **to) {
    uint32_t code, low;
    if (!read_hex(r, &code) || !code || (code >= 0xdc00 && code < 0xe000)) return false;
    if (code >= 0xd800 && code < 0xdc00) {
        if (!take(r, "\\u") || !read_hex(r, &low) || low < 0xdc00 || low >= 0xe000) return false;
        code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
    }
    *to = put_utf8(*to, code);
    return true;
}

static bool read_escape(reader *r, char **to) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (r->at == r->end) return false;
    char c = *r->at++;
    if (c == 'u') return read_code(r, to);
    const char *name = c ? strchr(names, c) : NULL;
    if (!name) return false;
    *(*to)++ = values[name - names];
    return true;
}

static const char *read_string(reader *r) {
    if (!take(r, "\"")) return NULL;
    const char *quote = r->at;
    while (quote < r->end && *quote != '"') quote += *quote == '\\' ? 2 : 1;
    if (quote >= r->end) return NULL;
    /* An escape is never shorter than its character. */
    char *text = tile_arena_alloc(r->arena, (size_t)(quote - r->at) + 1), *to = text;
    while (r->at < quote) {
        char c = *r->at++;
        if ((unsigned char)c < 0x20 || (c == '\\' && !read_escape(r, &to))) return NULL;
        if (c != '\\') *to++ = c;
    }
    r->at++;
    *to = 0;
    return text;
}

/* Numbers, arrays, objects -------------------------------------------------------------------- */

static size_t digits(const reader *r, const char *at) {
    size_t count = 0;
    while (at + count < r->end && at[count] >= '0' && at[count] <= '9') count++;
    return count;
}

static const char *read_number(reader *r) {
    const char *at = r->at + (*r->at == '-');
    size_t whole = digits(r, at), part = 1;
    if (!whole || (whole > 1 && *at == '0')) return NULL;
    at += whole;
    if (at < r->end && *at == '.') {
        part = digits(r, at + 1);
        at += 1 + part;
    }
    if (part && at < r->end && (*at == 'e' || *at == 'E')) {
        at += 1 + (at + 1 < r->end && (at[1] == '-' || at[1] == '+'));
        part = digits(r, at);
        at += part;
    }
    if (!part) return NULL;
    const char *text = tile_arena_string(r->arena, r->at, (size_t)(at - r->at));
    r->at = at;
    return text;
}

/* The elements between the brackets, and the closing bracket. */
static bool read_elements(reader *r, tile_json *value, const char *close) {
    const tile_json **end = &value->first;
    skip_blanks(r);
    if (take(r, close)) return true;
    do {
        tile_json *element = TILE_NEW(r->arena, tile_json);
        skip_blanks(r);
        if (value->kind == TILE_JSON_OBJECT) {
            element->key = read_string(r);
            skip_blanks(r);
            if (!element->key || !take(r, ":")) return false;
        }
        if (!read_value(r, element)) return false;
        *end = element;
        end = &element->next;
        skip_blanks(r);
    } while (take(r, ","));
    return take(r, close);
}

static bool read_nested(reader *r, tile_json *value, tile_json_kind kind, const char *close) {
    value->kind = kind;
    if (++r->depth > MAX_DEPTH || !read_elements(r, value, close)) return false;
    r->depth--;
    return true;
}

static bool read_value(reader *r, tile_json *value) {
    skip_blanks(r);
    value->line = r->line;
    value->column = (unsigned)(r->at - r->line_start) + 1;
    if (r->at == r->end) return false;
    if (take(r, "null")) return true;
    if (take(r, "{")) return read_nested(r, value, TILE_JSON_OBJECT, "}");
    if (take(r, "[")) return read_nested(r, value, TILE_JSON_ARRAY, "]");
    if (*r->at == '"') {
        value->kind = TILE_JSON_STRING;
        return (value->text = read_string(r)) != NULL;
    }
    value->truth = take(r, "true");
    value->kind = TILE_JSON_BOOL;
    if (value->truth || take(r, "false")) return true;
    value->kind = TILE_JSON_NUMBER;
    return (value->text = read_number(r)) != NULL;
}

const tile_json *tile_json_read(tile_arena *arena, const char *text, size_t length) {
    reader r = {.arena = arena, .at = text, .end = text + length, .line = 1, .line_start = text};
    tile_json *value = TILE_NEW(arena, tile_json);
    if (!read_value(&r, value)) return NULL;
    skip_blanks(&r);
    return r.at == r.end ? value : NULL;
}

/* Numbers ------------------------------------------------------------------------------------- */

bool tile_json_is_int(const tile_json *json, int64_t *value) {
    char *end;
    if (json->kind != TILE_JSON_NUMBER) return false;
    errno = 0;
    *value = strtoll(json->text, &end, 10);
    return !*end && !errno;
}

/* Writing ------------------------------------------------------------------------------------- */

void tile_json_put_string(tile_text *to, const char *text) {
    tile_text_append("\"", 1, to);
    for (size_t plain;; text += plain + 1) {
        plain = 0;
        while ((unsigned char)text[plain] >= ' ' && text[plain] != '"' && text[plain] != '\\')
            plain++;
        tile_text_append(text, plain, to);
        unsigned char c = (unsigned char)text[plain];
        if (!c) break;
        tile_text_format(to, c < ' ' ? "\\u%04x" : "\\%c", c);
    }
    tile_text_append("\"", 1, to);
}

void tile_json_put_field(tile_text *to, const char *name, const char *text) {
    tile_text_format(to, ", \"%s\": ", name);
    tile_json_put_string(to, text ? text : "");
}
