/* The phases of a transposed convolution (convolve_phases.c). */
#ifndef TILE_LIB_BUILDER_CONVOLVE_PHASES_H
#define TILE_LIB_BUILDER_CONVOLVE_PHASES_H

#include "lib/builder/convolve_windows.h"

/* The phases that are batches of products, and those that are rows beside k. */
typedef struct row_phases {
    char outer[2 * TILE_MAX_SPATIAL + 1]; /* with blanks between the letters */
    char rows[TILE_MAX_SPATIAL + 1];
    char columns[TILE_MAX_SPATIAL + 1]; /* before k, if k is the last dim of both arrays */
} row_phases;

/* Returns whether the channels of the result precede its last spatial dim. */
bool expand_is_channels_first(const expansion *x);
row_phases expand_place_phases(const expansion *x);
/* Leaves out the phases that meet no position, if threads would store single elements: the result
 * is moved once more, and they are added to it. */
void expand_leave_out_phases(expansion *x, const row_phases *placed);
/* Adds them to the product's result, which has these dims, as zeros. */
tile_value expand_add_phases(expansion *x, tile_value sums, shape *s);
/* Makes two dims of each spatial dim that has these phases: the positions of a phase, and the
 * phases. */
tile_value expand_split_phases(expansion *x, tile_value filter, const char *letters, shape *s);

#endif
