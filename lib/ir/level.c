/* Levels: which operations a function contains, and which it may contain. */
#include "lib/ir/level.h"

bool tile_op_is_allowed(const tile_op_info *info, unsigned level) {
    switch (level) {
    case 0: return info->levels & TILE_LEVEL_0;
    case 1: return info->levels & TILE_LEVEL_1;
    case 2: return info->levels & (TILE_LEVEL_2 | TILE_LEVEL_3);
    case 3: return info->levels & TILE_LEVEL_3;
    }
    return false;
}

bool tile_op_returns_tile(const tile_function *f, tile_op op) {
    for (uint32_t i = 0; i < tile_op_result_count(f, op); i++)
        if (tile_value_type(f, tile_op_result(f, op, i))->kind == TILE_TYPE_TILE) return true;
    return false;
}

/* The memory that a thread addresses by coordinates, or no value. */
static tile_value find_placed(const tile_function *f, tile_op op) {
    const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
    for (unsigned i = 0; i < info->operand_count; i++)
        if (tile_is_placed(f, op, i)) return tile_op_segment(f, op, i).at[0];
    return TILE_NO_VALUE;
}

bool tile_verify_offsets(const tile_function *f, tile_op op) {
    tile_value placed = find_placed(f, op);
    if (!placed.id) return true;
    bool view = tile_value_type(f, placed)->kind == TILE_TYPE_VIEW;
    return tile_error_of(f, op, "%s takes one offset, not coordinates: @%s is at level 3",
                         view ? "a view's `base`" : "a shared buffer", f->name);
}

unsigned tile_function_level_by_ops(const tile_function *f) {
    if (f->kind != TILE_KERNEL) return f->kind == TILE_COMPUTE ? 1 : 0;
    bool thread_level = false, placed = false;
    for (uint32_t id = 1; id < f->op_count; id++) {
        tile_op op = {id};
        tile_opcode opcode = tile_op_opcode(f, op);
        const tile_op_info *info = tile_op_get_info(opcode);
        if (opcode == TILE_OP_NONE) continue; /* erased */
        if (!tile_op_is_allowed(info, 3) || tile_op_returns_tile(f, op)) return 2;
        if (find_placed(f, op).id) return 2;
        thread_level |= !(info->levels & TILE_LEVEL_2);
        if (tile_op_has_attr(f, op, TILE_ATTR_pipelined)) return 2;
        if (tile_op_has_attr(f, op, TILE_ATTR_split)) return 2;
        if (tile_op_has_attr(f, op, TILE_ATTR_groups)) return 2;
        if (opcode != TILE_OP_alloc_shared) continue;
        if (!tile_op_has_attr(f, op, TILE_ATTR_offset)) return 2;
        placed = true;
    }
    return thread_level && placed ? 3 : 2;
}
