/* The factors of an operand: what an operand is multiplied from, through operations that only move
 * elements. */
#include "passes/schedule/kernel/factors.h"

#include "lib/ir/effects.h"
#include "lib/ir/syntax.h"

bool sched_follow_moves(schedule *s, sched_factor *at) {
    tile_op op = tile_value_def(s->compute, at->value);
    if (!op.id || !sched_only_moves(s, op)) return false;
    tile_value from = tile_first_operand(s->compute, op);
    sched_map map;
    if (tile_op_opcode(s->compute, op) != TILE_OP_reshape)
        map = sched_operand_map(s, op, 0, 0, &at->map);
    else if (!sched_reshaped(s, sched_type(s, from), sched_type(s, at->value), &at->map, &map))
        return false;
    *at = (sched_factor){from, map};
    return true;
}

/* Returns whether op only multiplies values of such types. */
static bool is_product_of_factors(const schedule *s, const sched_factors *all, tile_op op) {
    if (!op.id || tile_op_opcode(s->compute, op) != TILE_OP_mul) return false;
    const tile_type *type = tile_value_type(s->compute, tile_op_result(s->compute, op, 0));
    return type->scalar == TILE_f32 || (all->halves && sched_is_half(type));
}

void sched_collect_factors(schedule *s, sched_factors *all, tile_value value,
                           const sched_map *map) {
    sched_factor at = {value, *map};
    tile_op op = tile_value_def(s->compute, value);
    while (!is_product_of_factors(s, all, op) && sched_follow_moves(s, &at))
        op = tile_value_def(s->compute, at.value);
    if (is_product_of_factors(s, all, op)) {
        for (unsigned i = 0; i < 2; i++) {
            sched_map own = sched_operand_map(s, op, 0, i, &at.map);
            sched_collect_factors(s, all, tile_op_operand(s->compute, op, i), &own);
        }
        return;
    }
    if (all->count == SCHED_MAX_FACTORS)
        all->too_many = true;
    else
        all->items[all->count++] = (sched_factor){value, *map};
}

void sched_erase_unused(schedule *s, const bool *kept) {
    tile_function *f = s->compute;
    uint32_t *uses = tile_count_uses(f, s->arena);
    for (size_t i = 0; i < f->result_count; i++) uses[f->results[i].value.id]++;
    for (tile_op op = tile_region_at(f, f->body)->last, before; op.id; op = before) {
        bool used = tile_op_result_count(f, op) == 0;
        before = tile_op_at(f, op)->prev;
        for (unsigned i = 0; i < tile_op_result_count(f, op); i++) {
            tile_value result = tile_op_result(f, op, i);
            used |= uses[result.id] != 0 || kept[result.id];
        }
        if (used) continue;
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
            uses[tile_op_operand(f, op, i).id]--;
        tile_erase_op(f, op);
    }
}
