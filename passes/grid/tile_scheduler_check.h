/* What tile-scheduler refuses. */
#ifndef TILE_PASSES_GRID_TILE_SCHEDULER_CHECK_H
#define TILE_PASSES_GRID_TILE_SCHEDULER_CHECK_H

#include "passes/pass.h"

/* True after a diagnostic: the blocks of a `persistent` kernel cannot visit many tiles. */
bool tile_scheduler_is_refused(tile_pass *pass, tile_function *f);

#endif
