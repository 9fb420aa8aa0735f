/* Products with few rows read one large operand once, and reading it takes all their time. If its
 * rows begin anywhere (an f16 array with 1001 columns), cp.async cannot copy 16 bytes of a row to
 * the place where ldmatrix or wgmma would read them. Loads to registers cannot run ahead, and
 * copies of 4 or 8 bytes go through the L1 cache: both reach about half of the memory's speed.
 *
 * So whole chunks of 16 aligned bytes are copied. A row then keeps its offset, modulo 16 bytes, in
 * shared memory (`alloc_shared {misaligned}`), and the buffer's rows have one chunk more:
 *
 *     memory    | . . a0 a1 a2 a3 a4 a5 | a6 a7 .. |      | chunks of 16 bytes
 *     row       | ? ? a0 a1 a2 a3 a4 a5 | a6 a7 .. | .. |
 *
 * mma.sync takes fragments that each thread loads element by element: two loads and one prmt for
 * each register of two halves. That is about 24 instructions for each KB of a warp, of the 200 that
 * a multiprocessor can issue while it receives a KB (H200), and twice the shared memory traffic of
 * ldmatrix, which is idle otherwise. */
#ifndef TILE_PASSES_WARPS_MISALIGNED_ROWS_H
#define TILE_PASSES_WARPS_MISALIGNED_ROWS_H

#include "lib/analysis/range.h"
#include "passes/pass.h"

/* Rewrites such dots, their buffers and copies, before pipelining. uses: by value. */
void choose_misaligned_rows(tile_pass *pass, tile_function *f, const tile_range *ranges,
                            const uint32_t *uses);

#endif
