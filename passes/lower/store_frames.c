/* The shapes in which fused operations see the pieces of a stored tile (store_fusion.c).
 *
 * A product whose columns are normalized in groups has an epilogue of three dims and a result of
 * two. The reshapes between them rename registers, so that both shapes have the same pieces:
 *
 *     tile  [128, 256]      piece  [64, 64]
 *     tile  [128, 8, 32]    piece  [64, 2, 32]
 *
 * Dims that both shapes have first stay; the others have the same elements in row-major order. */
#include "passes/lower/store_frames.h"

#include "lib/layout/rearrange.h"
#include "lib/ops/reduce.h"
#include "lib/ops/shape.h"

/* The number of first dims that both shapes have. */
static unsigned count_common(const tile_layout *a, const tile_layout *b) {
    unsigned d = 0;
    while (d < a->rank && d < b->rank && tile_layout_extent(a, d) == tile_layout_extent(b, d)) d++;
    return d;
}

static uint32_t elements_from(const tile_layout *layout, unsigned d) {
    uint32_t elements = 1;
    for (; d < layout->rank; d++) elements *= tile_layout_extent(layout, d);
    return elements;
}

/* The extents of a piece in the shape of `from`: the piece's elements of the other dims are
 * contiguous in row-major order, and are then as many of the last dims as they fill. */
static bool find_extents(const lower_frame *to, const tile_layout *from, uint32_t *extents) {
    const tile_layout *piece = &to->pieces.piece;
    unsigned common = count_common(&to->whole, from), d;
    for (d = 0; d < common; d++) extents[d] = tile_layout_extent(piece, d);
    uint32_t left = elements_from(piece, common);
    bool fills = true;
    for (d = to->whole.rank; d-- > common;) { /* after a dim that is cut, only extents of 1 */
        const uint32_t own = tile_layout_extent(piece, d);
        if (!fills && own != 1) return false;
        fills &= own == tile_layout_extent(&to->whole, d);
    }
    for (d = from->rank; d-- > common;) {
        const uint32_t all = tile_layout_extent(from, d);
        extents[d] = left < all ? left : all;
        if (!left || left % extents[d] || all % extents[d]) return false;
        left /= extents[d];
    }
    return left == 1;
}

static bool has_same_pieces(const tile_pieces *a, const tile_pieces *b) {
    bool same = a->group_bits == b->group_bits && a->groups == b->groups && a->count == b->count &&
                a->inside == b->inside;
    for (unsigned i = 0; i < TILE_LAYOUT_MAX_BITS; i++) same &= a->bits[i] == b->bits[i];
    return same;
}

bool lower_find_frame(const lower_frame *to, const tile_type *operand, lower_frame *from) {
    uint32_t dims[TILE_MAX_RANK], extents[TILE_MAX_RANK];
    tile_layout same;
    tile_type_dims(operand, dims);
    if (!operand->layout || !tile_layout_reshape(&to->whole, dims, operand->rank, &same) ||
        !tile_layout_equal(&same, operand->layout))
        return false;
    from->whole = same;
    return find_extents(to, &same, extents) && tile_pieces_cut(&same, extents, &from->pieces) &&
           has_same_pieces(&to->pieces, &from->pieces);
}

bool lower_reduces_pieces(const tile_function *f, tile_op reduce, const lower_frame *frame) {
    tile_reduction reduction;
    const tile_type *result = tile_value_type(f, tile_op_result(f, reduce, 0));
    if (!tile_reduction_of(f, reduce, &reduction) || !result->layout) return false;
    const tile_reduce_plan plan = tile_reduce_make_plan(&frame->whole, reduction.axis);
    return tile_layout_extent(&frame->pieces.piece, reduction.axis) ==
               tile_layout_extent(&frame->whole, reduction.axis) &&
           !tile_reduce_exchanges(&plan, result->layout);
}

void lower_move_ahead(lowering *l, const lower_frame *to, const tile_value *ahead,
                      const lower_frame *from, tile_value *moved) {
    tile_builder *b = &l->builder;
    unsigned common = count_common(&to->whole, &from->whole), d;
    tile_value flat = lower_int(l, 0);
    for (d = 0; d < common; d++) moved[d] = ahead[d];
    for (d = common; d < to->whole.rank; d++) {
        flat = lower_mul(l, flat, lower_int(l, tile_layout_extent(&to->whole, d)));
        flat = lower_add(l, flat, ahead[d]);
    }
    for (d = from->whole.rank; d-- > common;) {
        const uint32_t all = tile_layout_extent(&from->whole, d);
        bool is_cut = tile_layout_extent(&from->pieces.piece, d) < all;
        moved[d] = !is_cut       ? lower_int(l, 0)
                   : d == common ? flat
                                 : tile_build_rem(b, flat, lower_int(l, all));
        if (d > common) flat = tile_build_div(b, flat, lower_int(l, all));
    }
}
