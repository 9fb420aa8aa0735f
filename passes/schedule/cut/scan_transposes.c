/* Scans of a transposed array, or whose result is transposed.
 *
 * Along the last dim of its domain, a scan has a row in a tile, or a part of one. If the array is
 * contiguous along another dim, each element of the row is in another sector. The scan moves to the
 * domain in which its axis is not the last dim, where tiles have both contiguous dims:
 *
 *     scan_add(transpose(%x), axis = 1)    ->    transpose(scan_add(%x, axis = 0))
 *     transpose(scan_add(%x, axis = 1))    ->    scan_add(transpose(%x), axis = 0)
 *
 * Reductions of the same rows would then have another domain, so a compute that has some is left
 * as it is. */
#include "passes/schedule/cut/scans.h"

/* Reads the order of a transpose: dim d of its result is dim order[d] of its operand. */
static unsigned read_order(const schedule *s, tile_op op, int64_t order[TILE_MAX_RANK]) {
    const tile_attr *attr = tile_op_attr(s->compute, op, TILE_ATTR_order);
    unsigned rank = sched_type(s, tile_op_result(s->compute, op, 0))->rank;
    for (unsigned d = 0; d < rank; d++) order[d] = attr ? attr->list[d] : (int64_t)d;
    if (!attr && rank >= 2) {
        order[rank - 1] = (int64_t)rank - 2;
        order[rank - 2] = (int64_t)rank - 1;
    }
    return rank;
}

static tile_value transposed(schedule *s, tile_builder *b, tile_value value, const int64_t *order,
                             const tile_type *type) {
    tile_type draft = *type;
    draft.scalar = sched_type(s, value)->scalar;
    draft.param = sched_type(s, value)->param;
    tile_value made = tile_build_transpose(b, value, tile_type_get(s->context, &draft));
    if (made.id)
        tile_op_set_list(s->compute, tile_value_def(s->compute, made), TILE_ATTR_order, order,
                         type->rank);
    return made;
}

static bool is_alone(schedule *s) {
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) {
        tile_opcode opcode = tile_op_opcode(s->compute, op);
        if ((sched_is_reduction(s, op) && opcode != TILE_OP_scan) || opcode == TILE_OP_matmul)
            return false;
    }
    return true;
}

/* The attributes describe tiles of the domain as it is written. */
static bool is_free(const schedule *s, tile_op scan) {
    return !tile_op_has_attr(s->compute, scan, TILE_ATTR_tile);
}

static tile_value move_down(schedule *s, tile_op op) {
    int64_t order[TILE_MAX_RANK];
    scan_traits traits;
    tile_op transpose = scans_def(s, tile_operand_src(s->compute, op), TILE_OP_transpose);
    if (!transpose.id || !scans_read(s, op, &traits) || !is_free(s, op)) return TILE_NO_VALUE;
    unsigned rank = read_order(s, transpose, order);
    if (traits.axis + 1 != rank || order[traits.axis] + 1 == rank || !is_alone(s))
        return TILE_NO_VALUE;
    tile_builder b = scans_builder(s, op);
    traits.axis = (unsigned)order[traits.axis];
    tile_value all = scans_build(s, &b, op, tile_operand_src(s->compute, transpose), &traits);
    return transposed(s, &b, all, order, sched_type(s, tile_op_result(s->compute, op, 0)));
}

static tile_value move_up(schedule *s, tile_op op, const uint32_t *uses) {
    int64_t order[TILE_MAX_RANK];
    scan_traits traits;
    tile_value src = tile_operand_src(s->compute, op);
    tile_op scan = scans_def(s, src, TILE_OP_scan);
    if (!scan.id || uses[src.id] != 1 || !scans_read(s, scan, &traits) || !is_free(s, scan))
        return TILE_NO_VALUE;
    unsigned rank = read_order(s, op, order), place = 0;
    while (place + 1 < rank && order[place] != traits.axis) place++;
    if (traits.axis + 1 != rank || place + 1 == rank || !is_alone(s)) return TILE_NO_VALUE;
    tile_builder b = scans_builder(s, op);
    tile_value moved = transposed(s, &b, tile_operand_src(s->compute, scan), order,
                                  sched_type(s, tile_op_result(s->compute, op, 0)));
    traits.axis = place;
    return moved.id ? scans_build(s, &b, scan, moved, &traits) : moved;
}

/* A transpose of a transpose that undoes it. */
static tile_value cancel(schedule *s, tile_op op) {
    int64_t order[TILE_MAX_RANK], inner_order[TILE_MAX_RANK];
    tile_op inner = scans_def(s, tile_operand_src(s->compute, op), TILE_OP_transpose);
    if (!inner.id) return TILE_NO_VALUE;
    unsigned rank = read_order(s, op, order);
    read_order(s, inner, inner_order);
    for (unsigned d = 0; d < rank; d++)
        if (inner_order[order[d]] != (int64_t)d) return TILE_NO_VALUE;
    return tile_operand_src(s->compute, inner);
}

tile_value scans_from_transpose(schedule *s, tile_op op, const uint32_t *uses) {
    if (tile_op_opcode(s->compute, op) == TILE_OP_scan) return move_down(s, op);
    if (tile_op_opcode(s->compute, op) != TILE_OP_transpose) return TILE_NO_VALUE;
    tile_value to = cancel(s, op);
    return to.id ? to : move_up(s, op, uses);
}
