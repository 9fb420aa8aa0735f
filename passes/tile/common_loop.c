/* Nobody notices who else runs such a loop. */
#include "passes/tile/common_loop.h"

#include "lib/analysis/memory.h"

typedef struct search {
    tile_op loop;
    tile_value memory;
    bool shared, found;
} search;

static bool is_inside(const tile_function *f, tile_op op, tile_op loop) {
    while (op.id && op.id != loop.id) op = tile_op_parent(f, op);
    return op.id != 0;
}

/* Behind the loop for good: nothing around it comes back. */
static bool comes_behind(const tile_function *f, tile_op op, tile_op loop) {
    if (tile_op_at(f, loop)->parent.id != f->body.id) return false;
    tile_op top = tile_ancestor_in(f, op, f->body), next = tile_op_next(f, loop);
    while (next.id && next.id != top.id) next = tile_op_next(f, next);
    return next.id != 0;
}

/* Global memory that is not written behind it only, a shared buffer outside of the loop. */
static void find_write(tile_function *f, tile_op op, void *user) {
    search *s = user;
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = s->found ? 0 : tile_op_accesses(f, op, accesses);
    for (unsigned i = 0; i < count; i++) {
        if (!accesses[i].write || accesses[i].shared != s->shared) continue;
        s->found |= s->shared ? accesses[i].memory.id == s->memory.id && !is_inside(f, op, s->loop)
                              : tile_may_alias(f, accesses[i].memory, s->memory) &&
                                    !comes_behind(f, op, s->loop);
    }
}

static bool is_written(tile_function *f, tile_op loop, const tile_access *access) {
    search s = {.loop = loop, .memory = access->memory, .shared = access->shared};
    tile_walk(f, f->body, find_write, &s);
    return s.found;
}

typedef struct checker {
    tile_op loop;
    bool ok;
} checker;

static void check_op(tile_function *f, tile_op op, void *user) {
    const unsigned harmless = TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_WRITE_GLOBAL |
                              TILE_EFFECT_READ_SHARED | TILE_EFFECT_WRITE_SHARED |
                              TILE_EFFECT_ASYNC | TILE_EFFECT_REGION | TILE_EFFECT_TERMINATOR |
                              TILE_EFFECT_COLLECTIVE | TILE_EFFECT_WARPGROUP;
    checker *c = user;
    tile_access accesses[TILE_MAX_ACCESSES];
    unsigned count = c->ok ? tile_op_accesses(f, op, accesses) : 0;
    c->ok = c->ok && !(tile_op_effects(f, op) & ~harmless);
    for (unsigned i = 0; i < count && c->ok; i++)
        c->ok = (accesses[i].shared || !accesses[i].write) && !is_written(f, c->loop, &accesses[i]);
}

bool common_loop_suits(tile_function *f, tile_op loop) {
    checker c = {.loop = loop, .ok = true};
    if (!tile_op_has_attr(f, loop, TILE_ATTR_pipelined)) return false;
    for (tile_op op = loop; op.id; op = tile_op_parent(f, op))
        if (tile_op_opcode(f, op) != TILE_OP_for) return false;
    tile_walk(f, tile_op_region(f, loop, 0), check_op, &c);
    return c.ok;
}
