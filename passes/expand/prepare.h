/* What assign-layouts does to operations before it gives out layouts. */
#ifndef TILE_PASSES_EXPAND_PREPARE_H
#define TILE_PASSES_EXPAND_PREPARE_H

#include "lib/analysis/range.h"
#include "passes/pass.h"

/* prepare_rounding.c: cp.async cannot round, so that a tf32 buffer which copy_async fills from f32
 * becomes one of f32, rounded where it is read. Where other operations use the buffer it stays as
 * it is, and its copies go through registers; a remark says so. */
void prepare_rounding(tile_pass *pass, tile_function *f);

/* prepare_copies.c: copies with index tiles, a predicate or a pad become loads and stores, which
 * are what threads do then anyway; but not those in the background which cp.async can do. A remark
 * says which cannot. */
void prepare_copies(tile_function *f);

/* prepare_dots.c: a dot for which the target has no instruction gets operands of types for which it
 * has one and that hold all their values, by casts before it. Where there is none either it stays
 * as it is. A remark says which, and why. */
void prepare_dots(tile_pass *pass, tile_function *f);
/* An operand that trans_lhs or trans_rhs says is transposed becomes a tile that is not. */
void prepare_transpose_operand(tile_function *f, tile_op op, unsigned operand);
/* prepare_concats.c: concats that threads cannot do by themselves in whatever layout become some of
 * pieces. TILE_INVALID after a diagnostic. */
tile_status prepare_concats(tile_pass *pass, tile_function *f);
/* Tiles that are alike but for their extent along the axis, as one. */
tile_value prepare_side_by_side(tile_builder *b, const tile_value *tiles, unsigned count,
                                unsigned axis);

/* prepare_histograms.c: a histogram becomes atomic accesses of a shared buffer, at index tiles. */
void prepare_histograms(tile_pass *pass, tile_function *f);

/* order_scratch.c: the order of a tile's elements in opaque scratch whose tiles are held so where
 * they are stored. False if they lie row by row. */
bool order_scratch(const tile_function *f, const tile_range *ranges, tile_value scratch,
                   const tile_layout *held, tile_layout *order);

/* An operand, a tile or a shared buffer and its stage perhaps, as a tile: what lies in shared
 * memory is read. */
tile_value prepare_tile(tile_builder *b, const tile_value *element, unsigned count);
/* Makes an element operand this one value. */
void prepare_set_operand(tile_function *f, tile_op op, unsigned operand, tile_value value);
/* Makes an operand these values. */
void prepare_set_element(tile_function *f, tile_op op, unsigned operand, const tile_value *element,
                         unsigned count);
/* Makes an element operand a tile of this element type, by a cast before the operation; one that
 * has the type stays as it is. */
void prepare_convert_operand(tile_function *f, tile_op op, unsigned operand, tile_scalar to);

#endif
