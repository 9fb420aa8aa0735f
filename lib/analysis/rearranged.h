/* Layouts for which transpose, reshape, join, unjoin, slice and concat need no data exchange
 * between threads. */
#ifndef TILE_LIB_ANALYSIS_REARRANGED_H
#define TILE_LIB_ANALYSIS_REARRANGED_H

#include "lib/layout/rearrange.h"
#include "lib/ops/rearrange.h"

/* Returns whether there are layouts of operands and results such that each thread has the elements
 * that it needs. There are none if extents that are not powers of two are split into parts with
 * different elements. */
bool tile_can_rearrange(const tile_function *f, tile_op op);
/* The first function returns the layout that an operand needs if the result has layout `result`.
 * The second returns the layout of the results if the operand has layout `held`. The layouts in the
 * types are ignored. Both return false if there is none. This can be the case for only one of them:
 * a result may join operands that different threads hold, and different threads may hold the parts
 * of an operand. */
bool tile_layout_of_operand(const tile_function *f, tile_op op, unsigned operand,
                            const tile_layout *result, tile_layout *layout);
bool tile_layout_of_result(const tile_function *f, tile_op op, unsigned operand,
                           const tile_layout *held, tile_layout *layout);

#endif
