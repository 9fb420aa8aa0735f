/* Finds renamed words in a text: those that `tile-opt --migrate` replaces, and those that the
 * parser can only detect after reading the whole text, since they depend on the use of a parameter.
 */
#ifndef TILE_LIB_TEXT_MIGRATE_H
#define TILE_LIB_TEXT_MIGRATE_H

#include "lib/ir/renames.h"
#include "lib/text/lexer.h"

/* A token that is part of a row's old words, and its replacement. */
typedef struct tile_old_word {
    tile_token token;
    const tile_rename *row;
    const char *now;
    size_t length; /* of `now` */
} tile_old_word;

typedef struct tile_old_words {
    tile_old_word *words; /* in the order of the text */
    size_t count;
    tile_token bad; /* of kind BAD: an invalid token; the text then has no words */
} tile_old_words;

/* All memory is in the arena, except for pointers into the text. */
tile_old_words tile_find_old_words(const char *text, size_t length, uint32_t file,
                                   tile_arena *arena);

#endif
