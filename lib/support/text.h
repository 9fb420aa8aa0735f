/* Text that grows in an arena. */
#ifndef TILE_LIB_SUPPORT_TEXT_H
#define TILE_LIB_SUPPORT_TEXT_H

#include <string.h>

#include "lib/support/arena.h"

/* Starts with zeros but for the arena. data is not ended by a zero byte. */
typedef struct tile_text {
    tile_arena *arena;
    char *data;
    size_t length, capacity;
} tile_text;

/* A tile_writer; text_ is a tile_text. */
void tile_text_append(const char *piece, size_t length, void *text_);
/* A number, a name and the like: printf's format. */
void tile_text_format(tile_text *text, const char *format, ...) TILE_PRINTF(2, 3);

/* Whether the text of this length is the word; neither, if it is NULL. */
static inline bool tile_text_is(const char *word, const char *text, size_t length) {
    return word && text && strlen(word) == length && memcmp(word, text, length) == 0;
}

#endif
