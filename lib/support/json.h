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
    bool truth;                    /* BOOL */
    const char *text;              /* STRING: UTF-8, contains no zero byte. NUMBER: as written */
    const struct tile_json *first; /* ARRAY, OBJECT: its elements, in order */
    const struct tile_json *next;  /* the element after this one */
    const char *key;               /* of an object's element */
    unsigned line, column;         /* position of its first character in the text */
} tile_json;

/* Parses the text; the result is allocated in the arena and does not point into `text`. NULL if the
 * text is not JSON, is nested more than 64 deep, or has a string with a zero byte. */
const tile_json *tile_json_read(tile_arena *arena, const char *text, size_t length);

/* Returns whether it is a 64-bit integer, and *value. */
bool tile_json_is_int(const tile_json *json, int64_t *value);

/* Appends the text as a quoted string. */
void tile_json_put_string(tile_text *to, const char *text);
/* Appends , "name": "text": a field that follows others. A NULL text becomes "". */
void tile_json_put_field(tile_text *to, const char *name, const char *text);

#endif
