/* Loops that are unrolled in the IR. */
#ifndef TILE_PASSES_SIMPLIFY_UNROLL_H
#define TILE_PASSES_SIMPLIFY_UNROLL_H

#include "lib/ir/function.h"

/* A loop with `unroll`, whose bounds are numbers and which then has a copy of its body for each
 * iteration, becomes these copies if it indexes vectors: registers have no addresses, so that an
 * index must be a number, or each element is asked whether it is meant. True if there was one. */
bool unroll_indexed_loops(tile_function *f, tile_arena *arena);

#endif
