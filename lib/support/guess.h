/* Which of the words that exist a misspelt one was meant to be. */
#ifndef TILE_LIB_SUPPORT_GUESS_H
#define TILE_LIB_SUPPORT_GUESS_H

#include "lib/support/arena.h"

/* Keeps the candidate that is nearest; text and candidates are borrowed. */
typedef struct tile_guess {
    const char *text;
    size_t length;
    const char *best; /* NULL: none is near enough */
    unsigned cost;    /* of the best one, and of those that are too far away */
} tile_guess;

tile_guess tile_guess_start(const char *text, size_t length);
void tile_guess_try(tile_guess *guess, const char *candidate);
/* "; did you mean 'load'?" or "". mark stands before the name: "%", "@" or "". */
const char *tile_guess_phrase(const tile_guess *guess, const char *mark, tile_arena *arena);

#endif
