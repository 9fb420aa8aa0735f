/* Operations that move elements, represented as changes of coordinates. */
#include "passes/schedule/kernel/schedule.h"

tile_value sched_strip_broadcasts(const schedule *s, tile_value value) {
    tile_op op;
    while ((op = tile_value_def(s->compute, value)).id &&
           tile_op_dims(tile_op_opcode(s->compute, op)) == TILE_DIMS_stretched)
        value = tile_operand_src(s->compute, op);
    return value;
}

sched_map sched_identity(const sched_domain *domain) {
    sched_map map = {{{0, NULL, NULL}}};
    for (unsigned d = 0; d < domain->rank; d++)
        map.at[d] =
            tile_expr_is(domain->extents[d], 1) ? sched_zero_coordinate() : sched_dim_coordinate(d);
    return map;
}

bool sched_same_map(const sched_map *a, const sched_map *b, unsigned rank) {
    for (unsigned d = 0; d < rank; d++)
        if (!sched_same_coordinate(&a->at[d], &b->at[d])) return false;
    return true;
}

/* The dims that are not 1, in order; returns their number. */
static unsigned long_dims(schedule *s, const tile_type *type, unsigned dims[TILE_MAX_RANK]) {
    unsigned count = 0;
    for (unsigned d = 0; d < type->rank; d++)
        if (!tile_expr_is(sched_dim(s, type, d), 1)) dims[count++] = d;
    return count;
}

/* Returns whether a reshape only adds or removes dims of extent 1. */
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

/* A reshape of windows is computed where it is used, so that the windows are not stored. Others
 * are if they cost nothing (view.c). */
static bool is_inline_reshape(schedule *s, tile_op op) {
    tile_value from = tile_operand_src(s->compute, op), to = tile_op_result(s->compute, op, 0);
    sched_map map = {{{0, NULL, NULL}}}, out;
    return is_squeeze(s, op) || sched_is_free(s, op) ||
           (s->expands[from.id] &&
            sched_reshaped(s, sched_type(s, from), sched_type(s, to), &map, &out));
}

bool sched_is_inline(schedule *s, tile_op op) {
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    tile_dims dims = tile_op_dims(opcode);
    if (dims == TILE_DIMS_flat) return is_inline_reshape(s, op);
    return tile_opcode_moves(opcode) || dims == TILE_DIMS_counted ||
           tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE);
}

unsigned sched_transposed_dim(const schedule *s, tile_op transpose, unsigned d) {
    const tile_attr *order = tile_op_attr(s->compute, transpose, TILE_ATTR_order);
    const unsigned rank = sched_type(s, tile_op_result(s->compute, transpose, 0))->rank;
    if (order) return (unsigned)order->list[d];
    return d + 2 < rank ? d : d + 2 == rank ? rank - 1 : rank - 2; /* the last two are exchanged */
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

/* Adds the operation's shift to the coordinate along dim d. */
static sched_coordinate shifted(schedule *s, tile_op op, unsigned operand, unsigned d,
                                const sched_map *map) {
    tile_dims dims = tile_op_dims(tile_op_opcode(s->compute, op));
    if (dims == TILE_DIMS_beside && d == sched_axis(s, op))
        return sched_part_coordinate(s, op, operand, map);
    if (dims != TILE_DIMS_sliced) return map->at[d];
    tile_value first = tile_operands_first(s->compute, op).at[d];
    return sched_shifted(s, &map->at[d], TILE_OP_add, tile_value_at(s->compute, first)->expr);
}

/* In a dim of extent 1 the coordinate is always 0. */
sched_map sched_operand_map(schedule *s, tile_op op, unsigned result, unsigned operand,
                            const sched_map *map) {
    const tile_type *from = sched_type(s, tile_op_operand(s->compute, op, operand));
    const tile_type *to = sched_type(s, tile_op_result(s->compute, op, result));
    tile_dims dims = tile_op_dims(tile_op_opcode(s->compute, op));
    tile_dim own[TILE_MAX_RANK];
    sched_map out = *map;
    if (dims == TILE_DIMS_windowed) return operand ? out : sched_windowed(s, op, from->rank, map);
    if (dims == TILE_DIMS_flat) {
        sched_regrouped(s, from, to, map, &out);
        return out;
    }
    unsigned rank = tile_dim_map(s->compute, op, result, operand, own);
    for (unsigned d = 0; d < rank; d++) {
        if (tile_expr_is(sched_dim(s, from, d), 1))
            out.at[d] = sched_zero_coordinate();
        else if (own[d].kind == TILE_DIM_OF)
            out.at[d] = shifted(s, op, operand, own[d].of, map);
        else if (own[d].kind == TILE_DIM_AT)
            out.at[d] =
                (sched_coordinate){-1, result ? tile_expr_int(s->context, result) : NULL, NULL};
    }
    return out;
}

/* Returns whether the operation is a slice whose coordinates are known expressions. */
static bool is_slice(const schedule *s, tile_op op) {
    if (tile_op_dims(tile_op_opcode(s->compute, op)) != TILE_DIMS_sliced) return false;
    const tile_values first = tile_operands_first(s->compute, op);
    for (unsigned d = 0; d < first.count; d++)
        if (!tile_value_at(s->compute, first.at[d])->expr) return false;
    return true;
}

static bool only_moves(schedule *s, const sched_group *g, tile_op op, bool slices) {
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    if (opcode == TILE_OP_window) return sched_is_padded(s, g, op);
    if (is_slice(s, op)) return slices;
    return sched_is_inline(s, op) && tile_op_operand_count(s->compute, op) == 1 &&
           !tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE);
}

tile_value sched_without_moves(schedule *s, const sched_group *g, tile_value value, bool slices) {
    tile_op op;
    while (sched_find_input(s, g, value) < 0 && (op = tile_value_def(s->compute, value)).id &&
           only_moves(s, g, op, slices))
        value = tile_operand_src(s->compute, op);
    return value;
}
