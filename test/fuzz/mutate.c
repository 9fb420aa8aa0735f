/* Mutations of .tile text.
 *
 * If a fuzzer changes bytes, only one text in a hundred still parses, and the passes are hardly
 * reached. So most changes here replace a word by one of the same sort: a value by a value, a
 * number by a number, an operation by one with the same number of operands. Types are usually
 * changed everywhere in the text at once, because they must agree. */
#include "test/fuzz/mutate.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tile/ir.h"

/* The text during a mutation. Changes that would not fit are skipped. */
typedef struct buffer {
    uint8_t *data;
    size_t size, max_size;
    unsigned state;
} buffer;

typedef struct piece {
    size_t begin, end;
} piece;

static size_t next_random(buffer *b, size_t below) {
    b->state = b->state * 1664525u + 1013904223u;
    return below ? (b->state >> 8) % below : 0;
}

static bool replace(buffer *b, piece what, const void *with, size_t length) {
    size_t removed = what.end - what.begin;
    if (b->size - removed + length > b->max_size) return false;
    memmove(b->data + what.begin + length, b->data + what.end, b->size - what.end);
    if (length) memcpy(b->data + what.begin, with, length);
    b->size = b->size - removed + length;
    return true;
}

/* Words -------------------------------------------------------------------------------------- */

typedef enum sort { OTHER, VALUE, NUMBER, SCALAR, OPERATION, NAME } sort;

static bool is_digit(uint8_t c) {
    return c >= '0' && c <= '9';
}

