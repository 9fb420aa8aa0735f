/* Replaces insert_slice by concats. Along each dim in which the part is smaller than the whole, the
 * result consists of the whole's elements before the part, the part, and the elements after it:
 *
 *   insert_slice %p, %w, [i, 0]: tensor<f32[m, n]>, with %p of [r, n]
 *     ->  concat (slice %w, [0, 0] : [i, n]), %p, (slice %w, [i + r, 0] : [m - i - r, n])
 */
#include "passes/schedule/sections/sections.h"

#include "lib/ir/syntax.h"

typedef struct inserter {
    schedule *s;
    tile_function *f;
    tile_builder b;
    tile_value whole;
    const tile_type *type;
    const tile_expr *begin[TILE_MAX_RANK], *extent[TILE_MAX_RANK]; /* of the part so far */
} inserter;

static const tile_expr *combine(const inserter *n, tile_opcode opcode, const tile_expr *a,
                                const tile_expr *b) {
    return tile_expr_op(n->s->context, opcode, a, b, NULL);
}

/* Elements of the whole: `extent` of them from `begin` on along dim d, those of the part along the
 * others. */
static tile_value slice_whole(inserter *n, unsigned d, const tile_expr *begin,
                              const tile_expr *extent) {
    const tile_type *i32 = tile_type_scalar(n->s->context, TILE_i32);
    tile_value first[TILE_MAX_RANK];
    tile_type draft = *n->type;
    for (unsigned i = 0; i < draft.rank; i++) {
        draft.dims[i] = i == d ? extent : n->extent[i];
        first[i] = tile_function_constant(n->f, i32, i == d ? begin : n->begin[i]);
    }
    return tile_build_slice(&n->b, n->whole, first, draft.rank, TILE_NO_VALUE,
                            tile_type_get(n->s->context, &draft));
}

/* Extends the part along dim d to the whole. */
static tile_value extend(inserter *n, tile_value part, unsigned d) {
    const tile_expr *zero = tile_expr_int(n->s->context, 0), *whole = n->type->dims[d];
    const tile_expr *end = combine(n, TILE_OP_add, n->begin[d], n->extent[d]);
    const tile_expr *rest = combine(n, TILE_OP_sub, whole, end);
    tile_value pieces[3];
    unsigned count = 0;
    if (!tile_expr_is(n->begin[d], 0)) pieces[count++] = slice_whole(n, d, zero, n->begin[d]);
    pieces[count++] = part;
    if (!tile_expr_is(rest, 0)) pieces[count++] = slice_whole(n, d, end, rest);
    n->begin[d] = zero;
    n->extent[d] = whole;
    if (count == 1) return part;
    tile_type draft = *n->type;
    for (unsigned i = 0; i < draft.rank; i++) draft.dims[i] = n->extent[i];
    const tile_segment segments[] = {{{0}, pieces, count}};
    const tile_attr axis = {.id = TILE_ATTR_axis, .expr = tile_expr_int(n->s->context, d)};
    tile_op op = tile_build_op_of(&n->b, TILE_OP_concat, segments, 1,
                                  tile_type_get(n->s->context, &draft), &axis, 1);
    if (op.id) tile_op_set_int(n->f, op, TILE_ATTR_axis, d);
    return op.id ? tile_op_result(n->f, op, 0) : TILE_NO_VALUE;
}

static tile_value expand(schedule *s, tile_function *f, tile_op op) {
    tile_value part = tile_operand_src(f, op);
    const tile_type *from = tile_value_type(f, part);
    inserter n = {.s = s,
                  .f = f,
                  .b = tile_builder_before(f, op),
                  .whole = tile_operand_dst(f, op),
                  .type = tile_value_type(f, tile_operand_dst(f, op))};
    n.b.loc = tile_op_loc(f, op);
    for (unsigned d = 0; d < from->rank; d++) {
        n.begin[d] = tile_value_at(f, tile_operands_first(f, op).at[d])->expr;
        n.extent[d] = from->dims[d];
    }
    for (unsigned d = from->rank; d-- > 0 && part.id;)
        if (!tile_extents_equal(s->context, n.extent[d], n.type->dims[d]) ||
            !tile_expr_is(n.begin[d], 0))
            part = extend(&n, part, d);
    return part;
}

void sched_expand_inserts(schedule *s, tile_function *f) {
    uint32_t count = (uint32_t)f->op_count;
    tile_value *made = TILE_NEW_ARRAY(s->arena, tile_value, count);
    bool found = false;
    TILE_FOR_EACH_OP (f, op, f->body) {
        if (op.id >= count || tile_op_opcode(f, op) != TILE_OP_insert_slice) continue;
        made[op.id] = expand(s, f, op);
        found = true;
        s->failed |= !made[op.id].id;
    }
    if (!found || s->failed) return;
    tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
    for (uint32_t id = 1; id < count; id++)
        if (made[id].id) map[tile_op_result(f, (tile_op){id}, 0).id] = made[id];
    tile_replace_values(f, f->body, map);
    for (uint32_t id = 1; id < count; id++)
        if (made[id].id) tile_erase_op(f, (tile_op){id});
}
