/* Packed arguments: a kernel reads a copy of an array whose rows begin at multiples of 128 bytes.
 *
 * TMA and 16-byte copies need rows that begin at multiples of 16 bytes. A row-major array of f16
 * with 1001 columns has none. A product that reads each element many times then loses more by
 * narrow copies than a first kernel takes that copies the array once. A copy can also be
 * transposed: wgmma reads elements of 8 and 32 bits only if they are adjacent along k (K-major).
 * Or it has the parts of f32 elements that products of precision `bf16x3` multiply. Launches
 * that choose their point by the model (tile/device.h) choose packing, too. Threads: as
 * for the module's context. */
#ifndef TILE_PACK_H
#define TILE_PACK_H

#include "tile/ir.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The name of a binding whose value is as the `arguments` below. Given this binding,
 * tile_instantiate packs before it binds the parameters. So does every function that takes
 * bindings, and every launch that selects points. */
#define TILE_PACK_ARGUMENTS "pack.arguments"

/* Turns a kernel of level 2, whose parameters need not be bound, into a plan with the same name,
 * parameters, points and arguments: it copies these arguments and launches the kernel on the
 * copies. arguments: names without %, separated by `+`: "a+b:transposed". Each is a view with
 * stride 1 along one dim that the kernel reads by `load` and `copy` only. `:transposed` after a
 * name: the kernel reads tiles of that dim and one other dim, and the copy has stride 1 along the
 * other one. `:bf16x3` or `:bf16x6`: the elements are f32 operands of dots of this `precision`,
 * both of which are packed like that. Returns TILE_INVALID after a diagnostic if one cannot be
 * packed; the kernel is unchanged then. */
TILE_API tile_status tile_pack_arguments(tile_function *kernel, const char *arguments);

#ifdef __cplusplus
}
#endif

#endif
