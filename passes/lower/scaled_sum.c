/* Sums of 8-bit floats that are scaled where they are added: %new = fma(dot(%a, %b, 0), %scale,
 * %sum). The code of the dot includes that of the fma (wgmma.c), which adds one instruction's
 * columns at a time.
 *
 * It also includes the operations that only the fma needs, such as the loads of the scales, after
 * its first wgmma: they run while the tensor cores work. Before them, each iteration would wait for
 * the loads.
 *
 *     load    mul    wgmma    wait    fma          wgmma    load    mul    wait    fma */
#include "lib/analysis/memory.h"
#include "lib/ops/rearrange.h"
#include "passes/common/warpgroup.h"
#include "passes/lower/lower.h"

tile_value lower_scale_of_sum(const tile_function *f, tile_op dot, tile_op fma) {
    bool second = tile_operand_rhs(f, fma).id == tile_op_result(f, dot, 0).id;
    return second ? tile_operand_lhs(f, fma) : tile_operand_rhs(f, fma);
}

/* Returns whether the value exists before the dot. */
static bool precedes(const tile_function *f, tile_value value, tile_op dot) {
    for (tile_op at = dot; at.id; at = tile_op_at(f, at)->next)
        if (tile_value_def(f, value).id == at.id) return false;
    return true;
}

tile_op lower_scaled_sum(const lowering *l, tile_op dot) {
    const tile_function *f = &l->old;
    tile_op fma = warpgroup_scaled_sum(f, dot);
    bool included = fma.id && precedes(f, lower_scale_of_sum(f, dot, fma), dot) &&
                    precedes(f, tile_operand_addend(f, fma), dot) && !lower_has_equal_rows(l, dot);
    return included ? fma : TILE_NO_OP;
}

void lower_end_scaled_sum(lowering *l, tile_op dot, tile_value result) {
    tile_op fma = lower_scaled_sum(l, dot);
    if (!fma.id) return;
    tile_value old = tile_op_result(&l->old, fma, 0);
    l->map[old.id] = result;
    l->fused[fma.id] = true;
    tile_value_at(l->f, result)->name = tile_value_at(&l->old, old)->name;
}

/* Deferred operations -------------------------------------------------------------------------- */

/* Returns whether an operation from the load to the dot may write what the load reads. */
static bool is_written(const tile_function *f, tile_op load, tile_op dot) {
    tile_value view = tile_operands_src(f, load).at[0];
    bool written = false;
    for (tile_op op = load; op.id != dot.id && !written; op = tile_op_at(f, op)->next)
        written = tile_may_write(f, op, view);
    return written;
}

/* Returns whether the operation, which precedes the dot, can run after it: it computes a tile, or
 * loads one. */
static bool can_be_deferred(const tile_function *f, tile_op op, tile_op dot) {
    if (tile_op_result_count(f, op) != 1 || tile_op_at(f, op)->region_count ||
        tile_value_type(f, tile_op_result(f, op, 0))->kind != TILE_TYPE_TILE)
        return false;
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_load)
        return tile_value_type(f, tile_operands_src(f, op).at[0])->kind == TILE_TYPE_VIEW &&
               !is_written(f, op, dot);
    return tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE) || opcode == TILE_OP_broadcast ||
           tile_is_rearrangement(f, op);
}

static void count_uses(const tile_function *f, tile_op op, uint32_t *uses) {
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        uses[tile_op_operand(f, op, i).id]++;
}

/* Defers the operations before the dot all of whose uses are deferred ones, or the fma. */
static void defer(lowering *l, tile_op dot, const uint32_t *uses, uint32_t *own) {
    const tile_function *f = &l->old;
    count_uses(f, lower_scaled_sum(l, dot), own);
    for (tile_op op = tile_op_at(f, dot)->prev; op.id; op = tile_op_at(f, op)->prev) {
        uint32_t result = tile_op_result_count(f, op) ? tile_op_result(f, op, 0).id : 0;
        if (!result || !own[result] || own[result] != uses[result] || l->fused[op.id] ||
            !can_be_deferred(f, op, dot))
            continue;
        l->fused[op.id] = true;
        l->deferred[op.id] = dot;
        count_uses(f, op, own);
    }
}

void lower_find_deferred(lowering *l) {
    const tile_function *f = &l->old;
    const uint32_t *uses = tile_count_uses(f, l->pass->scratch);
    l->deferred = TILE_NEW_ARRAY(l->pass->scratch, tile_op, f->op_count);
    for (uint32_t id = 1; id < f->op_count; id++) {
        tile_op dot = {id};
        if (f->ops[id].opcode && warpgroup_uses_wgmma(f, dot) && lower_scaled_sum(l, dot).id)
            defer(l, dot, uses, TILE_NEW_ARRAY(l->pass->scratch, uint32_t, f->value_count));
    }
}

void lower_deferred(lowering *l, tile_op dot) {
    tile_loc loc = l->builder.loc;
    TILE_FOR_EACH_OP (&l->old, op, tile_op_at(&l->old, dot)->parent) {
        if (op.id == dot.id) break;
        if (l->deferred[op.id].id != dot.id) continue;
        l->fused[op.id] = false;
        lower_operation(l, op);
    }
    l->builder.loc = loc;
}
