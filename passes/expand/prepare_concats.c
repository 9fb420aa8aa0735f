/* Concats of tiles whose extents are no powers of two. All parts of a layout have one shape, but
 * the operands and the result have different ones:
 *
 *     concat [6], [3]      6 = 3 parts of 2, 9 = 9 parts of 1
 *
 * The operands are reshaped to pieces of one extent, the greatest common divisor of theirs, in a
 * new dim. Any number of pieces can be concatenated, and the result is reshaped from them. */
#include "lib/analysis/rearranged.h"
#include "lib/support/integer.h"
#include "passes/common/replace_result.h"
#include "passes/expand/prepare.h"

typedef struct cut {
    tile_builder b;
    tile_context *context;
    unsigned axis;
    int64_t extent; /* of one piece */
    tile_value *pieces;
    unsigned count;
} cut;

/* The type with `count` pieces along a new dim before the axis. */
static const tile_type *cut_type(const cut *c, const tile_type *type, int64_t count) {
    tile_type draft = *type;
    draft.layout = NULL;
    for (unsigned d = draft.rank++; d > c->axis; d--) draft.dims[d] = draft.dims[d - 1];
    draft.dims[c->axis] = tile_expr_int(c->context, count);
    draft.dims[c->axis + 1] = tile_expr_int(c->context, c->extent);
    return tile_type_get(c->context, &draft);
}

static void cut_operand(cut *c, tile_value tile) {
    const tile_type *type = tile_value_type(c->b.function, tile);
    int64_t count = tile_type_dim(type, c->axis) / c->extent;
    tile_value whole = tile_build_reshape(&c->b, tile, TILE_NO_VALUE, cut_type(c, type, count));
    for (int64_t i = 0; i < count; i++) {
        tile_value first[TILE_MAX_RANK];
        for (unsigned d = 0; d <= type->rank; d++)
            first[d] = tile_build_int(&c->b, d == c->axis ? i : 0);
        c->pieces[c->count++] = count == 1 ? whole
                                           : tile_build_slice(&c->b, whole, first, type->rank + 1u,
                                                              TILE_NO_VALUE, cut_type(c, type, 1));
    }
}

tile_value prepare_concat_tiles(tile_builder *b, const tile_value *tiles, unsigned count,
                                unsigned axis) {
    const tile_segment segments[] = {{TILE_NO_VALUE, tiles, count}};
    const tile_attr along = {.id = TILE_ATTR_axis,
                             .expr = tile_expr_int(tile_function_context(b->function), axis)};
    tile_op op = tile_build_op_of(b, TILE_OP_concat, segments, 1, NULL, &along, 1);
    tile_op_set_int(b->function, op, TILE_ATTR_axis, axis);
    return tile_op_result(b->function, op, 0);
}

static bool prepare_concat(tile_pass *pass, tile_function *f, tile_op op) {
    const tile_type *to = tile_value_type(f, tile_op_result(f, op, 0));
    unsigned axis = (unsigned)tile_op_attr_int(f, op, TILE_ATTR_axis, 0);
    cut c = {tile_builder_before(f, op), pass->context, axis, 0, NULL, 0};
    if (to->rank == TILE_MAX_RANK) {
        return tile_error_at(f, op,
                             "concat: the operands' extents along the axis are not powers of two "
                             "that divide the result's, so that it needs one dim more, and a tile "
                             "has at most %d; reshape the operands to fewer",
                             TILE_MAX_RANK);
    }
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        const tile_type *type = tile_value_type(f, tile_op_operand(f, op, i));
        c.extent = (int64_t)tile_gcd((uint64_t)tile_type_dim(type, c.axis), (uint64_t)c.extent);
    }
    int64_t count = tile_type_dim(to, c.axis) / c.extent;
    c.pieces = TILE_NEW_ARRAY(pass->scratch, tile_value, (size_t)count);
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        cut_operand(&c, tile_op_operand(f, op, i));
    tile_value joined = prepare_concat_tiles(&c.b, c.pieces, c.count, c.axis);
    replace_result(pass, f, op, tile_build_reshape(&c.b, joined, TILE_NO_VALUE, to));
    return true;
}

tile_status prepare_concats(tile_pass *pass, tile_function *f) {
    unsigned count;
    bool ok = true;
    const tile_op *ops = tile_find_ops(f, TILE_OP_concat, pass->scratch, &count);
    for (unsigned i = 0; i < count; i++)
        if (tile_is_rearrangement(f, ops[i]) && !tile_can_rearrange(f, ops[i]))
            ok &= prepare_concat(pass, f, ops[i]);
    return ok ? TILE_OK : TILE_INVALID;
}
