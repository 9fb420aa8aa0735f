/* Funcs by which reductions and scans combine elements. */
#ifndef TILE_LIB_BUILDER_COMBINE_FUNC_H
#define TILE_LIB_BUILDER_COMBINE_FUNC_H

#include "lib/ir/function.h"

/* Returns whether the func can be executed as it is: it has no parameters and calls no others. */
bool tile_func_is_plain(const tile_function *func);
/* A plain func in the func's module that computes the same for arguments of these element types.
 * NULL after a diagnostic at loc. */
const tile_function *tile_func_plain(const tile_function *func, tile_loc loc,
                                     const tile_scalar *scalars, unsigned count);
/* Gives the reductions and scans of the function plain funcs, once all types are known. Returns
 * false after a diagnostic. */
bool tile_make_combines_plain(tile_function *f);

#endif
