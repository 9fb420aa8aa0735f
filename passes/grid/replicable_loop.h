/* Loops that blocks may run whose results nobody wants. */
#ifndef TILE_PASSES_GRID_REPLICABLE_LOOP_H
#define TILE_PASSES_GRID_REPLICABLE_LOOP_H

#include "lib/ir/function.h"

/* Whether blocks of a cluster may share what a `pipelined` loop copies, as far as memory goes: it
 * changes nothing outside of shared memory, reads what the kernel writes nowhere but behind it, and
 * stands in nothing but other loops. Then a block that drops the result may run it beside the
 * others. */
bool is_replicable_loop(tile_function *f, tile_op loop);

#endif
