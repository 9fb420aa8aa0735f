/* What codegen and the launch must agree on: shared memory and scratch of a kernel. */
#ifndef TILE_LIB_CODEGEN_ABI_H
#define TILE_LIB_CODEGEN_ABI_H

#include "lib/ir/function.h"
#include "tile/compile.h"

enum { TILE_SCRATCH_ALIGNMENT = 256 };

/* One scratch buffer; bytes is over the kernel's arguments and not rounded yet, NULL if an extent
 * cannot be known before the launch. */
typedef struct tile_scratch {
    tile_op op;
    bool clean;
    const tile_expr *bytes;
} tile_scratch;

/* The buffers in the order in which they lie in their memory; the array is in the arena. */
tile_scratch *tile_scratch_list(const tile_function *kernel, tile_arena *arena, unsigned *count);

/* Bytes of shared memory up to the end of the last buffer. */
int64_t tile_shared_bytes(const tile_function *kernel);

/* The parameters of a kernel's .entry, in order; the array is in the arena. Codegen declares them,
 * the launch interface names them, the launch fills them. */
tile_abi_parameter *tile_parameter_list(size_t arg_count, const tile_scratch *scratch,
                                        unsigned scratch_count, tile_arena *arena, unsigned *count);

#endif
