/* Why code is slower than it could be: what passes and code generation could not do. */
#ifndef TILE_LIB_IR_REMARK_H
#define TILE_LIB_IR_REMARK_H

#include "lib/ir/function.h"

/* Whether anybody listens (tile_context_set_remarks): what only a remark needs is done only then.
 */
bool tile_remarks_wanted(const tile_function *f);

/* What was not done to an operation, why, and what the user can write so that it is; reported as
 * "OP: WHAT: WHY; REMEDY" at the operation's line, "@KERNEL: ..." at the kernel's for TILE_NO_OP.
 * Gives false, for `return tile_missed_at(..)`.
 *
 * what: "no wgmma", "no TMA", "not specialised", "not split" (few and the same everywhere: users
 * search for them); remedy: "make block_m a multiple of 64", NULL where nothing helps; why: the
 * cause with its figures, "the tile has 48 rows, wgmma takes multiples of 64". All in the words of
 * CUDA and PTX, without a full stop; they need not outlive the call.
 *
 * The same words at the same place are said once in a run of a pipeline, whatever becomes of the
 * operation in between. Nothing happens where nobody listens. */
TILE_PRINTF(5, 6)
bool tile_missed_at(const tile_function *f, tile_op op, const char *what, const char *remedy,
                    const char *why, ...);

/* What was said may be said again: a pipeline begins. */
void tile_remarks_begin(tile_context *context);

#endif
