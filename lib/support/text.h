/* Text that grows in an arena. */
#ifndef TILE_LIB_SUPPORT_TEXT_H
#define TILE_LIB_SUPPORT_TEXT_H

#include <string.h>

#include "lib/support/arena.h"

/* All fields start as zero except the arena. data is not zero-terminated. */
typedef struct tile_text {
    tile_arena *arena;
    char *data;
    size_t length, capacity;
} tile_text;

/* Is a tile_writer; text_ is a tile_text. */
void tile_text_append(const char *piece, size_t length, void *text_);
/* Appends formatted text; printf's format. */
void tile_text_format(tile_text *text, const char *format, ...) TILE_PRINTF(2, 3);

/* Returns whether the text of this length equals the word; false if either is NULL. */
static inline bool tile_text_is(const char *word, const char *text, size_t length) {
    return word && text && strlen(word) == length && memcmp(word, text, length) == 0;
}

#endif
