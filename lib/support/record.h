/* Records: structs described by a table of fields, and functions derived from the table: the struct
 * as JSON, and as bytes that two processes of the same version on one machine exchange.
 *
 *   static const tile_field fields[] = {
 *       {TILE_FIELD("device", point, device)},
 *       {TILE_FIELD("sm_count", point, sms), .min = 1, .max = 1024},
 *       {TILE_LIST("grid", point, grid, rank), .item = &tile_text_item, .least = 3, .most = 3},
 *   };
 *   static const tile_record record = {TILE_RECORD(point, fields)};
 *
 * The kind of a field follows from the member's type. Reading checks that every field occurs once
 * and has its kind, that numbers and lengths of lists are in range, and that there are no other
 * fields. */
#ifndef TILE_LIB_SUPPORT_RECORD_H
#define TILE_LIB_SUPPORT_RECORD_H

#include <stddef.h>

#include "lib/support/json.h"

typedef enum tile_field_kind {
    TILE_KIND_BOOL,
    TILE_KIND_UNSIGNED, /* unsigned integers and enumerations */
    TILE_KIND_INT,
    TILE_KIND_INT64,
    TILE_KIND_UINT64, /* not in JSON */
    TILE_KIND_DOUBLE,
    TILE_KIND_TEXT,   /* const char * */
    TILE_KIND_RECORD, /* a struct */
    TILE_KIND_LIST,   /* a pointer to the first item; another member has the number of items */
    TILE_KIND_BYTES,  /* likewise, without a table for the items; not in JSON */
} tile_field_kind;

typedef struct tile_record tile_record;

typedef struct tile_field {
    const char *key;
    tile_field_kind kind;
    size_t offset, count_offset; /* of the member, and of the number of items or bytes */
    size_t size;                 /* of an item, in bytes */
    bool optional;               /* JSON may omit it: a text or list is NULL, a bool or number 0 */
    bool as_number;              /* BOOL: 0 or 1 in JSON */
    int64_t min, max;            /* number: its range; both 0: the range of the type */
    unsigned least, most;        /* LIST: number of items; most 0: any number */
    const struct tile_field *item; /* LIST */
    const tile_record *record;     /* RECORD */
    const char *line;              /* JSON: text before the field or each item; NULL: default */
    const char *end, *empty; /* LIST in JSON: text before `]` with and without items, or NULL */
} tile_field;

struct tile_record {
    size_t size;
    const tile_field *fields;
    unsigned count;
    const char *line, *end; /* JSON: text before each field, and before `}`; NULL: one line */
};

#define TILE_MEMBER(type, member) (((const type *)0)->member)
#define TILE_KIND_OF(type, member) \
    _Generic(TILE_MEMBER(type, member), bool: TILE_KIND_BOOL, unsigned: TILE_KIND_UNSIGNED, \
             int: TILE_KIND_INT, int64_t: TILE_KIND_INT64, uint64_t: TILE_KIND_UINT64, \
             double: TILE_KIND_DOUBLE, const char *: TILE_KIND_TEXT)

#define TILE_FIELD(name, type, member) \
    .key = (name), .kind = TILE_KIND_OF(type, member), .offset = offsetof(type, member)
#define TILE_LIST(name, type, member, length) \
    .key = (name), .offset = offsetof(type, member), .kind = TILE_KIND_LIST, \
    .count_offset = offsetof(type, length)
#define TILE_BYTES(name, type, member, length) \
    .key = (name), .offset = offsetof(type, member), .kind = TILE_KIND_BYTES, \
    .count_offset = offsetof(type, length)
#define TILE_RECORD(type, fields_) \
    .size = sizeof(type), .fields = (fields_), .count = sizeof(fields_) / sizeof *(fields_)
/* The items of a list are records. */
#define TILE_ITEM(of) \
    { .kind = TILE_KIND_RECORD, .record = &(of) }

extern const tile_field tile_text_item, tile_int64_item;

/* Appends the struct as a JSON object. */
void tile_record_print(const tile_record *record, const void *from, tile_text *to);
/* Reads the struct from the text of a JSON object; texts and lists are allocated in the arena.
 * Returns NULL, or an error message with the location, what was found and what was expected.
 * Members without a field are not changed. */
const char *tile_record_read(const tile_record *record, const char *text, size_t length,
                             tile_arena *arena, void *to);

/* Checks the format number of the text, under `key`. Returns NULL, or an error message if another
 * version wrote the text. Also returns NULL if the text is no JSON object, which tile_record_read
 * reports. */
const char *tile_record_other_format(const char *key, int64_t expected, const char *text,
                                     size_t length, tile_arena *arena);

/* Appends the struct as bytes, without keys. */
void tile_record_pack(const tile_record *record, const void *from, tile_text *to);
/* Reads the struct from these bytes, which must contain nothing else. Texts and lists are allocated
 * in the arena; BYTES point into `data`. Returns false if something is missing or out of range. */
bool tile_record_unpack(const tile_record *record, const char *data, size_t size, tile_arena *arena,
                        void *to);

/* Members, for both formats: integers and bools (false: out of range), pointers, lists. */
int64_t tile_field_load(const tile_field *field, const void *member);
bool tile_field_store(const tile_field *field, int64_t value, void *member);
const void *tile_field_pointer(const void *member);
void tile_field_set_pointer(const void *pointer, void *member);
unsigned tile_field_count(const tile_field *field, const void *base);
void tile_field_set_list(const tile_field *field, const void *items, unsigned count, void *base);
size_t tile_item_size(const tile_field *item);

#endif
