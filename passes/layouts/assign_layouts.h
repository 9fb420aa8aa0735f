/* The parts of assign-layouts and their common declarations. */
#ifndef TILE_PASSES_LAYOUTS_ASSIGN_LAYOUTS_H
#define TILE_PASSES_LAYOUTS_ASSIGN_LAYOUTS_H

#include "lib/analysis/range.h"
#include "lib/layout/mma.h"
#include "passes/pass.h"

/* check_uniform.c: checks that all threads of the executing set reach a tile operation, with the
 * same operands. Returns TILE_INVALID after diagnostics. */
tile_status check_uniform(tile_pass *pass, tile_function *f);

/* lay_out_buffers.c: layouts of the shared buffers that tile operations use, by value id of their
 * alloc_shared; rank 0 elsewhere. Returns TILE_INVALID after a diagnostic if a thread accesses one
 * of them by offset. */
tile_status lay_out_buffers(tile_pass *pass, tile_function *f, const tile_range *ranges,
                            tile_layout *shared);

/* fma_sums.c: whether the buffer, an operand of a dot without an instruction that is copied from a
 * view contiguous along this dim, is contiguous along its other dim. */
bool layouts_turns_copy(const tile_pass *pass, const tile_function *f, tile_value buffer,
                        unsigned along);
/* Whether the buffer only keeps tiles that are laid out as sums of such a dot. */
bool layouts_keeps_sums(const tile_pass *pass, const tile_function *f, tile_value buffer);

/* convert_layouts.c: inserts conversions where a tile is needed in another layout. All tiles must
 * have layouts. */
void convert_layouts(tile_pass *pass, tile_function *f, const tile_range *ranges);
/* The operation before which a tile that op needs is converted: the outermost loop in which the
 * tile does not change. */
tile_op layouts_place_of(const tile_function *f, tile_op op, tile_value tile);

/* recompute_tiles.c: whether a tile depends on no memory and on few operations, and the same tile
 * with another layout. */
bool layouts_can_recompute(const tile_function *f, tile_value tile);
tile_value layouts_recompute(tile_pass *pass, tile_builder *builder, tile_value tile,
                             const tile_layout *layout);

/* swizzle_buffers.c: changes the layout of buffers whose accesses have bank conflicts. Tiles and
 * copies must have layouts. */
void swizzle_buffers(tile_pass *pass, tile_function *f, const tile_range *ranges);

/* Facts about the function for widen_store, from convert_layouts. */
typedef struct store_widening {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    const int64_t *shared_bytes; /* by operation: bytes of the buffers that are live there */
    uint32_t op_count;           /* size of shared_bytes */
    int64_t exchanged; /* bytes of buffers that conversions added and that are live everywhere */
} store_widening;

/* widen_stores.c: whether a conversion before a store pays off, and to which layout. Emits a remark
 * if shared memory is too small for it. */
bool widen_store(const store_widening *widening, tile_op op, tile_layout *wide);

/* The instruction for a dot, or NULL. laid_out: its fragments must match the layout of the
 * accumulator. */
const tile_mma *layouts_choose_mma(const tile_pass *pass, const tile_function *f, tile_op dot,
                                   bool laid_out);
/* The layout of a tile from which a store_async cuts pieces for the stages of its ring. extents:
 * receives the extents of a piece. */
tile_layout layouts_of_pieces(const tile_function *f, tile_op store_async,
                              uint32_t extents[TILE_MAX_RANK]);
/* The tile in registers that op moves to or from memory: its source, else its result. 0 if it moves
 * a scalar or nothing. */
tile_value layouts_moved_tile(const tile_function *f, tile_op op);
/* The distribution of a copy_async between a view and a buffer over threads. False if op is no such
 * copy. */
bool layouts_of_copy(const tile_function *f, const tile_range *ranges, tile_op op,
                     tile_layout *layout);
bool layouts_is_atomic_tile(const tile_function *f, tile_op op);

#endif
