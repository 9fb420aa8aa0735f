/* Views made in a kernel of an argument's array. A tensor map can describe them whenever one can
 * describe the argument, which a launch checks.
 *
 * A leading part of the array; the argument's tensor map describes it, and elements past the end of
 * the view must read as 0:
 *
 *     %seen = view base(%v), [%batch, min(%length, %n), 64], strides [%n * 64, 64, 1]
 *
 * The array with other dims: transposed, with dims united or divided, or ending earlier. Such a
 * view has a tensor map of its own:
 *
 *     %columns = view base(%b), [%k, %n], [1, %k]
 *     %rows = view base(%x), [%batch * %n, 64]
 *     %half = view base(%w), [%n, %k], [%k * 2, 1]              of a %w with %k * 2 columns */
#ifndef TILE_LIB_ANALYSIS_PART_VIEW_H
#define TILE_LIB_ANALYSIS_PART_VIEW_H

#include "lib/ir/function.h"

typedef struct tile_part_view {
    tile_value whole; /* the argument */
    unsigned dim;     /* dim along which the view may end earlier */
    tile_value end;   /* the view's extent there: never more than the argument's */
} tile_part_view;

/* The argument of whose base the operation makes a view of the same elements; no value if it makes
 * none. */
tile_value tile_viewed_argument(const tile_function *f, tile_op op);

/* Returns whether the view has the base, element type and strides of a view argument, and all of
 * its extents except one, which is provably not larger. */
bool tile_view_is_part(const tile_function *f, tile_value view, tile_arena *arena,
                       tile_part_view *out);

/* Returns the argument such that a tensor map can describe the view whenever one can describe the
 * argument, unless the view is empty: the view itself, or the argument whose array it shows with
 * other dims. No value if there is none. */
tile_value tile_view_mapped_argument(const tile_function *f, tile_value view);

#endif
