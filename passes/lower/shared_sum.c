/* Tiles that are added to a shared buffer: the sum of a long product's chunks.
 *
 *     for the whole tile         load load load ..   add add add ..   store store store ..
 *     for each access            load add store   load add store   load ..
 *
 * A thread's own sums take most of its registers. As many elements of the buffer beside them would
 * need twice as many registers as the loop around it, and ptxas then neither finds the registers
 * for a second block nor those of other banks for the products (fma.c). */
#include "lib/analysis/memory.h"
#include "passes/lower/lower.h"

/* The one operation that uses the value; 0: none, or several. */
static tile_op only_user(const tile_function *f, const uint32_t *uses, tile_value value) {
    tile_op op = tile_value_def(f, value);
    if (uses[value.id] != 1) return (tile_op){0};
    for (op = tile_op_next(f, op); op.id; op = tile_op_next(f, op))
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
            if (tile_op_operand(f, op, i).id == value.id) return op;
    return (tile_op){0};
}

/* Whether nothing between the two operations of one region accesses memory. */
static bool is_quiet_between(const tile_function *f, tile_op from, tile_op to) {
    tile_op op = tile_op_next(f, from);
    while (op.id != to.id && !tile_op_effects(f, op)) op = tile_op_next(f, op);
    return op.id == to.id;
}

/* The additions and the store of a sum that begins with a load. */
typedef struct shared_sum {
    tile_op adds[2], store;
    unsigned count;
} shared_sum;

static bool find_sum(const lowering *l, const uint32_t *uses, tile_op load, shared_sum *sum) {
    const tile_function *f = &l->old;
    *sum = (shared_sum){.count = 0};
    if (tile_op_opcode(f, load) != TILE_OP_load_shared || tile_operands_src(f, load).count != 1)
        return false;
    const tile_value from = tile_operand_src(f, load);
    const tile_type *type = tile_value_type(f, tile_op_result(f, load, 0));
    sum->store = only_user(f, uses, tile_op_result(f, load, 0));
    while (sum->store.id && tile_op_opcode(f, sum->store) == TILE_OP_add && sum->count < 2) {
        const tile_value added = tile_op_result(f, sum->adds[sum->count++] = sum->store, 0);
        if (tile_value_type(f, added) != type) return false;
        sum->store = only_user(f, uses, added);
    }
    if (!sum->count || !sum->store.id || tile_op_opcode(f, sum->store) != TILE_OP_store_shared)
        return false;
    const tile_values to = tile_operands_dst(f, sum->store);
    return to.count == 1 && to.at[0].id == from.id && is_quiet_between(f, load, sum->store) &&
           (int64_t)tile_type_registers(type) << TILE_LANE_BITS << type->layout->warp_bits ==
               tile_type_elements(type) &&
           !lower_is_misaligned(l, from);
}

void lower_find_shared_sums(lowering *l) {
    const uint32_t *uses = tile_count_uses(&l->old, l->pass->scratch);
    shared_sum sum;
    TILE_FOR_EACH_OP_INSIDE (&l->old, op, l->old.body) {
        if (!find_sum(l, uses, op, &sum)) continue;
        l->fused[op.id] = true;
        for (unsigned i = 0; i < sum.count; i++) l->fused[sum.adds[i].id] = true;
    }
}

/* One access of the value: loaded, or added, if that is left to this store. */
static tile_value part_of(lowering *l, tile_value value, const lower_shared_access *a,
                          unsigned index) {
    const tile_function *f = &l->old;
    const tile_op def = tile_value_def(f, value);
    const tile_type *type =
        lower_part_type(l, tile_value_type(f, value)->scalar, 1u << a->cut.width_bits);
    if (!def.id || !l->fused[def.id])
        return lower_extract_access(l, lower_mapped(l, value), &a->cut, index);
    if (tile_op_opcode(f, def) == TILE_OP_add) {
        const tile_value lhs = part_of(l, tile_operand_lhs(f, def), a, index);
        return tile_build_add(&l->builder, lhs, part_of(l, tile_operand_rhs(f, def), a, index));
    }
    const tile_value offset =
        lower_shared_access_offset(l, a, tile_access_split_register(&a->cut, index, 0));
    return tile_build_ld_shared(&l->builder, a->map.buffer, &offset, 1, TILE_NO_VALUE, type);
}

bool lower_shared_sum(lowering *l, tile_op store) {
    const tile_value sum = tile_operand_src(&l->old, store);
    const tile_op add = tile_value_def(&l->old, sum);
    if (!add.id || !l->fused[add.id] || tile_op_opcode(&l->old, add) != TILE_OP_add) return false;
    const tile_values to = tile_operands_dst(&l->old, store);
    const tile_type *tile = tile_value_type(&l->old, sum);
    lower_shared_map map = lower_map_shared(l, to.at, to.count, tile->layout);
    lower_shared_access a = lower_start_shared(l, &map, tile->layout, lower_widest(tile->scalar));
    for (unsigned i = 0; i < a.cut.count; i++) {
        const tile_value part = part_of(l, sum, &a, i);
        const tile_value offset =
            lower_shared_access_offset(l, &a, tile_access_split_register(&a.cut, i, 0));
        tile_build_st_shared(&l->builder, part, a.map.buffer, &offset, 1, TILE_NO_VALUE);
    }
    return true;
}
