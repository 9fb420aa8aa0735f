/* Whether the last row sees the last key. Then no key is hidden at the end, and loads need not stop
 * where the loop of a tile does: a view that ends there would have no tensor map. */
#include "passes/schedule/online/online_kernel.h"

#include "lib/ir/syntax.h"

/* The mask at the last row and the last key, as far as expressions tell. */
typedef struct corner {
    schedule *s;
    const sched_online *o;
    const tile_expr *row, *key;
} corner;

static const tile_expr *combine(const corner *c, tile_opcode opcode, const tile_expr *a,
                                const tile_expr *b) {
    return a && b ? tile_expr_op(c->s->context, opcode, a, b, NULL) : NULL;
}

static const tile_expr *coordinate_at(const corner *c, tile_op op, const sched_map *map) {
    const sched_coordinate *place = &map->at[sched_axis(c->s, op)];
    const tile_attr *start = tile_op_attr(c->s->compute, op, TILE_ATTR_start);
    const tile_attr *step = tile_op_attr(c->s->compute, op, TILE_ATTR_step);
    if (place->index || place->offset || (step && !tile_expr_is(step->expr, 1))) return NULL;
    const tile_expr *at = place->dim == (int)c->o->m   ? c->row
                          : place->dim == (int)c->o->n ? c->key
                                                       : NULL;
    return start ? combine(c, TILE_OP_add, at, start->expr) : at;
}

/* The number of an i32 element; NULL: not known. */
static const tile_expr *number_at(const corner *c, sched_mapped_value at) {
    at = sched_skip_broadcasts(c->s, at);
    if (sched_element(c->s, at.value)->scalar != TILE_i32) return NULL;
    if (!sched_is_tensor(c->s, at.value)) return tile_value_as_expr(c->s->compute, at.value);
    tile_op op = tile_value_def(c->s->compute, at.value);
    if (!op.id || sched_array_of(c->s, at.value) >= 0) return NULL;
    tile_opcode opcode = tile_op_opcode(c->s->compute, op);
    if (opcode == TILE_OP_iota) return coordinate_at(c, op, &at.map);
    if (opcode == TILE_OP_splat) return number_at(c, sched_mapped_operand(c->s, op, 0, &at.map));
    if (opcode != TILE_OP_add && opcode != TILE_OP_sub) return NULL;
    return combine(c, opcode, number_at(c, sched_mapped_operand(c->s, op, 0, &at.map)),
                   number_at(c, sched_mapped_operand(c->s, op, 1, &at.map)));
}

/* Returns whether a - b is a known number, and small: no sum of both overflowed. */
static bool find_difference(const corner *c, const tile_expr *a, const tile_expr *b,
                            int64_t *number) {
    const tile_expr *difference = combine(c, TILE_OP_sub, a, b);
    difference =
        difference ? tile_extent_canonical(c->s->context, sched_expr(c->s, difference)) : NULL;
    return difference && tile_expr_is_int(difference, number) && *number <= SCHED_SMALL &&
           *number >= -SCHED_SMALL;
}

static bool is_true_at(const corner *c, sched_mapped_value at) {
    at = sched_skip_broadcasts(c->s, at);
    tile_op op = tile_value_def(c->s->compute, at.value);
    if (!op.id || sched_array_of(c->s, at.value) >= 0 ||
        tile_op_operand_count(c->s->compute, op) != 2)
        return false;
    sched_mapped_value x = sched_mapped_operand(c->s, op, 0, &at.map),
                       y = sched_mapped_operand(c->s, op, 1, &at.map);
    tile_opcode opcode = tile_op_opcode(c->s->compute, op);
    if (opcode == TILE_OP_and) return is_true_at(c, x) && is_true_at(c, y);
    if (opcode == TILE_OP_or) return is_true_at(c, x) || is_true_at(c, y);
    int64_t by;
    if (opcode != TILE_OP_le && opcode != TILE_OP_lt && opcode != TILE_OP_ge &&
        opcode != TILE_OP_gt)
        return false;
    if (!find_difference(c, number_at(c, x), number_at(c, y), &by)) return false;
    return opcode == TILE_OP_le   ? by <= 0
           : opcode == TILE_OP_lt ? by < 0
           : opcode == TILE_OP_ge ? by >= 0
                                  : by > 0;
}

bool sched_last_row_sees_last_key(schedule *s, const sched_group *g, const sched_online *o) {
    const tile_expr *one = tile_expr_int(s->context, 1);
    corner c = {.s = s, .o = o};
    c.row = tile_expr_op(s->context, TILE_OP_sub, g->domain.extents[o->m], one, NULL);
    c.key = tile_expr_op(s->context, TILE_OP_sub, o->extent, one, NULL);
    bool sees = !o->packed && o->masked_input_count > 0;
    for (unsigned i = 0; i < o->masked_input_count && sees; i++) {
        const sched_masked_input *input = &o->masked_inputs[i];
        sees = !input->seen.value.id || is_true_at(&c, input->seen);
    }
    return sees;
}