static bool is_word_part(uint8_t c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_mark(uint8_t c) {
    return c == '%' || c == '@' || c == '#';
}

/* Returns the word around a position, including its prefix character, or one other character; never
 * empty. */
static piece word_at(const buffer *b, size_t at) {
    if (is_mark(b->data[at]) && at + 1 < b->size && is_word_part(b->data[at + 1])) at++;
    piece p = {at, at};
    if (!is_word_part(b->data[at])) return (piece){at, at + 1};
    while (p.begin > 0 && is_word_part(b->data[p.begin - 1])) p.begin--;
    while (p.end < b->size && is_word_part(b->data[p.end])) p.end++;
    p.begin -= p.begin > 0 && is_mark(b->data[p.begin - 1]);
    return p;
}

static sort sort_of(const buffer *b, piece word) {
    const char *text = (const char *)b->data + word.begin;
    size_t length = word.end - word.begin;
    if (*text == '%') return VALUE;
    if (is_digit((uint8_t)*text)) return NUMBER;
    if (!is_word_part((uint8_t)*text)) return OTHER;
    if (tile_scalar_from_name(text, length) != TILE_SCALAR_NONE) return SCALAR;
    bool type = word.end < b->size && b->data[word.end] == '<';
    return !type && tile_opcode_from_name(text, length) != TILE_OP_NONE ? OPERATION : NAME;
}

/* Returns a word of the wanted sort; an empty piece if none was found. */
static piece find_word(buffer *b, sort wanted) {
    enum { TRIES = 100 };
    for (unsigned i = 0; i < TRIES && b->size; i++) {
        piece word = word_at(b, next_random(b, b->size));
        if (sort_of(b, word) == wanted) return word;
    }
    return (piece){0, 0};
}

static bool is_same_word(const buffer *b, piece word, const uint8_t *text, size_t length) {
    return word.end - word.begin == length && memcmp(b->data + word.begin, text, length) == 0;
}

/* Replaces a word by a text, only there or everywhere. */
static void put(buffer *b, piece word, bool everywhere, const char *with) {
    uint8_t old[64];
    size_t length = word.end - word.begin, at = 0;
    if (!length || length > sizeof old) return;
    memcpy(old, b->data + word.begin, length);
    if (!everywhere) {
        replace(b, word, with, strlen(with));
        return;
    }
    while (at < b->size) {
        piece here = word_at(b, at);
        at = here.end;
        if (!is_same_word(b, here, old, length)) continue;
        if (!replace(b, here, with, strlen(with))) return;
        at = here.begin + strlen(with);
    }
}

/* Returns the word as a string; the caller frees it. */
static char *copy_word(const uint8_t *data, piece word) {
    size_t length = word.end - word.begin;
    char *copy = calloc(length + 1, 1);
    memcpy(copy, data + word.begin, length);
    return copy;
}

/* Sorts of words ----------------------------------------------------------------------------- */

/* Sizes, powers of two and their neighbors, limits of types, literals of several kinds. */
static const char *const numbers[] = {
    "0",          "1",          "-1",         "2",          "3",          "4",
    "5",          "7",          "8",          "16",         "31",         "32",
    "33",         "64",         "128",        "256",        "1024",       "4096",
    "65535",      "65536",      "1048576",    "2147483647", "2147483648", "-2147483648",
    "4294967295", "4294967296", "1073741824", "1.5",        "-0.0",       "1e30",
    "1e-40",      "inf",        "nan",        "true",       "?",          "9223372036854775807",
    "0x7fffffff", "f16(1.0)",   "i64(5)",     "i8(200)",    "(1 + 2)",    "-9223372036854775807",
};

static const char *const scalars[] = {"i1",   "i8",  "i16", "i32",  "i64",  "f16",
                                      "bf16", "f32", "f64", "tf32", "e4m3", "e5m2"};

static const char *const loop_clauses[] = {
    " pipelined (2)", " pipelined (3)", " unroll (2)", " unroll (4)", " pipelined (2) unroll (2)",
    " finite"};
static const char *const kernel_clauses[] = {" sync explicit",
                                             " cluster [2]",
                                             " where 1 < 2",
                                             " raster rows(2)",
                                             " raster columns(3)",
                                             " raster auto",
                                             " tune auto",
                                             " persistent auto",
                                             " persistent",
                                             " persistent balanced by block_id(0) * 2",
                                             " persistent balanced by 5 - block_id(1)"};

#define ANY_OF(b, list) list[next_random(b, sizeof list / sizeof *list)]

static void change_value(buffer *b) {
    piece to = find_word(b, VALUE), from = find_word(b, VALUE);
    char *name = copy_word(b->data, from);
    put(b, to, false, name);
    free(name);
}

static void change_number(buffer *b) {
    piece to = find_word(b, NUMBER), from = find_word(b, NUMBER);
    char *other = copy_word(b->data, from);
    bool everywhere = next_random(b, 2);
    put(b, to, everywhere, next_random(b, 2) ? ANY_OF(b, numbers) : other);
    free(other);
}

static void change_scalar(buffer *b) {
    bool everywhere = next_random(b, 4);
    put(b, find_word(b, SCALAR), everywhere, ANY_OF(b, scalars));
}

/* Usually chooses an operation with the same number of operands. */
static void change_operation(buffer *b) {
    piece word = find_word(b, OPERATION);
    const char *text = (const char *)b->data + word.begin;
    const tile_op_info *old = tile_op_get_info(tile_opcode_from_name(text, word.end - word.begin));
    bool any = next_random(b, 8) == 0;
    for (unsigned tries = 0; tries < 100; tries++) {
        const tile_op_info *info = tile_op_get_info((tile_opcode)next_random(b, TILE_OPCODE_LIMIT));
        if (!info->name || (!any && info->operand_count != old->operand_count)) continue;
        put(b, word, false, info->name);
        return;
    }
}

/* Lines -------------------------------------------------------------------------------------- */

static piece line_at(const uint8_t *data, size_t size, size_t at) {
    piece p = {at, at};
    while (p.begin > 0 && data[p.begin - 1] != '\n') p.begin--;
    while (p.end < size && data[p.end] != '\n') p.end++;
    if (p.end < size) p.end++;
    return p;
}

static piece find_line(buffer *b) {
    return line_at(b->data, b->size, next_random(b, b->size));
}

/* Renames the values that a line defines, so that the line can be duplicated. */
static void rename_result(buffer *b, piece line) {
    size_t at = line.begin;
    while (at < line.end && b->data[at] == ' ') at++;
    if (at == line.end || b->data[at] != '%') return;
    char fresh[] = "z0_";
    fresh[1] = (char)('0' + next_random(b, 10));
    replace(b, (piece){at + 1, at + 1}, fresh, strlen(fresh));
}

static void copy_line(buffer *b) {
    piece from = find_line(b), to = find_line(b);
    char *line = copy_word(b->data, from);
    to.end = to.begin;
    if (replace(b, to, line, strlen(line)))
        rename_result(b, (piece){to.begin, to.begin + strlen(line)});
    free(line);
}

static void drop_line(buffer *b) {
    replace(b, find_line(b), NULL, 0);
}

/* Returns where a text first occurs in a line; the line's end if it does not. */
static size_t find_in(const buffer *b, piece line, const char *text) {
    size_t length = strlen(text);
    for (size_t at = line.begin; at + length <= line.end; at++)
        if (memcmp(b->data + at, text, length) == 0) return at;
    return line.end;
}

/* Operations of the table ---------------------------------------------------------------------- */

enum { STATEMENT = 512 };

static void append(char text[STATEMENT], const char *more) {
    strncat(text, more, STATEMENT - 1 - strlen(text));
}

static void append_value(buffer *b, char text[STATEMENT]) {
    char *name = copy_word(b->data, find_word(b, VALUE));
    append(text, *name ? name : "0");
    free(name);
}

/* Appends one to three values or numbers, separated by commas. */
static void append_values(buffer *b, char text[STATEMENT]) {
    for (size_t more = 1 + next_random(b, 3); more; more--) {
        if (next_random(b, 3))
            append_value(b, text);
        else
            append(text, ANY_OF(b, numbers));
        if (more > 1) append(text, ", ");
    }
}

/* Appends `name = value`, with a value of the attribute's kind. */
static void append_attribute(buffer *b, char text[STATEMENT], tile_attr_id id) {
    const tile_attr_info *info = tile_attr_get_info(id);
    unsigned words = 0;
    append(text, info->name);
    switch (info->kind) {
    case TILE_KIND_flag: return;
    case TILE_KIND_word:
        while (tile_attr_word(id, words)) words++;
        append(text, " = ");
        append(text, words ? tile_attr_word(id, (unsigned)next_random(b, words)) : "add");
        return;
    case TILE_KIND_list: append(text, next_random(b, 2) ? " = [1, 0]" : " = [0, 0, 1, 2]"); return;
    case TILE_KIND_text: append(text, " = \"text\""); return;
    case TILE_KIND_symbol: append(text, " = @k"); return;
    case TILE_KIND_values:
    case TILE_KIND_expr:
    case TILE_KIND_constant:
    case TILE_KIND_tile:
        append(text, " = ");
        append(text, ANY_OF(b, numbers));
        return;
    }
}

static void append_operand(buffer *b, char text[STATEMENT], tile_operand_form form) {
    switch (form) {
    case TILE_FORM_list:
    case TILE_FORM_optlist:
        append(text, "[");
        append_values(b, text);
        append(text, "]");
        return;
    case TILE_FORM_element:
    case TILE_FORM_part:
    case TILE_FORM_address:
    case TILE_FORM_optaddress:
        append_value(b, text);
        append(text, "[");
        append_values(b, text);
        append(text, "]");
        return;
    case TILE_FORM_value:
    case TILE_FORM_optional:
    case TILE_FORM_whole:
    case TILE_FORM_variadic: append_value(b, text); return;
    }
}

/* Optional operands are usually omitted. */
static bool is_left_out(buffer *b, tile_operand_form form) {
    bool optional = form == TILE_FORM_optional || form == TILE_FORM_optaddress ||
                    form == TILE_FORM_whole || form == TILE_FORM_optlist;
    return optional && next_random(b, 3);
}

/* Adds a statement for any row of the table, using existing values. If the result's type must be
 * given, it is the type in some other line. */
static void add_operation(buffer *b) {
    const tile_op_info *info = tile_op_get_info((tile_opcode)next_random(b, TILE_OPCODE_LIMIT));
    char text[STATEMENT] = "  %z0_ = ";
    const char *comma = " ", *brace = " {";
    if (!info->name || info->shape != TILE_SHAPE_NONE) return;
    text[4] = (char)('0' + next_random(b, 10));
    append(text, info->name);
    for (unsigned i = 0; i < info->operand_count; i++) {
        if (is_left_out(b, info->operands[i].form)) continue;
        append(text, comma);
        append_operand(b, text, info->operands[i].form);
        comma = ", ";
    }
    for (unsigned i = 0; i < info->attr_count; i++) {
        if (!info->attrs[i].required && next_random(b, 4)) continue;
        append(text, brace);
        append_attribute(b, text, info->attrs[i].id);
        brace = ", ";
    }
    if (*brace == ',') append(text, "}");
    piece like = find_line(b);
    size_t type = find_in(b, like, " : ");
    if (type < like.end && (info->type_given || next_random(b, 4) == 0)) {
        char *behind = copy_word(b->data, (piece){type, like.end});
        behind[strcspn(behind, "\n")] = 0;
        append(text, behind);
        free(behind);
    }
    append(text, "\n");
    piece to = find_line(b);
    replace(b, (piece){to.begin, to.begin}, text, strlen(text));
}

/* Returns ` {name = value}`, for any attribute or for one that the line's operation takes. */
static const char *any_attribute(buffer *b, piece line, char text[STATEMENT]) {
    unsigned tries = 0;
    tile_attr_id id = TILE_ATTR_NONE;
    for (size_t at = line.begin; at < line.end && id == TILE_ATTR_NONE;) {
        piece word = word_at(b, at);
        const char *name = (const char *)b->data + word.begin;
        const tile_op_info *info =
            sort_of(b, word) == OPERATION
                ? tile_op_get_info(tile_opcode_from_name(name, word.end - word.begin))
                : NULL;
        if (info && info->attr_count) id = info->attrs[next_random(b, info->attr_count)].id;
        at = word.end;
    }
    if (next_random(b, 4) == 0) id = TILE_ATTR_NONE;
    while ((id == TILE_ATTR_NONE || !tile_attr_get_info(id)->name) && tries++ < 100)
        id = (tile_attr_id)next_random(b, TILE_ATTR_LIMIT);
    strcpy(text, " {");
    if (tile_attr_get_info(id)->name) append_attribute(b, text, id);
    append(text, "}");
    return text;
}

/* Inserts a clause before the body of a loop or kernel, before the type of another operation, or at
 * the line's end. */
static void add_clause(buffer *b) {
    piece line = find_line(b);
    if (line.end > line.begin && b->data[line.end - 1] == '\n') line.end--;
    bool loop = find_in(b, line, "for %") < line.end, grid = find_in(b, line, "grid [") < line.end;
    size_t at = find_in(b, line, loop || grid ? " {" : " : ");
    char attribute[STATEMENT];
    const char *clause = loop   ? ANY_OF(b, loop_clauses)
                         : grid ? ANY_OF(b, kernel_clauses)
                                : any_attribute(b, line, attribute);
    replace(b, (piece){at, at}, clause, strlen(clause));
}

size_t fuzz_mutate(uint8_t *text, size_t size, size_t max_size, unsigned seed) {
    buffer b = {text, size, max_size, seed};
    if (!size) return 0;
    switch (next_random(&b, 18)) {
    case 0: drop_line(&b); break;
    case 1:
    case 2: copy_line(&b); break;
    case 3:
    case 16: add_clause(&b); break;
    case 17: add_operation(&b); break;
    case 4:
    case 5:
    case 6: change_operation(&b); break;
    case 7:
    case 8: change_scalar(&b); break;
    case 9:
    case 10:
    case 11: change_value(&b); break;
    default: change_number(&b); break;
    }
    return b.size;
}

/* Renames most values of a piece to other values of the text. */
static void adopt_values(buffer *b, piece where) {
    for (size_t at = where.begin; at < where.end && at < b->size;) {
        piece word = word_at(b, at);
        size_t before = b->size;
        if (sort_of(b, word) == VALUE && next_random(b, 4)) {
            char *name = copy_word(b->data, find_word(b, VALUE));
            put(b, word, false, name);
            free(name);
        }
        at = word.end + b->size - before;
        where.end += b->size - before;
    }
}

size_t fuzz_splice(uint8_t *text, size_t size, size_t max_size, const uint8_t *other,
                   size_t other_size, unsigned seed) {
    buffer b = {text, size, max_size, seed};
    if (!size || !other_size) return size;
    piece from = line_at(other, other_size, next_random(&b, other_size));
    for (size_t more = next_random(&b, 3); more && from.end < other_size; more--)
        from.end = line_at(other, other_size, from.end).end;
    char *lines = copy_word(other, from);
    piece to = find_line(&b);
    to.end = to.begin;
    if (replace(&b, to, lines, strlen(lines))) {
        piece put_in = {to.begin, to.begin + strlen(lines)};
        rename_result(&b, put_in);
        adopt_values(&b, put_in);
    }
    free(lines);
    return b.size;
}
