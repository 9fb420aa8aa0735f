/* The dims of a convolution's arrays, moved by letters: see convolve_dims.c. */
#ifndef TILE_LIB_BUILDER_CONVOLVE_DIMS_H
#define TILE_LIB_BUILDER_CONVOLVE_DIMS_H

#include "lib/builder/convolve_windows.h"

enum { MAX_LETTERS = 2 * TILE_MAX_RANK + 8 /* with blanks between words */ };

/* What is known of a convolution before it is expanded. */
expansion expand_begin(tile_function *f, tile_op op);
/* Replaces the convolution by this value, which takes its name. */
void expand_replace(tile_function *f, tile_op op, tile_value value, tile_arena *scratch);
/* The dims of an array, with the letters of batch and channel, and of spatial dims from `first` on.
 */
shape expand_name_dims(const expansion *x, const tile_type *type,
                       const tile_convolution_order *order, char outer, char channel, char first);
/* The value before a cast between known types. */
tile_value expand_skip_cast(const expansion *x, tile_value value);
/* The extent of the letter's dim; NULL: there is none. */
const tile_expr *expand_extent_of(const shape *s, char letter);
/* The type with the element of another one, and these dims. */
const tile_type *expand_type_of(const expansion *x, const tile_type *element, const shape *s);
tile_value expand_reshape(expansion *x, tile_value value, const tile_type *type);
/* Moves the dims into the order of the letters, all of which s has. */
tile_value expand_transpose(expansion *x, tile_value value, shape *s, const char *letters);
/* The same. Dims from `first` to '2' or '5', if they are side by side before and after, are moved
 * as one dim, so that a kernel that moves them has long rows. */
tile_value expand_transpose_together(expansion *x, tile_value value, shape *s, const char *letters,
                                     char first);
/* One dim for each word, the product of its letters that are dims of s; it has the first letter. */
shape expand_combined(const expansion *x, const shape *s, const char *words);
/* Moves the dims into the order of the words' letters, then makes one dim of each word. Letters
 * that s lacks are ignored. */
tile_value expand_arrange(expansion *x, tile_value value, shape *s, const char *words);
const tile_expr *expand_in_a_group(const expansion *x, const tile_expr *extent);
/* Makes two dims of one: the groups, and what is left. Places are combined if there is no room. */
tile_value expand_split(expansion *x, tile_value value, shape *s, char letter);

#endif
