#include "lib/support/record.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "lib/support/guess.h"

const tile_field tile_text_item = {.kind = TILE_KIND_TEXT, .size = sizeof(const char *)};
const tile_field tile_int64_item = {.kind = TILE_KIND_INT64, .size = sizeof(int64_t)};

/* Members -------------------------------------------------------------------------------------- */

int64_t tile_field_load(const tile_field *field, const void *member) {
    if (field->kind == TILE_KIND_BOOL) return *(const bool *)member;
    if (field->kind == TILE_KIND_UNSIGNED) return *(const unsigned *)member;
    return field->kind == TILE_KIND_INT ? *(const int *)member : *(const int64_t *)member;
}

typedef struct limits {
    int64_t min, max;
} limits;

static limits limits_of(const tile_field *field) {
    static const limits of_kind[] = {[TILE_KIND_BOOL] = {0, 1},
                                     [TILE_KIND_UNSIGNED] = {0, UINT_MAX},
                                     [TILE_KIND_INT] = {INT_MIN, INT_MAX},
                                     [TILE_KIND_INT64] = {INT64_MIN, INT64_MAX},
                                     [TILE_KIND_UINT64] = {INT64_MIN, INT64_MAX}};
    bool is_limited = field->min || field->max;
    return is_limited ? (limits){field->min, field->max} : of_kind[field->kind];
}

bool tile_field_store(const tile_field *field, int64_t value, void *member) {
    const limits range = limits_of(field);
    if (field->kind == TILE_KIND_BOOL)
        *(bool *)member = value != 0;
    else if (field->kind == TILE_KIND_UNSIGNED)
        *(unsigned *)member = (unsigned)value;
    else if (field->kind == TILE_KIND_INT)
        *(int *)member = (int)value;
    else
        *(int64_t *)member = value;
    return value >= range.min && value <= range.max;
}

const void *tile_field_pointer(const void *member) {
    const void *pointer;
    memcpy(&pointer, member, sizeof pointer);
    return pointer;
}

void tile_field_set_pointer(const void *pointer, void *member) {
    memcpy(member, &pointer, sizeof pointer);
}

unsigned tile_field_count(const tile_field *field, const void *base) {
    return *(const unsigned *)(const void *)((const char *)base + field->count_offset);
}

void tile_field_set_list(const tile_field *field, const void *items, unsigned count, void *base) {
    tile_field_set_pointer(items, (char *)base + field->offset);
    *(unsigned *)(void *)((char *)base + field->count_offset) = count;
}

size_t tile_item_size(const tile_field *item) {
    return item->record ? item->record->size : item->size;
}

/* Printing ------------------------------------------------------------------------------------- */

static void print_value(const tile_field *field, const void *base, tile_text *to);

static void put(const char *text, tile_text *to) {
    tile_text_append(text, strlen(text), to);
}

/* The separator before item or field `index`. */
static void print_line(const char *line, unsigned index, tile_text *to) {
    if (index) put(",", to);
    put(line ? line : index ? " " : "", to);
}

static void print_list(const tile_field *field, const void *base, tile_text *to) {
    const char *items = tile_field_pointer((const char *)base + field->offset);
    unsigned count = tile_field_count(field, base);
    const char *end = count ? field->end : field->empty;
    put("[", to);
    for (unsigned i = 0; i < count; i++) {
        print_line(field->item->line, i, to);
        print_value(field->item, items + i * tile_item_size(field->item), to);
    }
    put(end ? end : "", to);
    put("]", to);
}

