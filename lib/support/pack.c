/* Records as bytes: a number takes 8 bytes; a text or bytes their size, then the data; a list the
 * number of its items, then the items. The same code writes and reads. */
#include <string.h>

#include "lib/support/record.h"

typedef struct stream {
    tile_text *to;     /* writing; NULL: reading */
    tile_arena *arena; /* reading */
    const char *at, *end;
} stream;

static bool move_fields(stream *s, const tile_record *record, char *base);
static bool move_value(stream *s, const tile_field *field, char *base);

static bool move(stream *s, void *data, size_t size) {
    if (!size) return true; /* data may be NULL */
    if (s->to) {
        tile_text_append(data, size, s->to);
        return true;
    }
    if ((size_t)(s->end - s->at) < size) return false;
    memcpy(data, s->at, size);
    s->at += size;
    return true;
}

/* Moves *size bytes; when reading, the result points into the message. NULL if *size is SIZE_MAX.
 */
static bool move_bytes(stream *s, const char **data, size_t *size) {
    if (!move(s, size, sizeof *size)) return false;
    if (*size == SIZE_MAX) {
        *data = NULL;
        return true;
    }
    if (s->to) return move(s, (void *)*data, *size);
    if (*size > (size_t)(s->end - s->at)) return false;
    *data = s->at;
    s->at += *size;
    return true;
}

static bool move_text(stream *s, const tile_field *field, char *member) {
    const char *text = tile_field_pointer(member);
    size_t size = text ? strlen(text) : SIZE_MAX;
    if (!move_bytes(s, &text, &size)) return false;
    if (s->to) return true;
    tile_field_set_pointer(text ? tile_arena_string(s->arena, text, size) : NULL, member);
    return text || field->optional;
}

static bool move_list(stream *s, const tile_field *field, char *base) {
    size_t size = tile_item_size(field->item);
    uint64_t count = tile_field_count(field, base);
    if (!move(s, &count, sizeof count)) return false;
    if (!s->to) {
        if (count > (field->most ? field->most : (size_t)(s->end - s->at))) return false;
        tile_field_set_list(field, tile_arena_alloc(s->arena, size * (count + 1)), (unsigned)count,
                            base);
    }
    char *items = (char *)tile_field_pointer(base + field->offset);
    for (size_t i = 0; i < count; i++)
        if (!move_value(s, field->item, items + i * size)) return false;
    return true;
}

static bool move_value(stream *s, const tile_field *field, char *base) {
    char *member = base + field->offset;
    switch (field->kind) {
    case TILE_KIND_BOOL:
    case TILE_KIND_UNSIGNED:
    case TILE_KIND_INT:
    case TILE_KIND_INT64:
    case TILE_KIND_UINT64: {
        int64_t number = s->to ? tile_field_load(field, member) : 0;
        return move(s, &number, sizeof number) &&
               (s->to || tile_field_store(field, number, member));
    }
    case TILE_KIND_DOUBLE: return move(s, member, sizeof(double));
    case TILE_KIND_TEXT: return move_text(s, field, member);
    case TILE_KIND_LIST: return move_list(s, field, base);
    case TILE_KIND_RECORD: return move_fields(s, field->record, member);
    case TILE_KIND_BYTES: {
        const char *data = tile_field_pointer(member);
        size_t *size = (size_t *)(void *)(base + field->count_offset), none = 0;
        if (!move_bytes(s, &data, data || !s->to ? size : &none)) return false;
        if (!s->to) tile_field_set_pointer(*size ? data : NULL, member);
        return true;
    }
    }
    return false;
}

static bool move_fields(stream *s, const tile_record *record, char *base) {
    for (unsigned i = 0; i < record->count; i++)
        if (!move_value(s, &record->fields[i], base)) return false;
    return true;
}

void tile_record_pack(const tile_record *record, const void *from, tile_text *to) {
    stream s = {.to = to};
    move_fields(&s, record, (char *)from);
}

bool tile_record_unpack(const tile_record *record, const char *data, size_t size, tile_arena *arena,
                        void *to) {
    stream s = {.arena = arena, .at = data, .end = data + size};
    memset(to, 0, record->size);
    return move_fields(&s, record, to) && s.at == s.end;
}
