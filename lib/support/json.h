/* Reading JSON (RFC 8259), and writing its strings. */
#ifndef TILE_LIB_SUPPORT_JSON_H
#define TILE_LIB_SUPPORT_JSON_H

#include "lib/support/text.h"

typedef enum tile_json_kind {
    TILE_JSON_NULL,
    TILE_JSON_BOOL,
    TILE_JSON_NUMBER,
    TILE_JSON_STRING,
    TILE_JSON_ARRAY,
    TILE_JSON_OBJECT,
} tile_json_kind;

typedef struct tile_json {
    tile_json_kind kind;
    bool truth;       /* BOOL */
    const char *text; /* STRING: UTF-8, without a zero byte in it. NUMBER: as written */
    const struct tile_json *first; /* ARRAY, OBJECT: its elements, in order */
    const struct tile_json *next;  /* the element after this one */
    const char *key;               /* of an object's element */
    unsigned line, column;         /* where it begins in the text */
} tile_json;

/* The value that the text is; in the arena, and nothing of it in `text`. NULL if it is not JSON, if
 * it is nested more than 64 deep, or a string holds a zero byte. */
const tile_json *tile_json_read(tile_arena *arena, const char *text, size_t length);

/* True and *value if it is a whole number of 64 bits. */
bool tile_json_is_int(const tile_json *json, int64_t *value);

/* The text as a string, in quotes. */
void tile_json_put_string(tile_text *to, const char *text);
/* , "name": "text": a field behind others. NULL is "". */
void tile_json_put_field(tile_text *to, const char *name, const char *text);

#endif
