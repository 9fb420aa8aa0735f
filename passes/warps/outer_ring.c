/* Copies before a specialized loop, such as the query tile of attention. The producer issues them
 * as well. In a loop over tiles, the copies of the next tile then overlap the last dots of this
 * tile and the store of its results.
 *
 *     tile        0                    1                    2
 *     producer    Q K V K V ..      Q K V K V ..         Q ..
 *     consumers      Q [ K V K V .. ] store Q [ K V K V .. ] store
 *                                   ^ they release Q's stage after the loop
 *
 * These copies have a separate ring. It has two stages if shared memory is large enough
 * (decisions.h), otherwise one. In a kernel with one tile per block, the ring is filled once and
 * never released.
 *
 * The consumers wait before the first operation that reads such a buffer, and release it after the
 * last one. All of these operations are in the region of the loop or nested in it, so no warp waits
 * for another one at the start of a tile. If three groups share tiles, each has its rows in a
 * separate stage: three copies with one pair of barriers (cooperative_3.c). */
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/ir/remark.h"
#include "passes/warps/planner.h"

/* Conditions ----------------------------------------------------------------------------------- */

static bool is_after_loop(const tile_function *f, tile_op first, tile_op op) {
    while (first.id && first.id != op.id) first = tile_op_next(f, first);
    return first.id != 0;
}

/* A copy from a view to a shared buffer; the caller visits those before the loop. */
static bool is_candidate(const tile_function *f, tile_op op) {
    return tile_op_opcode(f, op) == TILE_OP_copy &&
           tile_value_type(f, tile_operand_src(f, op))->kind == TILE_TYPE_VIEW &&
           tile_value_type(f, tile_operand_dst(f, op))->kind == TILE_TYPE_SHARED;
}

static bool is_whole(const tile_function *f, tile_op copy) {
    const tile_values buffer = tile_operands_dst(f, copy);
    tile_op alloc = tile_value_def(f, buffer.at[0]);
    return buffer.count == 1 && alloc.id && tile_op_opcode(f, alloc) == TILE_OP_alloc_shared &&
           !tile_value_type(f, buffer.at[0])->stages;
}

typedef struct reader_span {
    tile_op first, last; /* at the top level of the loop's region */
} reader_span;

static void widen(const tile_function *f, reader_span *span, reader_span by) {
    if (!span->first.id || (by.first.id && is_after_loop(f, by.first, span->first)))
        span->first = by.first;
    if (!span->last.id || (by.last.id && is_after_loop(f, span->last, by.last)))
        span->last = by.last;
}

/* Returns NULL if the buffer is only read after the copy, or the reason why not. */
static const char *find_readers(const planner *p, tile_op copy, reader_span *span) {
    const tile_function *f = p->f;
    tile_region region = tile_op_at(f, copy)->parent;
    tile_value buffer = tile_operand_dst(f, copy);
    for (uint32_t id = 1; id < f->op_count; id++) {
        tile_op op = {id};
        tile_opcode opcode = (tile_opcode)f->ops[id].opcode;
        if (!opcode || op.id == copy.id || opcode == TILE_OP_free_shared ||
            !tile_op_uses(f, op, buffer))
            continue;
        tile_op holder = tile_ancestor_in(f, op, region);
        if (opcode != TILE_OP_dot && opcode != TILE_OP_load_shared)
            return "its buffer is used by more than products and `load_shared`";
        if (!holder.id || !is_after_loop(f, copy, holder))
            return "its buffer is read before it, or outside of its loop";
        widen(f, span, (reader_span){holder, holder});
    }
    return NULL;
}

/* If groups share tiles, the copied rows must be distributed like the rows of the dots. */
static bool has_products_rows(const planner *p, tile_op copy) {
    return p->s->distributed_along[tile_operand_dst(p->f, copy).id] == 1 + p->s->distributed_dim;
}

static void plan_copy(const planner *outer, tile_op copy) {
    planner p = *outer;
    reader_span span = {.first = TILE_NO_OP};
    outer_ring *own = &p.s->outer_loop_ring;
    p.missed = "no TMA";
    const char *why = is_whole(p.f, copy) ? find_readers(&p, copy, &span)
                                          : "it does not fill a whole buffer of `alloc_shared`";
    const char *remedy =
        "give it a buffer that no other operation fills, and load from it afterwards";
    if (!why && p.s->ping_pong) {
        why = "groups that alternate between tiles copy their own data";
        remedy = "write `consumers = cooperative`";
    }
    if (!why && p.s->readers > 1 && !has_products_rows(&p, copy)) {
        why = "the rows of its tile are not those of the products, which three groups share";
        remedy = "`load` the tile";
    }
    if (why) tile_missed_at(p.f, copy, p.missed, remedy, "%s", why);
    if (why || !span.first.id || !specialize_can_produce(&p, copy)) return;
    reader_span all = {own->first_use, own->last_use};
    widen(p.f, &all, span);
    own->first_use = all.first;
    own->last_use = all.last;
    own->ring.plan.copies[own->ring.plan.copy_count++] =
        (tile_staged_copy){copy, tile_operand_dst(p.f, copy)};
}

void specialize_plan_outer_ring(const planner *p) {
    warp_specialization *s = p->s;
    tile_region region = tile_op_at(p->f, p->loop)->parent;
    tile_pipeline_plan *plan = &s->outer_loop_ring.ring.plan;
    s->outer_loop_ring.ring = (ring){.pass = s->ring.pass, .f = p->f};
    plan->loop = s->outer_loop_count ? s->outer_loops[s->outer_loop_count - 1] : p->loop;
    plan->copies = TILE_NEW_ARRAY(s->ring.pass->scratch, tile_staged_copy, p->f->op_count);
    TILE_FOR_EACH_OP (p->f, op, region) {
        if (op.id == p->loop.id) break;
        if (is_candidate(p->f, op)) plan_copy(p, op);
    }
    s->outer_loop_ring.distributed = s->readers > 1 && plan->copy_count;
}

