/* Operations that move elements, as changes of coordinates. */
#include "passes/schedule/kernel/schedule.h"

#include "lib/ir/syntax.h"

tile_value sched_without_broadcasts(const schedule *s, tile_value value) {
    tile_op op;
    while ((op = tile_value_def(s->compute, value)).id &&
           tile_op_opcode(s->compute, op) == TILE_OP_broadcast)
        value = tile_operand_src(s->compute, op);
    return value;
}

sched_map sched_identity(const sched_domain *domain) {
    sched_map map = {{{0, NULL, NULL}}};
    for (unsigned d = 0; d < domain->rank; d++)
        map.at[d] = tile_expr_is(domain->extents[d], 1) ? sched_nowhere() : sched_whole(d);
    return map;
}

bool sched_same_map(const sched_map *a, const sched_map *b, unsigned rank) {
    for (unsigned d = 0; d < rank; d++)
        if (!sched_same_coordinate(&a->at[d], &b->at[d])) return false;
    return true;
}

/* The dims that are not 1, in order; returns how many. */
static unsigned long_dims(schedule *s, const tile_type *type, unsigned dims[TILE_MAX_RANK]) {
    unsigned count = 0;
    for (unsigned d = 0; d < type->rank; d++)
        if (!tile_expr_is(sched_dim(s, type, d), 1)) dims[count++] = d;
    return count;
}

/* A reshape whose elements keep their coordinates, but for dims of extent 1. */
static bool is_squeeze(schedule *s, tile_op op) {
    const tile_type *from = sched_type(s, tile_operand_src(s->compute, op));
    const tile_type *to = sched_type(s, tile_op_result(s->compute, op, 0));
    unsigned a[TILE_MAX_RANK], b[TILE_MAX_RANK];
    unsigned count = long_dims(s, from, a);
    if (count != long_dims(s, to, b)) return false;
    for (unsigned i = 0; i < count; i++)
        if (sched_dim(s, from, a[i]) != sched_dim(s, to, b[i])) return false;
    return true;
}

/* A reshape of windows is computed where it is used, so that these are not written. */
static bool is_inline_reshape(schedule *s, tile_op op) {
    tile_value from = tile_operand_src(s->compute, op), to = tile_op_result(s->compute, op, 0);
    sched_map map = {{{0, NULL, NULL}}}, out;
    return is_squeeze(s, op) ||
           (s->expands[from.id] &&
            sched_reshaped(s, sched_type(s, from), sched_type(s, to), &map, &out));
}

bool sched_is_inline(schedule *s, tile_op op) {
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    switch (opcode) {
    case TILE_OP_broadcast:
    case TILE_OP_transpose:
    case TILE_OP_slice:
    case TILE_OP_concat:
    case TILE_OP_join:
    case TILE_OP_unjoin:
    case TILE_OP_gather:
    case TILE_OP_window:
    case TILE_OP_iota: return true;
    case TILE_OP_reshape: return is_inline_reshape(s, op);
    default: return tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE);
    }
}

/* Dims of lower rank stand at the end; extents of 1 are repeated. */
static sched_map stretched(schedule *s, const tile_type *from, const tile_type *to,
                           const sched_map *map) {
    sched_map out = {{{0, NULL, NULL}}};
    for (unsigned d = 0; d < from->rank; d++) {
        unsigned of_result = d + to->rank - from->rank;
        bool repeated = tile_expr_is(sched_dim(s, from, d), 1);
        out.at[d] = repeated ? sched_nowhere() : map->at[of_result];
    }
    return out;
}

static sched_map sliced(schedule *s, tile_op op, const sched_map *map) {
    sched_map out = *map;
    const tile_values first = tile_operands_first(s->compute, op);
    for (unsigned d = 0; d < first.count; d++)
        out.at[d] = sched_shifted(s, &map->at[d], TILE_OP_add,
                                  tile_value_at(s->compute, first.at[d])->expr);
    return out;
}

sched_coordinate sched_part_coordinate(schedule *s, tile_op op, unsigned operand,
                                       const sched_map *map) {
    unsigned axis = (unsigned)sched_axis(s, op);
    sched_coordinate at = map->at[axis];
    for (unsigned i = 0; i < operand; i++) {
        const tile_type *type = sched_type(s, tile_op_operand(s->compute, op, i));
        at = sched_shifted(s, &at, TILE_OP_sub, sched_dim(s, type, axis));
    }
    return at;
}

/* A part of extent 1 has its element wherever it is looked at. */
static sched_map part_of_concat(schedule *s, tile_op op, unsigned operand, const sched_map *map) {
    sched_map out = *map;
    unsigned axis = (unsigned)sched_axis(s, op);
    const tile_type *part = sched_type(s, tile_op_operand(s->compute, op, operand));
    bool one = tile_expr_is(sched_dim(s, part, axis), 1);
    out.at[axis] = one ? sched_nowhere() : sched_part_coordinate(s, op, operand, map);
    return out;
}

static sched_map transposed(schedule *s, tile_op op, const tile_type *type, const sched_map *map) {
    const tile_attr *order = tile_op_attr(s->compute, op, TILE_ATTR_order);
    sched_map out = *map;
    if (!order) {
        out.at[type->rank - 1] = map->at[type->rank - 2];
        out.at[type->rank - 2] = map->at[type->rank - 1];
    }
    for (unsigned d = 0; order && d < order->count; d++) out.at[order->list[d]] = map->at[d];
    return out;
}

sched_map sched_operand_map(schedule *s, tile_op op, unsigned result, unsigned operand,
                            const sched_map *map) {
    const tile_type *from = sched_type(s, tile_op_operand(s->compute, op, operand));
    const tile_type *to = sched_type(s, tile_op_result(s->compute, op, result));
    sched_map out = *map;
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_transpose: return transposed(s, op, from, map);
    case TILE_OP_slice: return operand ? out : sliced(s, op, map);
    case TILE_OP_concat: return part_of_concat(s, op, operand, map);
    case TILE_OP_join: return out; /* one dim less */
    case TILE_OP_unjoin:
        out.at[to->rank] =
            (sched_coordinate){-1, result ? tile_expr_int(s->context, 1) : NULL, NULL};
        return out;
    case TILE_OP_window: return operand ? out : sched_windowed(s, op, from->rank, map);
    case TILE_OP_reshape: sched_reshaped(s, from, to, map, &out); return out;
    default: return stretched(s, from, to, map);
    }
}
