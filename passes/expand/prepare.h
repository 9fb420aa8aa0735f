/* Rewrites of operations that assign-layouts runs before it assigns layouts. */
#ifndef TILE_PASSES_EXPAND_PREPARE_H
#define TILE_PASSES_EXPAND_PREPARE_H

#include "lib/analysis/range.h"
#include "passes/pass.h"

/* prepare_rounding.c: cp.async cannot convert. A tf32 buffer that copy_async fills from f32 becomes
 * an f32 buffer, and its loads round the values. If other operations use the buffer, it is
 * unchanged and its copies go through registers; a remark reports this. */
void prepare_rounding(tile_pass *pass, tile_function *f);

/* prepare_copies.c: copies with index tiles, a predicate or a pad become loads and stores, except
 * asynchronous ones that cp.async supports. A remark reports the asynchronous copies that it does
 * not support. */
void prepare_copies(tile_function *f);

/* prepare_dots.c: casts the operands of a dot without an instruction for its types to wider types
 * that have one and represent all values. A dot without such types is unchanged. A remark reports
 * the cast and its reason. */
void prepare_dots(tile_pass *pass, tile_function *f);
/* Replaces an operand marked by trans_lhs or trans_rhs with a transposed tile. */
void prepare_transpose_operand(tile_function *f, tile_op op, unsigned operand);
/* prepare_precision.c: dots with `precision = bf16x3` or `bf16x6` become dots of the parts of their
 * operands, which are split in registers. False after a diagnostic. */
bool prepare_precision(tile_pass *pass, tile_function *f);
/* prepare_concats.c: rewrites concats that depend on the layout as concats of pieces, which threads
 * can perform without communication in any layout. TILE_INVALID after a diagnostic. */
tile_status prepare_concats(tile_pass *pass, tile_function *f);
/* Concatenates tiles that differ only in their extent along the axis. */
tile_value prepare_concat_tiles(tile_builder *b, const tile_value *tiles, unsigned count,
                                unsigned axis);

/* prepare_histograms.c: a histogram becomes atomics on a shared buffer with index tiles. */
void prepare_histograms(tile_pass *pass, tile_function *f);

/* order_scratch.c: the element order of opaque scratch, derived from the layouts of the tiles that
 * are stored to it. False if the elements are in row-major order. */
bool order_scratch(const tile_function *f, const tile_range *ranges, tile_value scratch,
                   const tile_layout *held, tile_layout *order);

/* Returns an operand as a tile: a tile, or a shared buffer with an optional stage, which is
 * loaded. */
tile_value prepare_tile(tile_builder *b, const tile_value *element, unsigned count);
/* Replaces an element operand with a single value. */
void prepare_set_operand(tile_function *f, tile_op op, unsigned operand, tile_value value);
/* Replaces an operand with these values. */
void prepare_set_element(tile_function *f, tile_op op, unsigned operand, const tile_value *element,
                         unsigned count);
/* Casts an element operand to a tile of this element type before the operation, unless it has that
 * type. */
void prepare_convert_operand(tile_function *f, tile_op op, unsigned operand, tile_scalar to);

#endif
