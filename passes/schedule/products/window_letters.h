/* Which dims of an array the dims of windows, reshapes and transposes of it consist of.
 *
 * Each dim of the array has a letter, a to h; a window adds the letter in upper case for the
 * positions. A dim of a value is a string of letters, the outermost first:
 *
 *     %x                                             [n, c, d, h, w]          a b c d e
 *     %1 = reshape %x                                [n, c, d, h * w]         a b c de
 *     %2 = window %1, [1], [1] {axis = 2}            [n, c, p, 3, h * w]      a b c C de
 *     %3 = transpose %2 {order = [0, 2, 1, 3, 4]}    [n, p, c, 3, h * w]      a c b C de
 *     %4 = reshape %3                                [n * p, c * 3, h, w]     ac bC d e
 *     %5 = window %4, [1, 1], [1, 1] {axis = 2}      [n * p, c * 3, q, o, 3, 3]   ac bC d e D E */
#ifndef TILE_PASSES_SCHEDULE_PRODUCTS_WINDOW_LETTERS_H
#define TILE_PASSES_SCHEDULE_PRODUCTS_WINDOW_LETTERS_H

#include "passes/schedule/kernel/schedule.h"

enum { WINDOW_LETTERS = 'z' + 1 };

typedef struct window_letters {
    char dims[TILE_MAX_RANK][2 * TILE_MAX_RANK + 1];
    unsigned rank;
    int64_t extents[WINDOW_LETTERS];   /* by letter */
    tile_op windows[TILE_MAX_RANK];    /* by dim of the array: none, or the window .. */
    unsigned number_of[TILE_MAX_RANK]; /* .. and which of its strides and pads are the dim's */
} window_letters;

/* The letters of an array whose extents are known; false if they are not. */
bool window_letters_of(const schedule *s, tile_value array, window_letters *l);
/* Changes the letters of the operand of a reshape, transpose or window to those of its result.
 * False if it divides a letter, or has no letters for another reason. */
bool window_letters_follow(const schedule *s, tile_op op, window_letters *l);
/* All letters in their order, without those of extent 1 if `without_units`. */
void window_letters_join(const window_letters *l, bool without_units, char *all);

#endif
