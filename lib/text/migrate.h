/* Where a text has words that were renamed: what `tile-opt --migrate` replaces, and what the parser
 * cannot see before it has read everything, since only then it is known what a parameter is for. */
#ifndef TILE_LIB_TEXT_MIGRATE_H
#define TILE_LIB_TEXT_MIGRATE_H

#include "lib/ir/renames.h"
#include "lib/text/lexer.h"

/* A token that is a part of the row's old words, and the word that belongs in its place. */
typedef struct tile_old_word {
    tile_token token;
    const tile_rename *row;
    const char *now;
    size_t length; /* of now */
} tile_old_word;

typedef struct tile_old_words {
    tile_old_word *words; /* in the order of the text */
    size_t count;
    tile_token bad; /* of kind BAD: the text has no words, for this one could not be read */
} tile_old_words;

/* All in the arena, but for what points into the text. */
tile_old_words tile_find_old_words(const char *text, size_t length, uint32_t file,
                                   tile_arena *arena);

#endif
