/* Operations that only repeat a value.
 *
 * A reduction along a dim of extent 1 is its operand: a chain of them, as frameworks write after a
 * reduction that keeps its dim, would be a kernel of its own. Equal reshapes of one value are one
 * value, so that a kernel that holds its elements does not load them again. */
#include "lib/ir/effects.h"
#include "lib/ir/syntax.h"
#include "passes/schedule/cut/cut.h"

bool sched_has_user_tile(const schedule *s, tile_op op) {
    static const tile_attr_id own[] = {TILE_ATTR_tile, TILE_ATTR_split, TILE_ATTR_strategy,
                                       TILE_ATTR_warps};
    bool has = false;
    for (unsigned a = 0; a < sizeof own / sizeof *own; a++)
        has |= tile_op_has_attr(s->compute, op, own[a]);
    return has;
}

void sched_replace(schedule *s, tile_op op, tile_value to) {
    tile_function *f = s->compute;
    tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
    map[tile_op_result(f, op, 0).id] = to;
    tile_replace_values(f, f->body, map);
    tile_erase_op(f, op);
}

/* The operand of a reduction of one element; else no value. */
static tile_value single_of(schedule *s, tile_op op) {
    const tile_function *f = s->compute;
    if (tile_op_opcode(f, op) != TILE_OP_reduce || sched_has_user_tile(s, op)) return TILE_NO_VALUE;
    tile_value src = tile_operand_src(f, op);
    const tile_type *type = sched_type(s, src);
    int64_t axis = sched_axis(s, op);
    bool one = axis >= 0 && axis < type->rank &&
               tile_expr_is(sched_dim(s, type, (unsigned)axis), 1) &&
               type == sched_type(s, tile_op_result(f, op, 0));
    return one ? src : TILE_NO_VALUE;
}

/* The result of an earlier reshape of the same value to the same type; else no value. */
static tile_value earlier_of(const schedule *s, tile_op op) {
    const tile_function *f = s->compute;
    if (tile_op_opcode(f, op) != TILE_OP_reshape) return TILE_NO_VALUE;
    tile_value src = tile_operand_src(f, op), result = tile_op_result(f, op, 0);
    for (tile_op at = tile_op_at(f, op)->prev; at.id; at = tile_op_at(f, at)->prev)
        if (tile_op_opcode(f, at) == TILE_OP_reshape && tile_operand_src(f, at).id == src.id &&
            sched_type(s, tile_op_result(f, at, 0)) == sched_type(s, result))
            return tile_op_result(f, at, 0);
    return TILE_NO_VALUE;
}

static tile_value same_value(schedule *s, tile_op op) {
    tile_value same = single_of(s, op);
    return same.id ? same : earlier_of(s, op);
}

void sched_merge_same(schedule *s) {
    bool found = false;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) found |= same_value(s, op).id != 0;
    if (!found) return;
    sched_clone_compute(s);
    tile_op next;
    for (tile_op op = tile_region_first(s->compute, s->compute->body); op.id; op = next) {
        next = tile_op_next(s->compute, op);
        tile_value same = same_value(s, op);
        if (same.id) sched_replace(s, op, same);
    }
}
