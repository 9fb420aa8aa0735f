/* Ping-pong: two consumer groups compute different tiles, and the epilogue of one group overlaps
 * the dots of the other.
 *
 *     tile    0        1        2        3
 *     group 0 [====]-- wait     [====]--           ==== dots, one turn   -- epilogue
 *     group 1 wait     [====]-- wait     [====]--
 *
 * Both groups use one ring. Its stages hold the operands in the order of the turns, and each group
 * advances its state past the stages of the other group. All tiles must therefore have the same
 * number of iterations. A group waits for its turn, at a separate barrier, before it waits for a
 * stage: otherwise it could mistake the phase for that of two phases earlier. The last turn signals
 * no group. */
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "lib/ir/remark.h"
#include "lib/layout/wgmma.h"
#include "passes/common/loop_parts.h"
#include "passes/common/warpgroup.h"
#include "passes/warps/specialize.h"

enum {
    GROUPS = TILE_PING_PONG,
    FIRST_TURN_BARRIER = 1, /* number of the first group's barrier, reserved for ping-pong */
};

/* Conditions ----------------------------------------------------------------------------------- */

static bool is_fixed(const warp_specialization *s, tile_value value) {
    const tile_function *f = s->ring.f;
    tile_op def = tile_value_def(f, value);
    return tile_value_at(f, value)->kind != TILE_VALUE_REGION &&
           (!def.id || specialize_is_shared_by_all(s, def));
}

/* Returns whether both groups may execute op. */
static bool may_repeat(const tile_function *f, tile_op op) {
    tile_access accesses[TILE_MAX_ACCESSES];
    bool writes = (tile_op_effects(f, op) & ~(unsigned)TILE_EFFECT_ALLOC) != 0;
    unsigned count = tile_op_accesses(f, op, accesses);
    for (unsigned i = 0; i < count; i++) writes |= accesses[i].write;
    return !writes;
}

static bool can_ping_pong(warp_specialization *s) {
    tile_function *f = s->ring.f;
    tile_op loop = s->ring.plan.loop;
    tile_rejection refusal = tile_loop_rejects_ping_pong(&s->facts);
    if (refusal.why)
        return tile_missed_at(f, loop, "no ping-pong", refusal.remedy, "%s", refusal.why);
    for (unsigned i = 0; i < 3; i++)
        if (!is_fixed(s, tile_op_operand(f, loop, i)))
            return tile_missed_at(s->ring.f, loop, "no ping-pong", NULL,
                                  "the loop's bounds depend on the tile, and warpgroups that "
                                  "alternate between tiles need the same bounds");
    TILE_FOR_EACH_OP (f, op, f->body)
        if (op.id != s->outer_loops[0].id && !specialize_is_shared_by_all(s, op) &&
            !may_repeat(f, op))
            return tile_missed_at(
                s->ring.f, op, "no ping-pong", NULL,
                "it does not work on a part of a tile, and both groups would execute it");
    TILE_FOR_EACH_OP (f, op, tile_op_region(f, loop, 0)) {
        if (tile_op_opcode(f, op) != TILE_OP_dot) continue;
        const tile_dot_facts facts = warpgroup_facts(f, op);
        refusal = tile_dot_rejects_ping_pong(&facts);
        if (refusal.why)
            return tile_missed_at(f, op, "no ping-pong", refusal.remedy, "%s", refusal.why);
    }
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_numbers_warps(f, op))
            return tile_missed_at(s->ring.f, op, "no ping-pong", NULL,
                                  "it counts the warps of both groups");
        else if (tile_lays_out_warps(f, op))
            return tile_missed_at(s->ring.f, op, "no ping-pong", "remove the layout",
                                  "its layout is for the warps of both groups");
    return true;
}

void specialize_plan_ping_pong(warp_specialization *s) {
    if (!warpgroup_requests(s->ring.f, s->ring.plan.loop, "ping_pong") || !can_ping_pong(s)) return;
    const tile_range *ranges = tile_range_analyse(s->ring.f, s->ring.pass->scratch);
    s->tiles = loop_ahead_of(s->ring.f, s->outer_loops[0], ranges, s->ring.f->value_count);
    if (!loop_parts_interleave(&s->tiles, GROUPS)) {
        tile_missed_at(s->ring.f, s->outer_loops[0], "no ping-pong",
                       "make its step a constant, or the kernel `persistent`",
                       "two steps of the loop over tiles may overflow an i32");
        return;
    }
    s->ping_pong = true;
    s->consumer_groups = GROUPS;
    s->warps /= GROUPS;
}

/* Building ------------------------------------------------------------------------------------- */

/* Each group waits at its own barrier, or (arrives) arrives at that of the other group. */
static void build_turn_barrier(const warp_specialization *s, tile_builder *b, bool arrives) {
    tile_builder regions[GROUPS];
    specialize_branch(b, tile_build_eq(b, s->group, tile_build_int(b, 0)), regions);
    for (unsigned g = 0; g < GROUPS; g++) {
        unsigned number = FIRST_TURN_BARRIER + (arrives ? GROUPS - 1 - g : g);
        tile_value barrier = tile_build_int(b, number);
        tile_value warps = tile_build_int(b, GROUPS * WARPGROUP);
        if (arrives)
            tile_build_sync_arrive(&regions[g], barrier, warps);
        else
            tile_build_sync(&regions[g], barrier, warps);
    }
}