/* Buffers and barriers ------------------------------------------------------------------------- */

static unsigned choose_stages(const warp_specialization *s) {
    const tile_function *f = s->ring.f;
    int64_t released, others, stride;
    tile_outer_ring_facts copies = {
        .target = s->ring.pass->target,
        .warps = s->warps * s->consumer_groups,
        .alone = tile_op_has_attr(f, s->outer_loop_ring.ring.plan.loop, TILE_ATTR_independent)};
    if (!s->outer_loop_count) return 1;
    for (unsigned i = 0; i < s->outer_loop_ring.ring.plan.copy_count; i++)
        copies.stage +=
            tile_alloc_bytes(f, tile_value_def(f, s->outer_loop_ring.ring.buffers[i]), &stride);
    specialize_count_bytes(s, &released, &others);
    copies.bytes = released + others;
    return tile_choose_outer_ring_stages(&copies);
}

void specialize_make_outer_ring(warp_specialization *s, tile_op roles) {
    outer_ring *own = &s->outer_loop_ring;
    tile_pipeline_plan *plan = &own->ring.plan;
    tile_function *f = s->ring.f;
    if (!plan->copy_count) return;
    plan->stages = 1;
    ring_make_buffers(&own->ring);
    plan->stages = choose_stages(s);
    plan->distance = plan->stages - 1;
    ring_make_buffers(&own->ring);
    for (unsigned i = 0; i < plan->copy_count; i++) {
        tile_op alloc = tile_value_def(f, own->ring.buffers[i]);
        tile_move_op(f, alloc, f->body, roles);
        s->run_by_all[alloc.id] = true;
        if (own->distributed) specialize_distribute_buffer(s, own->ring.buffers[i], plan->stages);
    }
    tile_builder b = tile_builder_before(f, roles);
    b.loc = tile_op_loc(f, s->ring.plan.loop);
    int64_t warps = (int64_t)s->warps * s->readers;
    own->full = specialize_barriers(s, &b, "full", plan->stages, 1);
    if (s->outer_loop_count) own->empty = specialize_barriers(s, &b, "empty", plan->stages, warps);
}

/* Stages --------------------------------------------------------------------------------------- */

/* A tile counter needs one register; stage and parity need two. */
unsigned specialize_ring_state_count(const warp_specialization *s) {
    bool many = s->outer_loop_ring.ring.plan.copy_count && s->outer_loop_count;
    return many ? MAX_STATES : RING_STATES;
}

/* The number of stages is a power of two. The producer's counter is one round ahead, because every
 * stage is empty at first. */
void specialize_first_ring_state(const warp_specialization *s, tile_builder *b, bool filled,
                                 tile_value state[MAX_STATES]) {
    state[0] = tile_build_int(b, 0);
    state[1] = tile_build_int(b, filled);
    state[RING_STATES] = tile_build_int(b, filled ? s->outer_loop_ring.ring.plan.stages : 0);
}

void specialize_advance_outer_ring(const warp_specialization *s, tile_builder *b,
                                   const tile_value now[MAX_STATES], tile_value next[MAX_STATES]) {
    if (specialize_ring_state_count(s) == MAX_STATES)
        next[RING_STATES] = tile_build_add(b, now[RING_STATES], tile_build_int(b, 1));
}

unsigned specialize_outer_ring_stage(const warp_specialization *s, tile_builder *b,
                                     const tile_value now[MAX_STATES], tile_value *stage,
                                     tile_value *parity) {
    bool many = specialize_ring_state_count(s) == MAX_STATES;
    bool staged = many && s->outer_loop_ring.ring.plan.stages > 1;
    tile_value count = now[RING_STATES], one = tile_build_int(b, 1);
    *stage = *parity = tile_build_int(b, 0);
    if (staged) *stage = tile_build_and(b, count, one);
    if (many) *parity = tile_build_and(b, staged ? tile_build_shr(b, count, one) : count, one);
    return staged;
}

/* The loop is represented by the `if` that also completes its dots. */
static tile_op place_of(const warp_specialization *s, tile_op use) {
    return use.id == s->ring.plan.loop.id ? s->final_wait : use;
}

void specialize_read_outer_ring(warp_specialization *s, const tile_value now[MAX_STATES]) {
    outer_ring *own = &s->outer_loop_ring;
    tile_function *f = s->ring.f;
    tile_value stage, parity;
    if (!own->ring.plan.copy_count) return;
    tile_builder b = tile_builder_before(f, place_of(s, own->first_use));
    b.loc = tile_op_loc(f, s->ring.plan.loop);
    if (specialize_outer_ring_stage(s, &b, now, &stage, &parity)) own->ring.stage = stage;
    if (own->distributed) own->ring.stage = specialize_group_stage(&b, stage, s->group);
    tile_build_barrier_wait(&b, own->full, &stage, 1, parity);
    b.before = tile_op_next(f, place_of(s, own->last_use));
    if (own->empty.id) tile_build_barrier_arrive(&b, own->empty, &stage, 1);
    if (own->ring.stage.id) ring_read_stages_in(&own->ring, tile_op_at(f, s->final_wait)->parent);
    ring_remove_copies(&own->ring);
}
