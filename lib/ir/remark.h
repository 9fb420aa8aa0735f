/* Performance remarks: optimizations that passes and code generation could not do, and why. */
#ifndef TILE_LIB_IR_REMARK_H
#define TILE_LIB_IR_REMARK_H

#include "lib/ir/function.h"

/* Returns whether remarks are enabled (tile_context_set_remarks). Compute remark-only information
 * only then. */
bool tile_remarks_wanted(const tile_function *f);

/* Reports what was not done to an operation, why, and what the user can write to get it, as "OP:
 * WHAT: WHY; REMEDY" at the operation's line, or "@KERNEL: ..." at the kernel's for TILE_NO_OP.
 * Returns false, for `return tile_missed_at(..)`.
 *
 * what: "no wgmma", "no TMA", "not specialized", "not split" (few, and the same everywhere: users
 * search for them). remedy: "make block_m a multiple of 64", NULL if there is none. why: the cause
 * with its figures, "the tile has 48 rows, wgmma takes multiples of 64". All use the terms of CUDA
 * and PTX, without a full stop; they need not outlive the call.
 *
 * The same remark at the same location is reported once per run of a pipeline, even if passes
 * replace the operation in between. Does nothing if remarks are disabled. */
TILE_PRINTF(5, 6)
bool tile_missed_at(const tile_function *f, tile_op op, const char *what, const char *remedy,
                    const char *why, ...);

/* Permits repeating earlier remarks: a new pipeline run begins. */
void tile_remarks_begin(tile_context *context);

#endif
