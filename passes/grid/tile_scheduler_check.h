/* Kernels that tile-scheduler rejects. */
#ifndef TILE_PASSES_GRID_TILE_SCHEDULER_CHECK_H
#define TILE_PASSES_GRID_TILE_SCHEDULER_CHECK_H

#include "passes/pass.h"

/* Returns true after a diagnostic if a block of the `persistent` kernel cannot execute several
 * tiles. */
bool tile_scheduler_is_refused(tile_pass *pass, tile_function *f);

#endif