static void print_value(const tile_field *field, const void *base, tile_text *to) {
    const void *member = (const char *)base + field->offset;
    const char *text;
    switch (field->kind) {
    case TILE_KIND_BOOL:
        text = tile_field_load(field, member) ? "true" : "false";
        if (field->as_number) text = tile_field_load(field, member) ? "1" : "0";
        put(text, to);
        break;
    case TILE_KIND_UNSIGNED:
    case TILE_KIND_INT:
    case TILE_KIND_INT64: tile_text_format(to, "%" PRId64, tile_field_load(field, member)); break;
    case TILE_KIND_DOUBLE: tile_text_format(to, "%.9g", *(const double *)member); break;
    case TILE_KIND_TEXT:
        text = tile_field_pointer(member);
        tile_json_put_string(to, text ? text : "");
        break;
    case TILE_KIND_RECORD: tile_record_print(field->record, member, to); break;
    case TILE_KIND_LIST: print_list(field, base, to); break;
    case TILE_KIND_UINT64:
    case TILE_KIND_BYTES: break;
    }
}

static bool is_left_out(const tile_field *field, const void *base) {
    bool is_pointer = field->kind == TILE_KIND_TEXT || field->kind == TILE_KIND_LIST;
    return field->optional && is_pointer && !tile_field_pointer((const char *)base + field->offset);
}

void tile_record_print(const tile_record *record, const void *from, tile_text *to) {
    unsigned printed = 0;
    put("{", to);
    for (unsigned i = 0; i < record->count; i++) {
        const tile_field *field = &record->fields[i];
        if (is_left_out(field, from)) continue;
        print_line(field->line ? field->line : record->line, printed++, to);
        tile_json_put_string(to, field->key);
        put(": ", to);
        print_value(field, from, to);
    }
    put(record->end ? record->end : "", to);
    put("}", to);
}

/* Reading -------------------------------------------------------------------------------------- */

typedef struct reader {
    tile_arena *arena;
    const char *key; /* of the field being read */
    const char *why;
} reader;

static bool read_value(reader *r, const tile_field *field, const tile_json *from, void *base);
static bool read_record(reader *r, const tile_record *record, const tile_json *from, void *to);

static bool fail(reader *r, const tile_json *at, const char *format, ...) TILE_PRINTF(3, 4);

static bool fail(reader *r, const tile_json *at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    r->why = tile_arena_format(r->arena, "line %u, column %u: %s", at->line, at->column,
                               tile_arena_vformat(r->arena, format, args));
    va_end(args);
    return false;
}

static bool fail_kind(reader *r, const tile_json *from, const char *expected) {
    static const char *const names[] = {
        [TILE_JSON_NULL] = "null",       [TILE_JSON_BOOL] = "true or false",
        [TILE_JSON_NUMBER] = "a number", [TILE_JSON_STRING] = "a string",
        [TILE_JSON_ARRAY] = "a list",    [TILE_JSON_OBJECT] = "an object"};
    return fail(r, from, "\"%s\": expected %s, found %s", r->key, expected, names[from->kind]);
}

static bool read_int(reader *r, const tile_field *field, const tile_json *from, void *member) {
    const limits range = limits_of(field);
    int64_t value;
    if (from->kind != TILE_JSON_NUMBER) return fail_kind(r, from, "a number");
    if (tile_json_is_int(from, &value) && tile_field_store(field, value, member)) return true;
    return fail(r, from,
                "\"%s\": expected a whole number from %" PRId64 " to %" PRId64 ", found %s", r->key,
                range.min, range.max, from->text);
}

static bool read_list(reader *r, const tile_field *field, const tile_json *from, void *base) {
    const tile_field *item = field->item;
    const char *key = r->key;
    size_t size = tile_item_size(item);
    unsigned count = 0, most = field->most ? field->most : UINT_MAX;
    if (from->kind != TILE_JSON_ARRAY) return fail_kind(r, from, "a list");
    for (const tile_json *at = from->first; at; at = at->next) count++;
    if (count < field->least || count > most)
        return fail(r, from, "\"%s\": expected a list of %u to %u items, found %u", r->key,
                    field->least, most, count);
    char *items = tile_arena_alloc(r->arena, size * (count + 1u));
    tile_field_set_list(field, items, count, base);
    count = 0;
    for (const tile_json *at = from->first; at; at = at->next, count++) {
        r->key = key;
        if (!read_value(r, item, at, items + size * count)) return false;
    }
    return true;
}

