/* How threads hold what transpose, reshape, join, unjoin, slice and concat make, and what of:
 * without moving anything between them. */
#ifndef TILE_LIB_ANALYSIS_REARRANGED_H
#define TILE_LIB_ANALYSIS_REARRANGED_H

#include "lib/layout/rearrange.h"
#include "lib/ops/rearrange.h"

/* Whether there are layouts of operands and results such that each thread has what it needs. There
 * are none where extents that are no powers of two are cut into parts of different elements. */
bool tile_can_rearrange(const tile_function *f, tile_op op);
/* Of such an operation: the layout that an operand must have beside a result held so; the one that
 * the results get from an operand held so. The types' own layouts do not count. False if there is
 * none, which only one of the two says of an operation: a result that joins operands held in
 * different threads, an operand of which different threads hold the parts. */
bool tile_layout_of_operand(const tile_function *f, tile_op op, unsigned operand,
                            const tile_layout *result, tile_layout *layout);
bool tile_layout_of_result(const tile_function *f, tile_op op, unsigned operand,
                           const tile_layout *held, tile_layout *layout);

#endif
