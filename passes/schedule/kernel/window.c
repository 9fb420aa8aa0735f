/* Windows: the positions of their elements, operations on them, and out-of-bounds elements. */
#include "passes/schedule/kernel/schedule.h"

#include "lib/ir/syntax.h"
#include "lib/ops/gather.h"

/* A number of a windowed dim from a list of the operation; 1 if the list is empty. */
static sched_scalar number_of(schedule *s, tile_values values, unsigned index) {
    if (!values.count) return (sched_scalar){tile_expr_int(s->context, 1), TILE_NO_VALUE};
    const tile_value_data *value = tile_value_at(s->compute, values.at[index]);
    bool known = value->kind == TILE_VALUE_CONSTANT;
    return known ? (sched_scalar){sched_resolved(s, value->expr), TILE_NO_VALUE}
                 : (sched_scalar){NULL, values.at[index]};
}

/* Coordinates that may be out of bounds of src are always computed, whatever the numbers are. */
sched_map sched_windowed(schedule *s, tile_op op, unsigned rank, const sched_map *map) {
    sched_map out = *map;
    unsigned axis = (unsigned)sched_axis(s, op);
    const sched_coordinate none = sched_zero_coordinate();
    const tile_values strides = tile_operands_strides(s->compute, op);
    const tile_attr *between = tile_op_attr(s->compute, op, TILE_ATTR_input_dilations);
    unsigned count = strides.count;
    for (unsigned d = axis + count; d < rank; d++) out.at[d] = map->at[d + count];
    for (unsigned i = 0; i < count; i++) {
        sched_coordinate place =
            sched_sum(s, &map->at[axis + count + i],
                      number_of(s, tile_operands_dilations(s->compute, op), i), &none);
        place = sched_minus(s, &place, number_of(s, tile_operands_pads(s->compute, op), i));
        place = sched_sum(s, &map->at[axis + i], number_of(s, strides, i), &place);
        out.at[axis + i] = sched_exact(s, &place, between ? between->list[i] : 1);
    }
    return out;
}

/* Returns whether op moves the elements of windows or is element-wise. */
static bool keeps_elements(schedule *s, tile_op op) {
    return tile_op_opcode(s->compute, op) == TILE_OP_reshape || sched_is_inline(s, op);
}

void sched_mark_expanded(schedule *s) {
    s->expands = TILE_NEW_ARRAY(s->arena, bool, s->compute->value_count);
    s->free = TILE_NEW_ARRAY(s->arena, unsigned char, s->compute->value_count);
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) {
        tile_value result = tile_op_result(s->compute, op, 0);
        bool expands = tile_op_opcode(s->compute, op) == TILE_OP_window;
        for (unsigned i = 0; i < tile_op_operand_count(s->compute, op) && keeps_elements(s, op);
             i++)
            expands |= s->expands[tile_op_operand(s->compute, op, i).id];
        for (unsigned i = 0; i < tile_op_result_count(s->compute, op); i++)
            s->expands[result.id + i] = expands;
    }
}

static bool has_long_dims(const schedule *s, tile_op window) {
    const tile_type *type = sched_type(s, tile_operand_src(s->compute, window));
    unsigned axis = (unsigned)sched_axis(s, window);
    unsigned windowed = tile_operands_strides(s->compute, window).count;
    for (unsigned d = axis; d < axis + windowed; d++)
        if (tile_expr_is(sched_dim((schedule *)(uintptr_t)s, type, d), 1)) return false;
    return true;
}

/* Returns whether a window of `inner`, itself a window, has other dims than `inner`: an element is
 * outside of both along the same dim of the array. */
static bool has_other_dims(schedule *s, tile_op window, tile_op inner) {
    const tile_function *f = s->compute;
    unsigned first = (unsigned)sched_axis(s, window), begin = (unsigned)sched_axis(s, inner);
    unsigned count = tile_operands_strides(f, window).count;
    unsigned inner_dims = 2 * tile_operands_strides(f, inner).count; /* places and positions */
    return first + count <= begin || first >= begin + inner_dims;
}

/* Returns whether coordinates that are outside of op's result along the window's dims are outside
 * of its operand as well. */
static bool keeps_outside(schedule *s, tile_op window, tile_op op) {
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_transpose:
    case TILE_OP_cast: return true;
    case TILE_OP_window: return has_other_dims(s, window, op) && !tile_op_pads(s->compute, op);
    default: return false;
    }
}

/* Also true for a window of a transpose, a cast, or a window along other dims: it preserves 0, and
 * the map except for dims of extent 1. */
bool sched_is_padded(const schedule *s, const sched_group *g, tile_op window) {
    const tile_function *f = s->compute;
    tile_value src = tile_operand_src(f, window);
    bool keeps_map = has_long_dims(s, window), moved = false;
    tile_op op;
    while (keeps_map && sched_find_input(s, g, src) < 0 && (op = tile_value_def(f, src)).id &&
           !(moved && tile_op_opcode(f, op) == TILE_OP_window) &&
           keeps_outside((schedule *)(uintptr_t)s, window, op)) {
        moved |= tile_op_opcode(f, op) == TILE_OP_transpose;
        src = tile_operand_src(f, op);
    }
    return sched_find_input(s, g, src) >= 0 && !tile_op_pads(f, window);
}