static bool read_text(reader *r, const tile_json *from, void *member) {
    if (from->kind != TILE_JSON_STRING) return fail_kind(r, from, "a string");
    tile_field_set_pointer(tile_arena_string(r->arena, from->text, strlen(from->text)), member);
    return true;
}

static bool read_double(reader *r, const tile_json *from, void *member) {
    if (from->kind != TILE_JSON_NUMBER) return fail_kind(r, from, "a number");
    *(double *)member = strtod(from->text, NULL);
    return true;
}

static bool read_value(reader *r, const tile_field *field, const tile_json *from, void *base) {
    void *member = (char *)base + field->offset;
    switch (field->kind) {
    case TILE_KIND_BOOL:
        if (field->as_number) return read_int(r, field, from, member);
        if (from->kind != TILE_JSON_BOOL) return fail_kind(r, from, "true or false");
        return *(bool *)member = from->truth, true;
    case TILE_KIND_UNSIGNED:
    case TILE_KIND_INT:
    case TILE_KIND_INT64: return read_int(r, field, from, member);
    case TILE_KIND_DOUBLE: return read_double(r, from, member);
    case TILE_KIND_TEXT: return read_text(r, from, member);
    case TILE_KIND_RECORD: return read_record(r, field->record, from, member);
    case TILE_KIND_LIST: return read_list(r, field, from, base);
    case TILE_KIND_UINT64:
    case TILE_KIND_BYTES: break;
    }
    return false;
}

static bool fail_unknown(reader *r, const tile_record *record, const tile_json *at) {
    tile_guess guess = tile_guess_start(at->key, strlen(at->key));
    for (unsigned i = 0; i < record->count; i++) tile_guess_try(&guess, record->fields[i].key);
    return fail(r, at, "there is no field \"%s\"%s", at->key,
                tile_guess_phrase(&guess, "", r->arena));
}

static bool read_record(reader *r, const tile_record *record, const tile_json *from, void *to) {
    uint64_t read = 0;
    if (from->kind != TILE_JSON_OBJECT) return fail_kind(r, from, "an object");
    for (const tile_json *at = from->first; at; at = at->next) {
        unsigned i = 0;
        while (i < record->count && strcmp(record->fields[i].key, at->key) != 0) i++;
        if (i == record->count) return fail_unknown(r, record, at);
        if (read >> i & 1) return fail(r, at, "the field \"%s\" occurs twice", at->key);
        read |= UINT64_C(1) << i;
        r->key = at->key;
        if (!read_value(r, &record->fields[i], at, to)) return false;
    }
    for (unsigned i = 0; i < record->count; i++)
        if (!record->fields[i].optional && !(read >> i & 1))
            return fail(r, from, "the field \"%s\" is missing", record->fields[i].key);
    return true;
}

const char *tile_record_read(const tile_record *record, const char *text, size_t length,
                             tile_arena *arena, void *to) {
    reader r = {.arena = arena, .key = "the whole text"};
    const tile_json *json = tile_json_read(arena, text, length);
    if (!json) return "it is not JSON";
    return read_record(&r, record, json, to) ? NULL : r.why;
}

const char *tile_record_other_format(const char *key, int64_t expected, const char *text,
                                     size_t length, tile_arena *arena) {
    const tile_json *json = tile_json_read(arena, text, length);
    if (!json || json->kind != TILE_JSON_OBJECT) return NULL;
    for (const tile_json *at = json->first; at; at = at->next) {
        int64_t format;
        if (strcmp(at->key, key) != 0) continue;
        if (!tile_json_is_int(at, &format))
            return tile_arena_format(arena, "its format number \"%s\" is no whole number", key);
        if (format == expected) return NULL;
        return tile_arena_format(
            arena, "it has format %" PRId64 ", and this version reads %" PRId64, format, expected);
    }
    return tile_arena_format(arena, "it has no format number \"%s\"", key);
}
