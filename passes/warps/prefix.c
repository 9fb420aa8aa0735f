/* Divides the operations before a specialized loop into those that all warps execute and those of
 * the consumers. */
#include "lib/analysis/memory.h"
#include "passes/warps/planner.h"

bool specialize_handles_tiles(const tile_function *f, tile_op op) {
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        if (tile_op_handles_tile(f, op, tile_op_operand(f, op, i))) return true;
    for (unsigned i = 0; i < tile_op_at(f, op)->result_count; i++)
        if (tile_op_handles_tile(f, op, tile_op_result(f, op, i))) return true;
    return false;
}

/* Returns whether more warps can execute op with the same result. */
static bool is_uniform_prefix_op(const tile_function *f, tile_op op) {
    tile_access accesses[TILE_MAX_ACCESSES];
    tile_opcode opcode = tile_op_opcode(f, op);
    unsigned effects = tile_op_effects(f, op) & ~(unsigned)TILE_EFFECT_ALLOC;
    return !specialize_handles_tiles(f, op) && !tile_op_at(f, op)->region_count &&
           !tile_op_has_trait(opcode, TILE_TRAIT_DIVERGES) && !tile_op_accesses(f, op, accesses) &&
           (!effects || opcode == TILE_OP_pdl_wait);
}

/* Operations that are executed once per executor set regardless of its number of warps, for
 * instance an atomic counter. */
static bool must_run_once(const tile_function *f, tile_op op) {
    const unsigned structure = TILE_EFFECT_REGION | TILE_EFFECT_TERMINATOR,
                   orders = TILE_EFFECT_ACQUIRE | TILE_EFFECT_RELEASE;
    bool once = !specialize_handles_tiles(f, op) &&
                (tile_op_opcode(f, op) == TILE_OP_atomic
                     ? !(tile_op_effects(f, op) & orders)
                     : is_uniform_prefix_op(f, op) || (tile_op_effects(f, op) & structure) != 0);
    for (unsigned r = 0; r < tile_op_at(f, op)->region_count && once; r++)
        TILE_FOR_EACH_OP (f, inner, tile_op_region(f, op, r)) once &= must_run_once(f, inner);
    return once;
}

/* Returns whether op, or an operation in its regions, uses a value that only the consumers have. */
static bool uses_moved(planner *p, tile_op op) {
    bool found = false;
    for (unsigned i = 0; i < tile_op_operand_count(p->f, op); i++) {
        tile_op def = tile_value_def(p->f, tile_op_operand(p->f, op, i));
        bool top = def.id && tile_op_at(p->f, def)->parent.id == p->f->body.id;
        found |= top && !p->s->run_by_all[def.id];
    }
    for (unsigned r = 0; r < tile_op_at(p->f, op)->region_count; r++)
        TILE_FOR_EACH_OP (p->f, inner, tile_op_region(p->f, op, r)) found |= uses_moved(p, inner);
    return found;
}

/* Operations that must not move before an earlier operation of the consumers: those with effects,
 * and free_shared, because the buffer may still be in use. */
static bool keeps_place(const tile_function *f, tile_op op) {
    return tile_op_effects(f, op) & ~(unsigned)TILE_EFFECT_ALLOC ||
           tile_op_opcode(f, op) == TILE_OP_free_shared;
}

/* All warps execute uniform operations before the loops. The consumers execute the rest, including
 * thread indices and barriers, and every effect after their first operation. */
void specialize_divide_prefix(planner *p) {
    tile_function *f = p->f;
    bool met = false;
    tile_op top = specialize_outermost_op(p->s);
    TILE_FOR_EACH_OP (f, op, f->body) {
        if (op.id == top.id) break;
        bool moves = !must_run_once(f, op) || (met && keeps_place(f, op));
        moves |= uses_moved(p, op);
        met |= moves;
        p->s->run_by_all[op.id] = !moves;
    }
}
