/* Loops that additional blocks may execute and whose results they discard. */
#ifndef TILE_PASSES_GRID_REPLICABLE_LOOP_H
#define TILE_PASSES_GRID_REPLICABLE_LOOP_H

#include "lib/ir/function.h"

/* Whether blocks of a cluster may share the copies of a `pipelined` loop, as far as memory is
 * concerned. The loop must write nothing but shared memory, read only memory that the kernel does
 * not write before the loop ends, and be nested in nothing but loops. Then a block that discards
 * the result can run the loop together with the others. */
bool is_replicable_loop(tile_function *f, tile_op loop);

#endif
