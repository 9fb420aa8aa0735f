/* The level of a kernel whose text names none. */
#ifndef TILE_LIB_IR_LEVEL_H
#define TILE_LIB_IR_LEVEL_H

#include "lib/ir/function.h"

/* 3 where a kernel can only be the output of lower-tiles, or written like it: everything in it is
 * an operation of threads, and whoever wrote it said where its shared buffers lie, which is settled
 * last. Else 2: the compiler chooses offsets and barriers, also for a kernel of thread operations
 * alone. 1 for computes. */
unsigned tile_function_level_by_ops(const tile_function *f);

/* Whether an operation may stand in a function of this level: kernels at level 2 may mix. */
bool tile_op_is_allowed(const tile_op_info *info, unsigned level);
/* At level 3 threads name memory by offsets: false after a diagnostic. */
bool tile_verify_offsets(const tile_function *f, tile_op op);
/* Operations of all levels give tiles too; at level 3 there are none. */
bool tile_op_returns_tile(const tile_function *f, tile_op op);

#endif
