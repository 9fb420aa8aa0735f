/* Inline PTX: checks the text against the operands. */
#ifndef TILE_LIB_OPS_ASSEMBLY_H
#define TILE_LIB_OPS_ASSEMBLY_H

#include "lib/ir/function.h"
#include "lib/ops/atomic.h"

/* Checks that the text refers only to existing registers, and to each result. False after
 * diagnostics. */
bool tile_verify_asm(const tile_function *f, tile_op op);

#endif
