/* Recomputes predicates that are used on both sides of a loop.
 *
 * Tiles that are loaded before a loop and stored after it often have the same bounds, which cse
 * computes once: one comparison for each row that a thread holds, 64 of them for arrays at odd
 * addresses. The machine has seven predicate registers, so ptxas keeps each row's number live in a
 * register across the loop, whose accumulators need all registers. Recomputing a comparison takes
 * one addition and one comparison, from a single number. LLVM must not merge the two again, so that
 * number goes through an opaque instruction (pin); ptxas does not merge them. */
#include "lib/codegen/emitter.h"
#include "lib/codegen/ptx.h"
#include "lib/ir/regions.h"

enum { PREDICATE_REGISTERS = 7 };

static void count_operands(const tile_function *f, tile_op op, uint32_t *counts) {
    const tile_op_data *data = tile_op_at(f, op);
    for (uint32_t i = 0; i < data->operand_count; i++) counts[data->operands[i].id]++;
    for (uint32_t r = 0; r < data->region_count; r++)
        TILE_FOR_EACH_OP (f, inner, data->regions[r]) count_operands(f, inner, counts);
}

/* The addition of a constant that is the left operand of a comparison; 0: there is none. */
static tile_op sum_of(const tile_function *f, tile_op comparison) {
    int64_t ignored;
    tile_op sum = tile_value_def(f, tile_operand_lhs(f, comparison));
    bool is_sum = sum.id && tile_op_opcode(f, sum) == TILE_OP_add &&
                  tile_value_is_int(f, tile_operand_rhs(f, sum), &ignored);
    return is_sum ? sum : (tile_op){0};
}

static bool is_bound(const tile_function *f, tile_op op) {
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode != TILE_OP_lt && opcode != TILE_OP_ult) return false;
    const tile_type *type = tile_value_type(f, tile_operand_lhs(f, op));
    return type->kind == TILE_TYPE_SCALAR && type->scalar == TILE_i32 && sum_of(f, op).id;
}

/* Emits the comparison again at the builder's position, from the pinned number. */
static void recompute_comparison(tile_emitter *e, tile_op comparison, LLVMValueRef *pinned) {
    tile_op sum = sum_of(e->f, comparison);
    tile_value base = tile_operand_lhs(e->f, sum), row = tile_op_result(e->f, sum, 0);
    LLVMValueRef *base_parts = tile_get_parts(e, base), *row_parts = tile_get_parts(e, row);
    if (!pinned[base.id]) {
        tile_ptx ptx = tile_ptx_begin(e, TILE_MACHINE_pin);
        tile_ptx_add_tied(&ptx, base_parts, 1);
        tile_ptx_call(&ptx, &pinned[base.id]);
    }
    tile_set_scalar(e, base, pinned[base.id]);
    tile_emit_elementwise(e, sum);
    tile_emit_elementwise(e, comparison);
    tile_set_parts(e, base, base_parts);
    tile_set_parts(e, row, row_parts);
}

/* Finds comparisons before the loop, in its region, that more than one operation uses; the list may
 * be NULL. */
static uint32_t find_bounds(const tile_emitter *e, tile_op loop, tile_op *list) {
    uint32_t count = 0;
    TILE_FOR_EACH_OP (e->f, op, tile_op_at(e->f, loop)->parent) {
        if (op.id == loop.id) break;
        if (!is_bound(e->f, op) || e->uses[tile_op_result(e->f, op, 0).id] < 2) continue;
        if (list) list[count] = op;
        count++;
    }
    return count;
}

void tile_recompute_predicates(tile_emitter *e, tile_op loop) {
    uint32_t found = find_bounds(e, loop, NULL), count = 0;
    if (found <= PREDICATE_REGISTERS) return;
    tile_op *list = TILE_NEW_ARRAY(&e->arena, tile_op, found);
    uint32_t *inside = TILE_NEW_ARRAY(&e->arena, uint32_t, e->f->value_count);
    uint32_t *behind = TILE_NEW_ARRAY(&e->arena, uint32_t, e->f->value_count);
    find_bounds(e, loop, list);
    count_operands(e->f, loop, inside);
    for (tile_op op = tile_op_next(e->f, loop); op.id; op = tile_op_next(e->f, op)) {
        if (tile_repeats(e->f, op)) break; /* it is recomputed after that loop */
        count_operands(e->f, op, behind);
    }
    for (uint32_t i = 0; i < found; i++) {
        uint32_t id = tile_op_result(e->f, list[i], 0).id;
        if (behind[id] && !inside[id] && e->uses[id] > behind[id]) list[count++] = list[i];
    }
    if (count <= PREDICATE_REGISTERS) return;
    LLVMValueRef *pinned = TILE_NEW_ARRAY(&e->arena, LLVMValueRef, e->f->value_count);
    for (uint32_t i = 0; i < count; i++) recompute_comparison(e, list[i], pinned);
}
