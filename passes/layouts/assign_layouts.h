/* assign-layouts in parts, and what they know together. */
#ifndef TILE_PASSES_LAYOUTS_ASSIGN_LAYOUTS_H
#define TILE_PASSES_LAYOUTS_ASSIGN_LAYOUTS_H

#include "lib/analysis/range.h"
#include "lib/layout/mma.h"
#include "passes/pass.h"

/* check_uniform.c: all threads of the executing set take part in a tile operation, with the same
 * operands. TILE_INVALID after diagnostics. */
tile_status check_uniform(tile_pass *pass, tile_function *f);

/* lay_out_buffers.c: the layouts of the shared buffers that tile operations use, by value of their
 * alloc_shared; rank 0 elsewhere. TILE_INVALID after a diagnostic: a thread names an offset in one
 * of them. */
tile_status lay_out_buffers(tile_pass *pass, tile_function *f, const tile_range *ranges,
                            tile_layout *shared);

/* convert_layouts.c: tiles, which all have layouts, get other ones where these are needed. */
void convert_layouts(tile_pass *pass, tile_function *f, const tile_range *ranges);
/* Where a tile is converted that op needs: before the outermost loop in which it does not change.
 */
tile_op layouts_place_of(const tile_function *f, tile_op op, tile_value tile);

/* swizzle_buffers.c: another order for buffers of whose tiles and copies, which have layouts, some
 * meet in one bank. */
void swizzle_buffers(tile_pass *pass, tile_function *f, const tile_range *ranges);

/* What widen_store knows of the function as conversions found it. */
typedef struct store_widening {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges;
    const int64_t *shared_bytes; /* by operation: of the buffers that live there */
    uint32_t op_count;           /* of that */
    int64_t exchanged; /* bytes of buffers that conversions added and that live everywhere */
} store_widening;

/* widen_stores.c: whether a store pays for a conversion before it, and to which layout. A remark
 * where shared memory is too small for it. */
bool widen_store(const store_widening *widening, tile_op op, tile_layout *wide);

/* The instruction for a dot; laid_out: one whose fragments its accumulator consists of. NULL: none.
 */
const tile_mma *layouts_choose_mma(const tile_pass *pass, const tile_function *f, tile_op dot,
                                   bool laid_out);
/* The layout that pieces of a ring's stages can be cut from; extents: of a piece. */
tile_layout layouts_of_pieces(const tile_function *f, tile_op store_async,
                              uint32_t extents[TILE_MAX_RANK]);
/* The tile in registers that op moves to or from memory: its source, or else its result. 0: it
 * moves a scalar, or none. */
tile_value layouts_moved_tile(const tile_function *f, tile_op op);
/* How threads share a copy_async between a view and a buffer; false: op is none. */
bool layouts_of_copy(const tile_function *f, const tile_range *ranges, tile_op op,
                     tile_layout *layout);
bool layouts_is_atomic_tile(const tile_function *f, tile_op op);

#endif
