/* When a chain of element-wise operations on a thread's registers becomes a loop.
 *
 * Sizes are sums of the column `cost` of ops.def: additions with the same compile time. */
#ifndef TILE_PASSES_LOWER_ROLL_H
#define TILE_PASSES_LOWER_ROLL_H

#include "lib/ir/function.h"

enum {
    /* The largest chain that is unrolled. 4096 additions are about 64 KB of machine code, half of
     * the instruction cache that an SM's warps share; LLVM and ptxas take about 0.5 s for them. */
    ROLL_ABOVE_CODE = 4096,
    /* The size of the loop's body, at most. */
    ROLL_BODY_CODE = 2048,
};

/* The size of the code of one element of an element-wise operation. */
unsigned roll_code_of(const tile_function *f, tile_op op);

#endif
