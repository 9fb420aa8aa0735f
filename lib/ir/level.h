/* The level of a kernel whose text does not specify it. */
#ifndef TILE_LIB_IR_LEVEL_H
#define TILE_LIB_IR_LEVEL_H

#include "lib/ir/function.h"

/* Returns 1 for computes. Returns 3 if a kernel can only be the output of lower-tiles, or is
 * written like it: all its operations are thread operations, and its shared buffers have offsets,
 * which are assigned last. Else 2: the compiler chooses offsets and barriers, also for a kernel of
 * thread operations only. */
unsigned tile_function_level_by_ops(const tile_function *f);

/* Returns whether an operation is allowed in a function of this level: kernels at level 2 may mix.
 */
bool tile_op_is_allowed(const tile_op_info *info, unsigned level);
/* At level 3 threads address memory by offsets: returns false after a diagnostic. */
bool tile_verify_offsets(const tile_function *f, tile_op op);
/* Operations of all levels may return tiles, but at level 3 there are none. */
bool tile_op_returns_tile(const tile_function *f, tile_op op);

#endif
