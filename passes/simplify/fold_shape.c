/* Folds chains of operations that rearrange elements. */
#include "lib/ops/rearrange.h"
#include "passes/simplify/fold.h"

/* Which dim of src is dim d of the result. */
static void read_order(const tile_function *f, tile_op op, int64_t *order) {
    tile_placement p = tile_placement_of(f, op, 0, 0);
    for (unsigned d = 0; d < p.rank; d++) order[d] = p.source[d];
}

/* Merges a transpose of a transpose into one transpose, or none. */
static tile_value fold_transposes(tile_function *f, tile_op op, tile_op inner, bool *changed) {
    int64_t outer[TILE_MAX_RANK], first[TILE_MAX_RANK], order[TILE_MAX_RANK];
    tile_value source = tile_operand_src(f, inner);
    unsigned rank = tile_value_type(f, source)->rank;
    bool same = true;
    read_order(f, op, outer);
    read_order(f, inner, first);
    for (unsigned d = 0; d < rank; d++) {
        order[d] = first[outer[d]];
        same &= order[d] == d;
    }
    if (same && tile_value_type(f, source) == tile_value_type(f, tile_op_result(f, op, 0)))
        return source;
    if (same) return TILE_NO_VALUE;
    tile_set_operand(f, op, TILE_OPERAND_src, source);
    tile_op_set_list(f, op, TILE_ATTR_order, order, rank);
    *changed = true;
    return TILE_NO_VALUE;
}

tile_value tile_fold_rearrangement(tile_function *f, tile_op op, bool *changed) {
    tile_opcode opcode = tile_op_opcode(f, op);
    tile_value source = tile_first_operand(f, op);
    const tile_type *type = tile_value_type(f, tile_op_result(f, op, 0));
    tile_op inner = tile_value_def(f, source);
    if (!tile_is_rearrangement(f, op) || tile_moved_operands(f, op) != 1) return TILE_NO_VALUE;
    if (opcode != TILE_OP_transpose && tile_value_type(f, source) == type) return source;
    /* With layouts, threads may be able to do each of two steps but not both at once. */
    if (tile_rearranging_buffer(f, op).id || !inner.id || type->layout) return TILE_NO_VALUE;
    if (opcode == TILE_OP_transpose && tile_op_opcode(f, inner) == TILE_OP_transpose)
        return fold_transposes(f, op, inner, changed);
    if (opcode != TILE_OP_reshape || tile_op_opcode(f, inner) != TILE_OP_reshape ||
        tile_rearranging_buffer(f, inner).id)
        return TILE_NO_VALUE;
    source = tile_operand_src(f, inner);
    if (tile_value_type(f, source) == type) return source;
    tile_set_operand(f, op, TILE_OPERAND_src, source);
    *changed = true;
    return TILE_NO_VALUE;
}
