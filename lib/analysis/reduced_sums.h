/* Reductions of a product's sums after the loop that computes them. */
#ifndef TILE_LIB_ANALYSIS_REDUCED_SUMS_H
#define TILE_LIB_ANALYSIS_REDUCED_SUMS_H

#include "lib/ir/function.h"

/* The extent of a type's dim at a point of the kernel's space. */
typedef int64_t tile_extent_of(const void *user, const tile_type *type, unsigned d);

/* The row dim of wgmma with which reductions of m x n sums combine elements of a thread and of four
 * lanes: the instruction's columns are then along the reduced dim. With the other row dim, eight
 * lanes and all warps have elements of a row. The reductions are those outside of the dot's region,
 * of tiles with the extents of `sums`, of which n, or m, may be split in several dims. 2: there are
 * none, or they differ. extent_of: NULL if the kernel is instantiated. */
unsigned tile_row_dim_of_reductions(const tile_function *f, tile_op dot, const tile_type *sums,
                                    tile_extent_of *extent_of, const void *user);

#endif
