/* Checks whether code can be generated for a kernel, before any is. */
#ifndef TILE_LIB_CODEGEN_LEGAL_H
#define TILE_LIB_CODEGEN_LEGAL_H

#include "tile/ir.h"
#include "tile/target.h"

/* The limit on one thread's code; each copy of an unrolled body is counted. */
enum { TILE_MAX_INSTRUCTIONS = 3 << 14 };

/* Checks everything that emission assumes about a kernel at level 3: operations, types, memory, and
 * that the target has the instructions. Returns TILE_INVALID after one diagnostic for each
 * operation that cannot be emitted. asked: the PTX version to write, 0 for any. Cache hints that
 * this version does not support are dropped with a remark. *ptx_version is the lowest version
 * needed. */
tile_status tile_emit_check(const tile_function *kernel, const tile_target *target, unsigned asked,
                            unsigned *ptx_version);
/* Reports a remark at each `roles` of the instantiated kernel with `registers` if the target does
 * not support it. */
void tile_remark_registers(tile_function *kernel, const tile_target *target);

#endif
