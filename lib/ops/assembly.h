/* Inline PTX: what its text says of the operands. */
#ifndef TILE_LIB_OPS_ASSEMBLY_H
#define TILE_LIB_OPS_ASSEMBLY_H

#include "lib/ir/function.h"
#include "lib/ops/atomic.h"

/* Whether the text names registers that there are, and each result. False after diagnostics. */
bool tile_verify_asm(const tile_function *f, tile_op op);

#endif
