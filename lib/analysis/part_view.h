/* Views made in a kernel that are a leading part of an argument's array:
 *
 *     %seen = view base(%v), [%batch, min(%length, %n), 64], strides [%n * 64, 64, 1]
 *
 * A tensor map of the argument describes the whole array. Elements past the end of the view must
 * read as 0. */
#ifndef TILE_LIB_ANALYSIS_PART_VIEW_H
#define TILE_LIB_ANALYSIS_PART_VIEW_H

#include "lib/ir/function.h"

typedef struct tile_part_view {
    tile_value whole; /* the argument */
    unsigned dim;     /* dim along which the view may end earlier */
    tile_value end;   /* the view's extent there: never more than the argument's */
} tile_part_view;

/* Returns whether the view has the base, element type and strides of a view argument, and all of
 * its extents except one, which is provably not larger. */
bool tile_view_is_part(const tile_function *f, tile_value view, tile_part_view *out);

#endif
