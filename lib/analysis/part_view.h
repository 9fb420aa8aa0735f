/* Views made in a kernel that are the first rows of an argument's array:
 *
 *     %seen = view base(%v), [%batch, min(%length, %n), 64], strides [%n * 64, 64, 1]
 *
 * A tensor map of the argument describes its memory; what lies at and after the end is to be 0. */
#ifndef TILE_LIB_ANALYSIS_PART_VIEW_H
#define TILE_LIB_ANALYSIS_PART_VIEW_H

#include "lib/ir/function.h"

typedef struct tile_part_view {
    tile_value whole; /* the argument */
    unsigned dim;     /* along which the view may end earlier */
    tile_value end;   /* its extent there: never more than the argument's */
} tile_part_view;

/* Whether the view begins where a view argument does, has its element type, its strides and all of
 * its extents but one, which is provably no larger. */
bool tile_view_is_part(const tile_function *f, tile_value view, tile_part_view *out);

#endif
