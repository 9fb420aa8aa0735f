/* `store load %x[%i * 1024], %y[%i * 1024]` copies one element for each block: a load without
 * extents is a scalar. This is probably a mistake if blocks are c > 1 elements apart and the
 * element is only stored. */
#include "passes/passes.h"

#include <stdio.h>

#include "lib/ir/remark.h"
#include "lib/ir/syntax.h"

enum { DEPTH = 16 };

typedef struct search {
    tile_function *f;
    const uint32_t *uses;
} search;

static bool is_block_id(const tile_function *f, tile_value value) {
    tile_op op = tile_value_def(f, value);
    return op.id && tile_op_opcode(f, op) == TILE_OP_block_id;
}

/* The constant c of a sum that contains block_id * c; 0: there is none. */
static int64_t find_factor(const tile_function *f, tile_value value, unsigned depth) {
    tile_op op = tile_value_def(f, value);
    int64_t factor = 0, number;
    if (!op.id || !depth || !tile_op_takes(tile_op_opcode(f, op), TILE_OPERAND_rhs)) return 0;
    tile_value a = tile_operand_lhs(f, op), b = tile_operand_rhs(f, op);
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_mul:
        if (is_block_id(f, a) && tile_value_is_int(f, b, &number)) return number;
        return is_block_id(f, b) && tile_value_is_int(f, a, &number) ? number : 0;
    case TILE_OP_add:
    case TILE_OP_sub:
        factor = find_factor(f, a, depth - 1);
        return factor > 1 ? factor : find_factor(f, b, depth - 1);
    default: return 0;
    }
}

static bool is_in_parallel(const tile_function *f, tile_op op) {
    for (op = tile_op_parent(f, op); op.id; op = tile_op_parent(f, op))
        if (tile_op_opcode(f, op) == TILE_OP_parallel) return true;
    return false;
}

static void visit_store(tile_function *f, tile_op op, const search *s) {
    if (tile_op_opcode(f, op) != TILE_OP_store || is_in_parallel(f, op)) return;
    tile_value src = tile_operand_src(f, op);
    tile_op load = tile_value_def(f, src);
    const tile_values to = tile_operands_dst(f, op);
    if (!load.id || tile_op_opcode(f, load) != TILE_OP_load || s->uses[src.id] != 1 ||
        tile_value_type(f, src)->kind != TILE_TYPE_SCALAR ||
        tile_value_type(f, to.at[0])->kind != TILE_TYPE_VIEW)
        return;
    for (unsigned d = 1; d < to.count; d++) {
        int64_t factor = find_factor(f, to.at[d], DEPTH);
        if (factor <= 1) continue;
        char remedy[64];
        snprintf(remedy, sizeof remedy, "for a tile write `load .. : [%lld]`", (long long)factor);
        tile_missed_at(f, load, "one element", remedy,
                       "it loads one element, the same for all threads");
        return;
    }
}

void tile_remark_stored_elements(tile_function *f) {
    tile_arena scratch = {0};
    if (!tile_remarks_wanted(f) || f->kind != TILE_KERNEL || tile_function_level(f) != 2) return;
    search s = {f, tile_count_uses(f, &scratch)};
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) visit_store(f, op, &s);
    tile_arena_reset(&scratch);
}
