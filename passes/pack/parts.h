/* Kernels that read copies of f32 arrays as parts of bf16, for wgmma (`precision = bf16x3`). */
#ifndef TILE_PASSES_PACK_PARTS_H
#define TILE_PASSES_PACK_PARTS_H

#include "passes/pack/rows.h"

/* The dim before those of the array has the parts, the largest first. */

/* NULL, or why the kernel cannot read these arguments as parts: "is not only read by ..". *which:
 * the argument. rows: of all packed arguments. */
const char *pack_find_parts_fault(const tile_function *f, const pack_rows *rows, unsigned count,
                                  unsigned *which);

/* Makes the kernel read copies[i] in place of rows[i], if that has parts: each copy and load of the
 * array becomes one of each part, and each dot the dots of the parts. */
void pack_read_parts(tile_function *f, const pack_rows *rows, const tile_value *copies,
                     unsigned count);

#endif
