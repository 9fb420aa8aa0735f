/* Operands of products in an online loop: from the operand's value to the array that the loop
 * reads, and its coordinates. */
#include "passes/schedule/cut/classify.h"

bool online_is_read(const online_classifier *f, tile_value value) {
    if (!f->groups[0]) return sched_array_of(f->s, value) >= 0;
    return sched_input_of(f->s, f->groups[0], value) >= 0 ||
           sched_input_of(f->s, f->groups[1], value) >= 0;
}

/* Each dim of the tile must be one dim of the array, and no other coordinate of the array may vary
 * along these dims or those of other tiles. A reshape may have removed the dim of a single row. */
static bool is_tile_of(const online_classifier *f, const sched_product_operand *side,
                       unsigned rank) {
    const sched_online *o = f->o;
    bool lost = side->row == o->m && tile_expr_is(f->domain->extents[o->m], 1);
    const unsigned tiled[] = {o->m, o->m + 1, o->n, o->depth};
    unsigned rows = 0, columns = 0;
    for (unsigned d = 0; d < rank; d++) {
        const sched_coordinate *at = &side->from.map.at[d];
        bool row = sched_depends(at, side->row), column = sched_depends(at, side->column);
        if ((row || column) && (at->index || at->offset)) return false;
        for (unsigned i = 0; i < 4; i++)
            if (tiled[i] != side->row && tiled[i] != side->column && sched_depends(at, tiled[i]))
                return false;
        rows += row;
        columns += column;
    }
    return (rows == 1 || (lost && !rows)) && columns == 1;
}

/* Returns whether the slice only restricts dims along which the operand has a single coordinate. */
static bool slices_batches(const online_classifier *f, const sched_product_operand *side,
                           tile_op slice) {
    schedule *s = f->s;
    const tile_type *from = sched_type(s, tile_operand_src(s->compute, slice));
    const tile_type *to = sched_type(s, tile_op_result(s->compute, slice, 0));
    const tile_values first = tile_operands_first(s->compute, slice);
    for (unsigned d = 0; d < to->rank; d++) {
        const sched_coordinate *at = &side->from.map.at[d];
        bool tiled = at->index || sched_depends(at, side->row) || sched_depends(at, side->column);
        if (!tile_value_at(s->compute, first.at[d])->expr ||
            (tiled && sched_dim(s, from, d) != sched_dim(s, to, d)))
            return false;
    }
    return true;
}

/* Goes from the operand's value to the operand of the operation that computes it, if the operation
 * only moves elements or widens them. */
static bool follow_operand(online_classifier *f, sched_product_operand *side, tile_op op) {
    schedule *s = f->s;
    tile_value value = side->from.value;
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    if (!tile_op_operand_count(s->compute, op)) return false;
    tile_value from = tile_first_operand(s->compute, op);
    sched_map at;
    if (opcode == TILE_OP_reshape) {
        if (!sched_reshaped(s, sched_type(s, from), sched_type(s, value), &side->from.map, &at))
            return false;
    } else if (opcode == TILE_OP_broadcast || opcode == TILE_OP_transpose ||
               (opcode == TILE_OP_slice && slices_batches(f, side, op)) ||
               (opcode == TILE_OP_cast && sched_narrow(s, value).id == from.id)) {
        at = sched_operand_map(s, op, 0, 0, &side->from.map);
    } else {
        return false;
    }
    side->from.map = at;
    side->from.value = from;
    return true;
}

static bool is_operand(const online_classifier *f, const sched_product_operand *side) {
    return online_is_supported(sched_element(f->s, side->from.value)) &&
           is_tile_of(f, side, sched_type(f->s, side->from.value)->rank);
}

/* A reshape that splits a dim into batches and one of the tile's, such as [s, h * d] into [s, h,
 * d], is read by its own dims, which an array also has (sched_find_input). */
static bool find_operand(online_classifier *f, sched_product_operand *side, tile_value value) {
    schedule *s = f->s;
    sched_product_operand reshaped = {.from = {.value = TILE_NO_VALUE}};
    tile_op op;
    side->wide = sched_element(s, value);
    side->from.value = value;
    if (!sched_is_tensor(s, value) || !online_is_supported(side->wide)) return false;
    while (!online_is_read(f, side->from.value) &&
           (op = tile_value_def(s->compute, side->from.value)).id) {
        const sched_product_operand before = *side;
        if (!follow_operand(f, side, op)) break;
        if (!reshaped.from.value.id && tile_op_opcode(s->compute, op) == TILE_OP_reshape &&
            sched_is_computed(sched_type(s, side->from.value)->rank, &side->from.map))
            reshaped = before;
    }
    if (!is_operand(f, side) && reshaped.from.value.id) *side = reshaped;
    side->element = sched_element(s, side->from.value);
    return is_operand(f, side);
}

bool online_place_operand(online_classifier *f, sched_product_operand *side, tile_value value,
                          const sched_map *result, unsigned rank, unsigned first, unsigned second) {
    schedule *s = f->s;
    const tile_type *type = sched_type(s, value);
    for (unsigned d = 0; d + 2 < type->rank; d++) {
        bool repeated = tile_expr_is(sched_dim(s, type, d), 1);
        side->from.map.at[d] =
            repeated ? sched_zero_coordinate() : result->at[d + rank - type->rank];
    }
    side->from.map.at[type->rank - 2] = sched_dim_coordinate(first);
    side->from.map.at[type->rank - 1] = sched_dim_coordinate(second);
    return find_operand(f, side, value);
}
