/* Inline PTX: what its text says of the operands. */
#ifndef TILE_LIB_OPS_ASSEMBLY_H
#define TILE_LIB_OPS_ASSEMBLY_H

#include "lib/ir/function.h"
#include "lib/ops/atomic.h"

/* PTX registers that a value of this type takes in one thread: a scalar one, narrow elements of a
 * vector as many as fill 32 bits; of a tile (element by element) one. -1: not known yet, or it has
 * none. */
int64_t tile_asm_registers(const tile_type *type);
/* Whether the text names registers that there are, and each result. False after diagnostics. */
bool tile_verify_asm(const tile_function *f, tile_op op);

#endif
