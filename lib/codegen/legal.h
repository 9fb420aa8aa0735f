/* What code can be made of, asked before any is made. */
#ifndef TILE_LIB_CODEGEN_LEGAL_H
#define TILE_LIB_CODEGEN_LEGAL_H

#include "tile/ir.h"
#include "tile/target.h"

/* Of one thread's code, each copy of an unrolled body counted. */
enum { TILE_MAX_INSTRUCTIONS = 3 << 14 };

/* Everything that emission takes for granted of a kernel at level 3: operations, types, memory, and
 * that the target has the instructions. TILE_INVALID after a diagnostic at each operation that
 * cannot be. asked: the PTX version to write, 0 for any: what only tells the caches something is
 * left out, with a remark, where it has no words for that. *ptx_version is the least that is
 * needed. */
tile_status tile_emit_check(const tile_function *kernel, const tile_target *target, unsigned asked,
                            unsigned *ptx_version);
/* A remark at each `roles` of the instantiated kernel that says `registers`, where the target
 * cannot do it. */
void tile_remark_registers(tile_function *kernel, const tile_target *target);

#endif
