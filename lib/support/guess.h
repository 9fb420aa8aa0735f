/* Guesses which of the existing words a misspelled word was meant to be. */
#ifndef TILE_LIB_SUPPORT_GUESS_H
#define TILE_LIB_SUPPORT_GUESS_H

#include "lib/support/arena.h"

/* Keeps the nearest candidate; text and candidates are borrowed. */
typedef struct tile_guess {
    const char *text;
    size_t length;
    const char *best; /* NULL: no candidate is near enough */
    unsigned cost;    /* of the best candidate; initially the lowest cost that is rejected */
} tile_guess;

tile_guess tile_guess_start(const char *text, size_t length);
void tile_guess_try(tile_guess *guess, const char *candidate);
/* "; did you mean 'load'?" or "". mark precedes the name: "%", "@" or "". */
const char *tile_guess_phrase(const tile_guess *guess, const char *mark, tile_arena *arena);

#endif
