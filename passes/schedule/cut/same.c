/* Operations that only repeat a value.
 *
 * A reduction along a dim of extent 1 is its operand: a chain of them, as frameworks write after a
 * reduction that keeps its dim, would be a kernel of its own. Equal reshapes, casts and reductions
 * of one value are one value, so that a kernel that holds its elements does not load them again. */
#include <string.h>

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

static bool has_same_attrs(const tile_op_data *a, const tile_op_data *b) {
    if (a->attr_count != b->attr_count) return false;
    for (unsigned i = 0; i < a->attr_count; i++) {
        const tile_attr *x = &a->attrs[i], *y = &b->attrs[i];
        if (x->id != y->id || x->expr != y->expr || x->count != y->count || x->text != y->text ||
            x->type != y->type ||
            (x->count && memcmp(x->list, y->list, sizeof *x->list * x->count) != 0))
            return false;
    }
    return true;
}

/* The result of an equal operation on the same value that comes earlier; else no value. */
static tile_value earlier_of(const schedule *s, tile_op op) {
    const tile_function *f = s->compute;
    const tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode != TILE_OP_reshape && opcode != TILE_OP_cast && opcode != TILE_OP_reduce)
        return TILE_NO_VALUE;
    const tile_op_data *own = tile_op_at(f, op);
    tile_value result = tile_op_result(f, op, 0);
    for (tile_op at = own->prev; at.id; at = tile_op_at(f, at)->prev) {
        const tile_op_data *other = tile_op_at(f, at);
        if (other->opcode == own->opcode && other->operand_count == 1 && own->operand_count == 1 &&
            tile_operand_src(f, at).id == tile_operand_src(f, op).id &&
            has_same_attrs(own, other) &&
            sched_type(s, tile_op_result(f, at, 0)) == sched_type(s, result))
            return tile_op_result(f, at, 0);
    }
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