void specialize_skip_iterations(const warp_specialization *s, tile_builder *b,
                                tile_value state[RING_STATES], tile_value count) {
    tile_value stages = tile_build_int(b, s->ring.plan.stages);
    tile_value sum = tile_build_add(b, state[0], count);
    tile_value rounds = tile_build_div(b, sum, stages);
    state[0] = tile_build_rem(b, sum, stages);
    state[1] = tile_build_xor(b, state[1], tile_build_and(b, rounds, tile_build_int(b, 1)));
}

static tile_value long_number(const warp_specialization *s, int64_t value) {
    tile_context *context = tile_function_context(s->ring.f);
    return tile_function_constant(s->ring.f, tile_type_scalar(context, TILE_i64),
                                  tile_expr_int(context, value));
}

/* The iteration count of the loop for any bounds, modulo twice the stages, which is all that
 * callers use. */
static tile_value count_in_64_bits(const warp_specialization *s, tile_builder *b,
                                   const loop_ahead *l) {
    tile_context *context = tile_function_context(s->ring.f);
    const tile_type *i64 = tile_type_scalar(context, TILE_i64);
    tile_value span =
        tile_build_sub(b, tile_build_cast(b, l->end, i64), tile_build_cast(b, l->begin, i64));
    span = tile_build_max(b, span, long_number(s, 0));
    tile_value count = tile_build_ceildiv(b, span, tile_build_cast(b, l->step, i64));
    count = tile_build_rem(b, count, long_number(s, 2 * (int64_t)s->ring.plan.stages));
    return tile_build_cast(b, count, tile_type_scalar(context, TILE_i32));
}

/* The iteration count of the loop, or a number that leads to the same stage and phase. */
static tile_value iterations(const warp_specialization *s, tile_builder *b) {
    const tile_function *f = s->ring.f;
    int64_t first;
    const loop_ahead l = loop_ahead_of(f, s->ring.plan.loop, s->tiles.ranges, s->tiles.range_count);
    tile_range begin = loop_ahead_range(&l, l.begin), step = loop_ahead_range(&l, l.step);
    tile_range end = loop_ahead_range(&l, l.end);
    int64_t most = end.max - begin.min, least = end.min - begin.max;
    bool fits = step.min >= 1 && most <= INT32_MAX && least >= INT32_MIN &&
                most / step.min + s->ring.plan.stages < INT32_MAX;
    if (!fits) return count_in_64_bits(s, b, &l);
    bool from_zero = tile_value_is_int(f, l.begin, &first) && first == 0;
    tile_value span = from_zero ? l.end : tile_build_sub(b, l.end, l.begin);
    return tile_build_ceildiv(b, tile_build_max(b, span, tile_build_int(b, 0)), l.step);
}

void specialize_distribute_tiles(warp_specialization *s, tile_value state[RING_STATES]) {
    tile_function *f = s->ring.f;
    tile_op tiles = s->outer_loops[0];
    tile_builder b = tile_builder_before(f, tiles), regions[2];
    b.loc = tile_op_loc(f, tiles);
    s->iterations = iterations(s, &b);
    /* 1. The second group starts after the stages of the first group's first tile. */
    specialize_skip_iterations(s, &b, state, tile_build_mul(&b, s->group, s->iterations));
    /* 2. Each group takes every second tile. The max operations preserve the lower bounds of the
     * tile index that earlier passes relied on. */
    loop_part own = loop_part_build(&b, &s->tiles, s->group, GROUPS);
    own.begin = tile_build_max(&b, own.begin, s->tiles.begin);
    own.step = tile_build_max(&b, own.step, s->tiles.step);
    tile_value *bounds = tile_op_at(f, tiles)->operands;
    bounds[0] = own.begin;
    bounds[1] = own.end;
    bounds[2] = own.step;
    /* 3. If there is a tile, the first turn belongs to the first group. */
    tile_value some = tile_build_lt(&b, s->tiles.begin, s->tiles.end);
    tile_value second = tile_build_ne(&b, s->group, tile_build_int(&b, 0));
    specialize_branch(&b, tile_build_and(&b, some, second), regions);
    tile_build_sync_arrive(&regions[0], tile_build_int(&b, FIRST_TURN_BARRIER),
                           tile_build_int(&b, GROUPS * WARPGROUP));
}

void specialize_ordered_wait(const warp_specialization *s, tile_builder *b) {
    build_turn_barrier(s, b, false);
}

void specialize_ordered_arrive(const warp_specialization *s, tile_builder *b) {
    tile_builder regions[2];
    tile_op tiles = s->outer_loops[0];
    tile_value tile = tile_region_arg(s->ring.f, tile_op_region(s->ring.f, tiles, 0), 0);
    tile_value next = tile_build_add(b, tile, s->tiles.step);
    specialize_branch(b, loop_ahead_exists(b, &s->tiles, next, 1), regions);
    build_turn_barrier(s, &regions[0], true);
}
