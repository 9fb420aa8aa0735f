/* Edit distance, for misspelled words. */
#include "lib/support/guess.h"

#include <string.h>

enum { LONGEST_GUESS = 32 };

/* An edit costs 2, a different first letter 1 more. */
tile_guess tile_guess_start(const char *text, size_t length) {
    unsigned tolerated = length < 4 ? 1 : length < 6 ? 2 : 3;
    return (tile_guess){.text = text, .length = length, .cost = 2 * tolerated + 2};
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

static unsigned smallest(unsigned a, unsigned b, unsigned c) {
    unsigned least = a < b ? a : b;
    return least < c ? least : c;
}

/* Counts insertions, deletions, replacements, and swaps of adjacent letters. */
static unsigned edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    unsigned rows[3][LONGEST_GUESS + 1] = {{0}};
    for (unsigned j = 0; j <= b_length; j++) rows[0][j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
        row[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            unsigned replaced = above[j - 1] + (lower(a[i - 1]) != lower(b[j - 1]));
            row[j] = smallest(above[j] + 1, row[j - 1] + 1, replaced);
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && two_above[j - 2] + 1 < row[j]) row[j] = two_above[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

void tile_guess_try(tile_guess *guess, const char *candidate) {
    size_t length = strlen(candidate);
    if (!length || length > LONGEST_GUESS || !guess->length || guess->length > LONGEST_GUESS)
        return;
    unsigned distance = edit_distance(guess->text, guess->length, candidate, length);
    unsigned cost = 2 * distance + (lower(*guess->text) != lower(*candidate));
    if (cost < guess->cost && distance < length) {
        guess->cost = cost;
        guess->best = candidate;
    }
}

const char *tile_guess_phrase(const tile_guess *guess, const char *mark, tile_arena *arena) {
    if (!guess->best) return "";
    return tile_arena_format(arena, "; did you mean '%s%s'?", mark, guess->best);
}
