/* Ping-pong: two groups of consumers compute different tiles, each its epilogue while the other one
 * multiplies.
 *
 *     tile    0        1        2        3
 *     group 0 [====]-- wait     [====]--           ==== products, a turn   -- epilogue
 *     group 1 wait     [====]-- wait     [====]--
 *
 * The ring stays one: its stages hold the tiles' parts in the order of the turns, and a group
 * counts those of the other one as passed. So all tiles need equally many. A group waits for its
 * turn, at a barrier of its own, before it looks at the ring: it would take the phase of a stage
 * for the one two phases before. The last turn is handed to nobody. */
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "lib/layout/wgmma.h"
#include "passes/tile/specialize.h"
#include "passes/tile/warpgroup.h"

enum {
    GROUPS = 2,
    FIRST_TURN = 1, /* number of the first group's barrier: no other has one */
};

/* Conditions ----------------------------------------------------------------------------------- */

static bool miss(const specialist *s, tile_op op, const char *why, const char *remedy) {
    tile_remark_missed(s->ring.f, op, "no ping-pong", why, remedy);
    return false;
}

static bool is_fixed(const specialist *s, tile_value value) {
    const tile_function *f = s->ring.f;
    tile_op def = tile_value_def(f, value);
    return tile_value_at(f, value)->kind != TILE_VALUE_REGION &&
           (!def.id || specialize_is_outside(s, def));
}

/* Whether two groups may both run it. */
static bool may_repeat(const tile_function *f, tile_op op) {
    tile_access accesses[TILE_MAX_ACCESSES];
    bool writes = (tile_op_effects(f, op) & ~(unsigned)TILE_EFFECT_ALLOC) != 0;
    unsigned count = tile_op_accesses(f, op, accesses);
    for (unsigned i = 0; i < count; i++) writes |= accesses[i].write;
    return !writes;
}

/* What means all of the kernel's warps, not the set that runs it. */
typedef struct counting {
    tile_op op; /* the first; 0: there is none */
    const char *why, *remedy;
} counting;

static void visit_counted(tile_function *f, tile_op op, void *user) {
    counting *found = user;
    if (found->op.id) return;
    if (tile_numbers_warps(f, op))
        *found = (counting){op, "it counts the warps of both groups", NULL};
    else if (tile_lays_out_warps(f, op))
        *found =
            (counting){op, "its layout is for the warps of both groups", "leave the layout out"};
}

static bool can_take_turns(specialist *s) {
    tile_function *f = s->ring.f;
    tile_op loop = s->ring.plan.loop;
    if (s->warps != GROUPS * WARPGROUP)
        return miss(s, loop, "two groups of 4 warps take turns", "say `warps 8`");
    if (s->around_count != 1 || !tile_op_has_attr(f, s->around[0], TILE_ATTR_independent) ||
        tile_carried_count(f, s->around[0]))
        return miss(s, loop, "groups take turns at tiles, and a block has one",
                    "make the kernel `persistent`");
    for (unsigned i = 0; i < 3; i++)
        if (!is_fixed(s, tile_op_operand(f, loop, i)))
            return miss(s, loop,
                        "the loop's bounds depend on the tile, and groups that take turns "
                        "must know each other's",
                        NULL);
    TILE_FOR_EACH_OP (f, op, f->body)
        if (op.id != s->around[0].id && !specialize_is_outside(s, op) && !may_repeat(f, op))
            return miss(s, op, "it is no part of a tile, and both groups would do it", NULL);
    TILE_FOR_EACH_OP (f, op, tile_op_region(f, loop, 0)) {
        if (tile_op_opcode(f, op) != TILE_OP_dot) continue;
        const tile_type *acc = warpgroup_operand(f, op, TILE_MMA_ACC);
        const uint32_t dims[2] = {(uint32_t)tile_type_dim(acc, 0), (uint32_t)tile_type_dim(acc, 1)};
        if (!tile_wgmma_admits(dims, TILE_WGMMA_PLAIN, WARPGROUP) &&
            !tile_wgmma_admits(dims, TILE_WGMMA_EXCHANGED, WARPGROUP))
            return miss(s, op, "4 warps alone cannot compute its tile", NULL);
        if (GROUPS * warpgroup_registers(f, op) > WARPGROUP_MOST_REGISTERS)
            return miss(s, op, "the sums of its tile do not fit the registers of 4 warps alone",
                        "use a smaller tile");
    }
    counting counted = {.op = TILE_NO_OP};
    tile_walk(f, f->body, visit_counted, &counted);
    return !counted.op.id || miss(s, counted.op, counted.why, counted.remedy);
}

