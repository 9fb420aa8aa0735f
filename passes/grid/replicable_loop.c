/* Finds loops that additional blocks can execute without an observable effect. */
#include "passes/grid/replicable_loop.h"

#include "lib/analysis/memory.h"

/* True if the operation only executes after the loop: no enclosing loop repeats both. */
static bool is_after_loop(const tile_function *f, tile_op op, tile_op loop) {
    if (tile_op_at(f, loop)->parent.id != f->body.id) return false;
    tile_op top = tile_ancestor_in(f, op, f->body), next = tile_op_next(f, loop);
    while (next.id && next.id != top.id) next = tile_op_next(f, next);
    return next.id != 0;
}

/* Whether op writes memory that the loop reads: global memory, unless the write follows the loop;
 * or a shared buffer, outside the loop. */
static bool writes(tile_function *f, tile_op op, tile_op loop, const tile_access *read) {
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(f, op, accesses);
    bool found = false;
    for (unsigned i = 0; i < count; i++) {
        if (!accesses[i].write || accesses[i].shared != read->shared) continue;
        found |= read->shared
                     ? accesses[i].memory.id == read->memory.id && !tile_op_is_in(f, op, loop)
                     : tile_may_alias(f, accesses[i].memory, read->memory) &&
                           !is_after_loop(f, op, loop);
    }
    return found;
}

static bool is_written(tile_function *f, tile_op loop, const tile_access *access) {
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (writes(f, op, loop, access)) return true;
    return false;
}

static bool is_replicable(tile_function *f, tile_op op, tile_op loop) {
    const unsigned harmless = TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_WRITE_GLOBAL |
                              TILE_EFFECT_READ_SHARED | TILE_EFFECT_WRITE_SHARED |
                              TILE_EFFECT_ASYNC | TILE_EFFECT_REGION | TILE_EFFECT_TERMINATOR |
                              TILE_EFFECT_COLLECTIVE | TILE_EFFECT_WARPGROUP;
    const bool dots = tile_op_opcode(f, op) == TILE_OP_dot_wait; /* waits for the block's own */
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = tile_op_accesses(f, op, accesses);
    bool ok = !(tile_op_effects(f, op) & ~(harmless | (dots ? TILE_EFFECT_WAIT : 0u)));
    for (unsigned i = 0; i < count && ok; i++)
        ok = (accesses[i].shared || !accesses[i].write) && !is_written(f, loop, &accesses[i]);
    return ok;
}

bool is_replicable_loop(tile_function *f, tile_op loop) {
    if (!tile_op_has_attr(f, loop, TILE_ATTR_pipelined)) return false;
    for (tile_op op = loop; op.id; op = tile_op_parent(f, op))
        if (tile_op_opcode(f, op) != TILE_OP_for) return false;
    TILE_FOR_EACH_NESTED_OP (f, op, loop)
        if (!is_replicable(f, op, loop)) return false;
    return true;
}
