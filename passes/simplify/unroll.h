/* Unrolling of loops in the IR. */
#ifndef TILE_PASSES_SIMPLIFY_UNROLL_H
#define TILE_PASSES_SIMPLIFY_UNROLL_H

#include "lib/ir/function.h"

/* Unrolls each loop with `unroll` and constant bounds that indexes vectors. Registers have no
 * addresses, so an index that is not constant is compared with every element. True if a loop was
 * unrolled. */
bool unroll_indexed_loops(tile_function *f, tile_arena *arena);

#endif