void specialize_plan_turns(specialist *s) {
    const char *word = tile_op_attr_text(s->ring.f, s->ring.plan.loop, TILE_ATTR_consumers);
    if (!word || strcmp(word, "ping_pong") != 0 || !can_take_turns(s)) return;
    s->turns = true;
    s->sets = GROUPS;
    s->warps /= GROUPS;
}

/* Building ------------------------------------------------------------------------------------- */

/* Each group at its own barrier, or (arrives) at the one of the other. */
static void build_turn(const specialist *s, tile_builder *b, bool arrives) {
    tile_builder regions[GROUPS];
    specialize_branch(b, tile_build_eq(b, s->group, tile_build_int(b, 0)), regions);
    for (unsigned g = 0; g < GROUPS; g++) {
        unsigned number = FIRST_TURN + (arrives ? GROUPS - 1 - g : g);
        tile_value barrier = tile_build_int(b, number);
        tile_value warps = tile_build_int(b, GROUPS * WARPGROUP);
        if (arrives)
            tile_build_sync_arrive(&regions[g], barrier, warps);
        else
            tile_build_sync(&regions[g], barrier, warps);
    }
}

void specialize_skip(const specialist *s, tile_builder *b, tile_value state[RING_STATES],
                     tile_value count) {
    tile_value stages = tile_build_int(b, s->ring.plan.stages);
    tile_value sum = tile_build_add(b, state[0], count);
    tile_value rounds = tile_build_div(b, sum, stages);
    state[0] = tile_build_rem(b, sum, stages);
    state[1] = tile_build_xor(b, state[1], tile_build_and(b, rounds, tile_build_int(b, 1)));
}

/* How often the loop runs. */
static tile_value iterations(const specialist *s, tile_builder *b) {
    const tile_function *f = s->ring.f;
    tile_op loop = s->ring.plan.loop;
    tile_value begin = tile_op_operand(f, loop, 0), end = tile_op_operand(f, loop, 1);
    tile_value step = tile_op_operand(f, loop, 2), zero = tile_build_int(b, 0);
    int64_t first;
    bool from_zero = tile_value_is_int(f, begin, &first) && first == 0;
    tile_value span = from_zero ? end : tile_build_sub(b, end, begin);
    return tile_build_ceildiv(b, tile_build_max(b, span, zero), step);
}

void specialize_deal_tiles(specialist *s, tile_value state[RING_STATES]) {
    tile_function *f = s->ring.f;
    tile_op tiles = s->around[0];
    tile_builder b = tile_builder_before(f, tiles), regions[2];
    b.loc = tile_op_loc(f, tiles);
    tile_value begin = tile_op_operand(f, tiles, 0), end = tile_op_operand(f, tiles, 1);
    tile_value step = tile_op_operand(f, tiles, 2);
    s->iterations = iterations(s, &b);
    /* 1. The second group begins behind the first one's first tile. */
    specialize_skip(s, &b, state, tile_build_mul(&b, s->group, s->iterations));
    /* 2. Every second tile; the step as it was is the one to the next turn. That they are no less
     * than before is said: what was known of the tiles' numbers has been relied on. */
    tile_value first = tile_build_add(&b, begin, tile_build_mul(&b, s->group, step));
    tile_value far = tile_build_mul(&b, step, tile_build_int(&b, GROUPS));
    first = tile_build_max(&b, first, begin);
    far = tile_build_max(&b, far, step);
    tile_op_at(f, tiles)->operands[0] = first;
    tile_op_at(f, tiles)->operands[2] = far;
    /* 3. The first turn, if there is a tile, is the first group's. */
    tile_value some = tile_build_lt(&b, begin, end);
    tile_value second = tile_build_ne(&b, s->group, tile_build_int(&b, 0));
    specialize_branch(&b, tile_build_and(&b, some, second), regions);
    tile_build_sync_arrive(&regions[0], tile_build_int(&b, FIRST_TURN),
                           tile_build_int(&b, GROUPS * WARPGROUP));
    s->turn_step = step;
}

void specialize_await_turn(const specialist *s, tile_builder *b) {
    build_turn(s, b, false);
}

void specialize_pass_turn(const specialist *s, tile_builder *b) {
    tile_builder regions[2];
    tile_op tiles = s->around[0];
    tile_value tile = tile_region_arg(s->ring.f, tile_op_region(s->ring.f, tiles, 0), 0);
    tile_value next = tile_build_add(b, tile, s->turn_step);
    specialize_branch(b, tile_build_lt(b, next, tile_op_operand(s->ring.f, tiles, 1)), regions);
    build_turn(s, &regions[0], true);
}
