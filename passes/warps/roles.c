/* Builds the two roles of a specialized loop. */
#include <string.h>

#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "passes/warps/specialize.h"

/* Computes the stage and parity of the next iteration. */
static void advance(const warp_specialization *s, tile_builder *b,
                    const tile_value now[RING_STATES], tile_value next[RING_STATES]) {
    tile_value zero = tile_build_int(b, 0), one = tile_build_int(b, 1);
    tile_value stage = tile_build_add(b, now[0], one);
    tile_value round = tile_build_eq(b, stage, tile_build_int(b, s->ring.plan.stages));
    next[0] = tile_build_select(b, round, zero, stage);
    next[1] = tile_build_select(b, round, tile_build_xor(b, now[1], one), now[1]);
}

static void name_states(tile_function *f, const tile_value state[RING_STATES]) {
    tile_value_set_name(f, state[0], "stage");
    tile_value_set_name(f, state[1], "parity");
}

void specialize_branch(tile_builder *b, tile_value condition, tile_builder regions[2]) {
    tile_function *f = b->function;
    tile_op branch = tile_build_if_else(b, condition, NULL, 0);
    for (unsigned r = 0; r < 2; r++) {
        regions[r] = tile_builder_at_end(f, tile_op_region(f, branch, r));
        regions[r].loc = b->loc;
        tile_build_yield(&regions[r], NULL, 0);
        regions[r].before = tile_region_at(f, regions[r].region)->last;
    }
}

/* The producer --------------------------------------------------------------------------------- */

typedef struct producer {
    warp_specialization *s;
    tile_function *f;
    tile_value *map; /* value of the original loop -> the producer's value */
    size_t map_count;
} producer;

static tile_value mapped(const producer *p, tile_value value) {
    return value.id < p->map_count && p->map[value.id].id ? p->map[value.id] : value;
}

/* Returns the producer's copy of a value: operations that not all warps execute are cloned. */
static tile_value clone_value(producer *p, tile_builder *b, tile_value value) {
    tile_value own = mapped(p, value);
    tile_op def = tile_value_def(p->f, value);
    if (own.id != value.id || !def.id || specialize_is_shared_by_all(p->s, def)) return own;
    for (unsigned i = 0; i < tile_op_operand_count(p->f, def); i++)
        clone_value(p, b, tile_op_operand(p->f, def, i));
    tile_clone_op(b, def, p->map, p->map_count);
    return mapped(p, value);
}

/* Copies the map, so that later clones are visible to this producer only. */
static void own_map(producer *p) {
    tile_value *map = TILE_NEW_ARRAY(p->s->ring.pass->scratch, tile_value, p->map_count);
    memcpy(map, p->map, sizeof *map * p->map_count);
    p->map = map;
}

/* Marks the operation built last as multicast if blocks share copy i. */
static void share_copy(warp_specialization *s, const tile_builder *b, unsigned i) {
    tile_op copy = b->before.id ? tile_op_at(s->ring.f, b->before)->prev
                                : tile_region_at(s->ring.f, b->region)->last;
    if (s->shared_along[i])
        tile_op_set_int(s->ring.f, copy, TILE_ATTR_multicast, s->shared_along[i] - 1);
}

/* Issues copy i into its buffer, or into one group's share of it. */
static void fill_buffer(producer *p, tile_builder *b, unsigned i, const tile_value *from,
                        unsigned size, unsigned share, const tile_value state[RING_STATES],
                        tile_value full) {
    warp_specialization *s = p->s;
    const tile_type *type = tile_value_type(p->f, s->ring.buffers[i]);
    tile_value at[1 + TILE_MAX_RANK], stage = state[0];
    for (unsigned k = 0; k < size; k++) at[k] = from[k];
    if (s->distributed[i]) specialize_locate_share(s, b, type, share, at, size, &stage);
    tile_build_copy_async(b, at[0], at + 1, size - 1, s->ring.buffers[i], &stage, 1, full, state, 1,
                          TILE_NO_VALUE);
    ring_copy_cache_attrs(&s->ring, b, s->ring.plan.copies[i].op);
    share_copy(s, b, i);
}

/* Clones the branches around a copy with the producer's conditions. Clones inside are visible only
 * there, so on return *p is the producer's state inside the branch and *b the insertion point
 * there. */
static void enter_branches(producer *p, tile_builder *b, tile_region region) {
    tile_function *f = p->f;
    tile_op written = tile_region_at(f, region)->parent;
    if (written.id == p->s->ring.plan.loop.id) return;
    enter_branches(p, b, tile_op_at(f, written)->parent);
    tile_value condition = clone_value(p, b, tile_operand_condition(f, written));
    tile_op branch = tile_build_if_else(b, condition, NULL, 0);
    for (unsigned i = 0; i < 2; i++) {
        tile_builder inside = tile_builder_at_end(f, tile_op_region(f, branch, i));
        inside.loc = b->loc;
        tile_build_yield(&inside, NULL, 0);
        if (tile_op_region(f, written, i).id != region.id) continue;
        inside.before = tile_region_at(f, inside.region)->last;
        *b = inside;
    }
    own_map(p);
}

/* Issues copy i of stage group g. */
static void fill_from(producer *outer, const tile_builder *before, unsigned i, unsigned g,
                      const tile_value state[RING_STATES]) {
    producer p = *outer;
    warp_specialization *s = p.s;
    tile_builder b = *before;
    tile_op op = s->ring.plan.copies[i].op;
    const tile_values source = tile_operands_src(p.f, op);
    tile_value from[1 + TILE_MAX_RANK];
    for (unsigned k = 0; k < source.count; k++) from[k] = source.at[k];
    enter_branches(&p, &b, tile_op_at(p.f, op)->parent);
    const tile_part_view *part = &s->parts[i];
    if (part->whole.id) from[0] = part->whole;
    for (unsigned k = 0; k < source.count; k++) from[k] = clone_value(&p, &b, from[k]);
    b.loc = tile_op_loc(p.f, op);
    if (part->end.id) {
        const part_copy c = {
            i, from, source.count, clone_value(&p, &b, part->end), state[0], s->groups[g].full};
        specialize_copy_part(s, &b, &c);
        return;
    }
    for (unsigned share = 0; share < (s->distributed[i] ? s->consumer_groups : 1); share++)
        fill_buffer(&p, &b, i, from, source.count, share, state, s->groups[g].full);
}

/* Loads the values that the copies' coordinates depend on before the wait for the stage, to overlap
 * them. */
static void load_addresses(producer *p, tile_builder *b) {
    const tile_pipeline_plan *plan = &p->s->ring.plan;
    tile_region body = tile_op_region(p->f, plan->loop, 0);
    for (unsigned i = 0; i < plan->load_count; i++)
        if (tile_op_at(p->f, plan->loads[i])->parent.id == body.id)
            clone_value(p, b, tile_op_result(p->f, plan->loads[i], 0));
}

/* Issues the copies of stage group g, between the wait for the empty stage and the arrival at its
 * full barrier. */
static void fill_stage(producer *p, tile_builder *b, unsigned g,
                       const tile_value state[RING_STATES]) {
    warp_specialization *s = p->s;
    tile_builder place = *b;
    load_addresses(p, b);
    place.loc = tile_op_loc(p->f, s->ring.plan.loop);
    tile_build_barrier_wait(&place, s->groups[g].empty, state, 1, state[1]);
    for (unsigned i = 0; i < s->ring.plan.copy_count; i++)
        if (s->group_of[i] == g) fill_from(p, b, i, g, state);
    place.loc = tile_op_loc(p->f, s->ring.plan.loop);
    tile_build_barrier_arrive(&place, s->groups[g].full, state, 1);
}

/* Issues copy i of the outer ring from these elements. stage: the ring's stage, if it has
 * several. */
static void copy_to_outer_ring(producer *p, tile_builder *b, unsigned i, const tile_value *from,
                               unsigned size, tile_value stage, unsigned staged) {
    warp_specialization *s = p->s;
    outer_ring *own = &s->outer_loop_ring;
    const tile_type *type = tile_value_type(p->f, own->ring.buffers[i]);
    for (unsigned share = 0; share < (own->distributed ? s->consumer_groups : 1); share++) {
        tile_value at[1 + TILE_MAX_RANK], part = stage;
        for (unsigned k = 0; k < size; k++) at[k] = from[k];
        if (own->distributed) specialize_locate_share(s, b, type, share, at, size, &part);
        tile_build_copy_async(b, at[0], at + 1, size - 1, own->ring.buffers[i], &part,
                              own->distributed ? 1 : staged, own->full, &stage, 1, TILE_NO_VALUE);
        ring_copy_cache_attrs(&own->ring, b, own->ring.plan.copies[i].op);
    }
}

/* Issues the copies of the outer ring for this tile. */
static void fill_outer_ring(producer *p, tile_builder *b, const tile_value state[MAX_STATES]) {
    warp_specialization *s = p->s;
    outer_ring *own = &s->outer_loop_ring;
    tile_value stage, parity;
    unsigned staged = specialize_outer_ring_stage(s, b, state, &stage, &parity);
    tile_builder place = *b;
    for (unsigned i = 0; i < own->ring.plan.copy_count; i++) {
        tile_op op = own->ring.plan.copies[i].op;
        const tile_values source = tile_operands_src(p->f, op);
        tile_value from[1 + TILE_MAX_RANK];
        for (unsigned k = 0; k < source.count; k++) from[k] = source.at[k];
        for (unsigned k = 0; k < source.count; k++) from[k] = clone_value(p, b, from[k]);
        place.loc = tile_op_loc(p->f, op);
        if (i == 0 && own->empty.id) tile_build_barrier_wait(&place, own->empty, &stage, 1, parity);
        copy_to_outer_ring(p, &place, i, from, source.count, stage, staged);
    }
    tile_build_barrier_arrive(&place, own->full, &stage, 1);
}

/* Clones the loop with these carried values; the caller fills its region. */
static tile_op clone_loop(producer *p, tile_builder *b, tile_op op, const tile_value *state,
                          unsigned count, tile_builder *body) {
    tile_function *f = p->f;
    tile_value bounds[3];
    for (unsigned i = 0; i < 3; i++) bounds[i] = clone_value(p, b, tile_op_operand(f, op, i));
    b->loc = tile_op_loc(f, op);
    tile_op loop = tile_build_for_loop(b, bounds[0], bounds[1], bounds[2], state, count);
    tile_value old = tile_region_arg(f, tile_op_region(f, op, 0), 0);
    *body = tile_builder_at_end(f, tile_op_region(f, loop, 0));
    body->loc = b->loc;
    tile_value own = tile_region_arg(f, body->region, 0);
    tile_value_at(f, own)->name = tile_value_at(f, old)->name;
    p->map[old.id] = own;
    const tile_value carried[RING_STATES] = {tile_carried_received(f, loop, 0, 0),
                                             tile_carried_received(f, loop, 0, 1)};
    name_states(f, carried);
    return loop;
}

/* Clones the operations before op in the same iteration of the enclosing loop. */
static void clone_before(producer *p, tile_builder *b, tile_op op) {
    TILE_FOR_EACH_OP (p->f, before, tile_op_at(p->f, op)->parent) {
        if (before.id == op.id) break;
        if (before.id < p->s->old_ops && p->s->needed_by_producer[before.id])
            tile_clone_op(b, before, p->map, p->map_count);
    }
}

/* i1, in the loop: an iteration follows the one of iv. The sum iv + step may overflow i32. */
static tile_value has_next(producer *p, tile_builder *b, tile_value iv) {
    int64_t first;
    tile_op loop = p->s->ring.plan.loop;
    const tile_type *wide = tile_type_scalar(tile_function_context(p->f), TILE_i64);
    tile_value end = clone_value(p, b, tile_operand_end(p->f, loop));
    tile_value step = clone_value(p, b, tile_operand_step(p->f, loop));
    if (tile_value_is_int(p->f, tile_operand_begin(p->f, loop), &first) && first >= 0)
        return tile_build_lt(b, iv, tile_build_sub(b, end, step)); /* end > 0: no overflow */
    tile_value next =
        tile_build_add(b, tile_build_cast(b, iv, wide), tile_build_cast(b, step, wide));
    return tile_build_lt(b, next, tile_build_cast(b, end, wide));
}

/* if that iteration exists { fill its stages that are filled ahead } */
static void fill_ahead(const producer *outer, tile_builder *b, tile_value there, tile_value iv,
                       const tile_value state[RING_STATES]) {
    producer p = *outer;
    warp_specialization *s = p.s;
    tile_builder inside[2];
    specialize_branch(b, there, inside);
    own_map(&p);
    p.map[tile_region_arg(p.f, tile_op_region(p.f, s->ring.plan.loop, 0), 0).id] = iv;
    for (unsigned g = 0; g < s->group_count; g++)
        if (s->groups[g].ahead) fill_stage(&p, &inside[0], g, state);
}

static void fill_first(producer *p, tile_builder *b, const tile_value state[RING_STATES]) {
    tile_op loop = p->s->ring.plan.loop;
    tile_value begin = clone_value(p, b, tile_operand_begin(p->f, loop));
    tile_value end = clone_value(p, b, tile_operand_end(p->f, loop));
    b->loc = tile_op_loc(p->f, loop);
    fill_ahead(p, b, tile_build_lt(b, begin, end), begin, state);
}

static void fill_next(producer *p, tile_builder *b, const tile_value state[RING_STATES]) {
    tile_op loop = p->s->ring.plan.loop;
    tile_value iv = mapped(p, tile_region_arg(p->f, tile_op_region(p->f, loop, 0), 0));
    tile_value there = has_next(p, b, iv);
    fill_ahead(p, b, there, tile_build_add(b, iv, mapped(p, tile_operand_step(p->f, loop))), state);
}

/* With one stage, the outer ring is only free after the last dots have read it. Operands of the
 * next tile's first dots are therefore copied before it. */
static void clone_pipelined(producer *p, tile_builder *b, tile_value state[MAX_STATES]) {
    warp_specialization *s = p->s;
    const tile_pipeline_plan *outer_loop_ring = &s->outer_loop_ring.ring.plan;
    bool late = s->outer_loop_count && outer_loop_ring->stages == 1;
    tile_builder body;
    tile_value now[RING_STATES], next[RING_STATES];
    if (outer_loop_ring->copy_count && !late) fill_outer_ring(p, b, state);
    if (s->ahead) fill_first(p, b, state);
    if (outer_loop_ring->copy_count && late) fill_outer_ring(p, b, state);
    tile_op loop = clone_loop(p, b, s->ring.plan.loop, state, RING_STATES, &body);
    for (unsigned i = 0; i < RING_STATES; i++) now[i] = tile_carried_received(p->f, loop, 0, i);
    if (s->ahead) {
        advance(s, &body, now, next);
        fill_next(p, &body, next);
    }
    for (unsigned g = 0; g < s->group_count; g++)
        if (!s->groups[g].ahead) fill_stage(p, &body, g, now);
    if (!s->ahead) advance(s, &body, now, next);
    tile_build_yield(&body, next, RING_STATES);
    for (unsigned i = 0; i < RING_STATES; i++) state[i] = tile_op_result(p->f, loop, i);
    specialize_advance_outer_ring(s, b, state, state);
}

/* Clones enclosing loop `depth`, or the innermost loop, with its contents. */
static void clone_loops(producer *p, tile_builder *b, unsigned depth,
                        tile_value state[MAX_STATES]) {
    warp_specialization *s = p->s;
    tile_builder body;
    tile_value inner[MAX_STATES];
    unsigned count = specialize_ring_state_count(s);
    bool innermost = depth == s->outer_loop_count;
    tile_op written = innermost ? s->ring.plan.loop : s->outer_loops[depth];
    clone_before(p, b, written);
    if (innermost) {
        clone_pipelined(p, b, state);
        return;
    }
    tile_op loop = clone_loop(p, b, written, state, count, &body);
    for (unsigned i = 0; i < count; i++) inner[i] = tile_carried_received(p->f, loop, 0, i);
    clone_loops(p, &body, depth + 1, inner);
    tile_build_yield(&body, inner, count);
    for (unsigned i = 0; i < count; i++) state[i] = tile_op_result(p->f, loop, i);
}

/* for each stage { wait until all readers have released it }. Afterwards no other block arrives at
 * this block's barriers. */
static void await_last(const warp_specialization *s, tile_builder *b,
                       const tile_value state[RING_STATES]) {
    tile_function *f = s->ring.f;
    tile_value zero = tile_build_int(b, 0), one = tile_build_int(b, 1), next[RING_STATES];
    tile_op loop = tile_build_for_loop(b, zero, tile_build_int(b, s->ring.plan.stages), one, state,
                                       RING_STATES);
    tile_builder body = tile_builder_at_end(f, tile_op_region(f, loop, 0));
    body.loc = b->loc;
    for (unsigned i = 0; i < RING_STATES; i++) next[i] = tile_carried_received(f, loop, 0, i);
    name_states(f, next);
    for (unsigned g = 0; g < s->group_count; g++)
        if (s->groups[g].shared_dims)
            tile_build_barrier_wait(&body, s->groups[g].empty, next, 1, next[1]);
    advance(s, &body, next, next);
    tile_build_yield(&body, next, RING_STATES);
}

void specialize_producer(warp_specialization *s, tile_region region) {
    tile_function *f = s->ring.f;
    producer p = {.s = s, .f = f, .map_count = f->value_count};
    p.map = TILE_NEW_ARRAY(s->ring.pass->scratch, tile_value, p.map_count);
    tile_builder b = tile_builder_at_end(f, region);
    b.loc = tile_op_loc(f, specialize_outermost_op(s));
    /* Every stage is empty at first: the phase before the first one counts as complete. */
    tile_value state[MAX_STATES];
    specialize_first_ring_state(s, &b, true, state);
    clone_loops(&p, &b, 0, state);
    if (s->shares_copies) await_last(s, &b, state);
    tile_build_yield(&b, NULL, 0);
}

/* The consumers -------------------------------------------------------------------------------- */

/* Moves everything except the operations that all warps execute. roles: the parent of the
 * region. */
static void move_work(warp_specialization *s, tile_op roles, tile_region region) {
    tile_function *f = s->ring.f;
    for (tile_op op = tile_region_at(f, f->body)->first, next; op.id; op = next) {
        next = tile_op_at(f, op)->next;
        if (op.id != roles.id && !specialize_is_shared_by_all(s, op))
            tile_move_op(f, op, region, TILE_NO_OP);
    }
}

/* Adds carried values to the loop; *index: that of the first one. */
static void carry(warp_specialization *s, tile_op loop, const tile_value *inits, unsigned count,
                  unsigned *index) {
    tile_function *f = s->ring.f;
    *index = tile_carried_count(f, loop);
    tile_value *map = TILE_NEW_ARRAY(s->ring.pass->scratch, tile_value,
                                     f->value_count + 1 + tile_carry_limit(f, loop, count));
    tile_carry(f, loop, NULL, inits, count, map);
    tile_replace_values(f, f->body, map);
}

typedef struct consumers {
    warp_specialization *s;
    tile_function *f;
    tile_op loop;
    tile_value state[RING_STATES]; /* in the loop */
    tile_value tile[MAX_STATES];   /* in the enclosing loops */
    tile_value previous;           /* in the loop: the previous stage; any value in the first
                                      iteration */
    tile_value last;               /* after the loop: the last stage, if there was an iteration */
} consumers;

/* Yields the states of the next iteration at the end of each enclosing loop. */
static void send_states(consumers *c, const tile_op *loops, const unsigned *index) {
    warp_specialization *s = c->s;
    tile_function *f = c->f;
    tile_value next[MAX_STATES];
    unsigned depth = s->outer_loop_count, count = specialize_ring_state_count(s);
    for (unsigned d = depth; d-- > 0;) {
        tile_builder b =
            tile_builder_before(f, tile_region_yield(f, tile_op_region(f, loops[d], 0)));
        b.loc = tile_op_loc(f, loops[d]);
        for (unsigned i = 0; i < count; i++)
            next[i] = d + 1 == depth && i >= RING_STATES
                          ? c->tile[i]
                          : tile_op_result(f, loops[d + 1], index[d + 1] + i);
        if (s->ping_pong) specialize_skip_iterations(s, &b, next, s->iterations);
        if (d + 1 == depth) specialize_advance_outer_ring(s, &b, next, next);
        for (unsigned i = 0; i < count; i++)
            tile_carried_send(f, loops[d], 0, index[d] + i, next[i]);
    }
}

/* Carries stage and parity through the enclosing loops, and `previous` through the loop. */
static void carry_states(consumers *c, const tile_value first[MAX_STATES]) {
    warp_specialization *s = c->s;
    tile_function *f = c->f;
    tile_op loops[MAX_TILE_LOOPS + 1];
    unsigned index[MAX_TILE_LOOPS + 1], depth = s->outer_loop_count,
                                        count = specialize_ring_state_count(s);
    tile_builder b = tile_builder_before(f, specialize_outermost_op(s));
    tile_value none = tile_build_int(&b, 0), next[RING_STATES];
    for (unsigned i = 0; i < count; i++) c->tile[i] = first[i];
    for (unsigned d = 0; d < depth; d++) {
        loops[d] = s->outer_loops[d];
        carry(s, loops[d], c->tile, count, &index[d]);
        for (unsigned i = 0; i < count; i++)
            c->tile[i] = tile_carried_received(f, loops[d], 0, index[d] + i);
        name_states(f, c->tile);
    }
    const tile_value sent[RING_STATES + 1] = {c->tile[0], c->tile[1], none};
    loops[depth] = c->loop;
    carry(s, c->loop, sent, RING_STATES + 1, &index[depth]);
    for (unsigned i = 0; i < RING_STATES; i++)
        c->state[i] = tile_carried_received(f, c->loop, 0, index[depth] + i);
    name_states(f, c->state);
    c->previous = tile_carried_received(f, c->loop, 0, index[depth] + RING_STATES);
    c->last = tile_op_result(f, c->loop, index[depth] + RING_STATES);
    tile_value_set_name(f, c->previous, "previous");
    b = tile_builder_before(f, tile_region_yield(f, tile_op_region(f, c->loop, 0)));
    b.loc = tile_op_loc(f, c->loop);
    advance(s, &b, c->state, next);
    tile_carried_send(f, c->loop, 0, index[depth] + RING_STATES, c->state[0]);
    for (unsigned i = 0; i < RING_STATES; i++)
        tile_carried_send(f, c->loop, 0, index[depth] + i, next[i]);
    send_states(c, loops, index);
}

static void wait_for_stage(consumers *c, const barrier_group *g) {
    tile_builder b = tile_builder_before(c->f, g->first_use);
    tile_build_barrier_wait(&b, g->full, c->state, 1, c->state[1]);
}

/* if left `opcode` right { every warp releases the stage } */
static void release_if(consumers *c, tile_builder *b, tile_opcode opcode, tile_value left,
                       tile_value right, tile_value stage) {
    tile_function *f = c->f;
    tile_value some =
        opcode == TILE_OP_lt ? tile_build_lt(b, left, right) : tile_build_ne(b, left, right);
    tile_op branch = tile_build_if_else(b, some, NULL, 0);
    for (unsigned r = 0; r < 2; r++) {
        tile_builder inner = tile_builder_at_end(f, tile_op_region(f, branch, r));
        inner.loc = b->loc;
        for (unsigned g = 0; g < c->s->group_count && r == 0; g++)
            if (c->s->groups[g].by_dots)
                specialize_release_stage(c->s, &inner, &c->s->groups[g], stage);
        tile_build_yield(&inner, NULL, 0);
    }
}

/* Stages read by dots are released one iteration later, after the wait that completes these dots;
 * the next dots are pending meanwhile. All other stages are released immediately. */
static void release_stages(consumers *c) {
    warp_specialization *s = c->s;
    tile_function *f = c->f;
    bool late = false;
    tile_value begin = tile_operand_begin(f, c->loop), end = tile_operand_end(f, c->loop);
    tile_region body = tile_op_region(f, c->loop, 0);
    tile_op yield = tile_region_yield(f, body);
    for (unsigned g = 0; g < s->group_count; g++) {
        barrier_group *group = &s->groups[g];
        late |= group->by_dots;
        if (group->by_dots) continue;
        tile_builder b = tile_builder_before(f, yield);
        b.loc = tile_op_loc(f, group->last_use);
        if (group->last_use.id != yield.id) b.before = tile_op_at(f, group->last_use)->next;
        specialize_release_stage(s, &b, group, c->state[0]);
    }
    if (!late) return;
    tile_builder b = tile_builder_before(f, yield);
    b.loc = tile_op_loc(f, c->loop);
    release_if(c, &b, TILE_OP_ne, tile_region_arg(f, body, 0), begin, c->previous);
    if (!s->outer_loop_count && !s->shares_copies) return; /* no stage is filled again */
    b.region = tile_op_at(f, s->final_wait)->parent;
    b.before = tile_op_at(f, s->final_wait)->next;
    release_if(c, &b, TILE_OP_lt, begin, end, c->last);
}

/* Makes the dots asynchronous: the end of an iteration waits for the dots of earlier iterations. */
static void wait_for_dots(consumers *c) {
    warp_specialization *s = c->s;
    tile_function *f = c->f;
    tile_builder b = tile_builder_before(f, tile_region_yield(f, tile_op_region(f, c->loop, 0)));
    b.loc = tile_op_loc(f, c->loop);
    for (unsigned i = 0; i < s->dot_count; i++) tile_op_set_flag(f, s->dots[i], TILE_ATTR_async);
    for (unsigned i = 0; i < s->sum_count; i++) {
        tile_value sent = tile_carried_sent(f, c->loop, 0, s->sums[i]);
        tile_carried_send(f, c->loop, 0, s->sums[i],
                          tile_build_dot_wait(&b, sent, tile_build_int(&b, s->dot_count)));
    }
}

/* Replaces uses of the loop's results by the results of `to`. */
static void pass_results_to(consumers *c, tile_op to) {
    tile_function *f = c->f;
    tile_value *map = TILE_NEW_ARRAY(c->s->ring.pass->scratch, tile_value, f->value_count);
    for (unsigned i = 0; i < tile_carried_count(f, c->loop); i++) {
        tile_value from = tile_op_result(f, c->loop, i), result = tile_op_result(f, to, i);
        tile_value_at(f, result)->name = tile_value_at(f, from)->name;
        map[from.id] = result;
    }
    tile_replace_values(f, f->body, map);
    c->last = map[c->last.id];
}

/* if there is an iteration { the loop, and the wait for its dots } else { the initial values }. The
 * first dot of a loop that runs at least once overwrites the accumulator, so zeros need not be
 * written. */
static void complete_dots(consumers *c) {
    warp_specialization *s = c->s;
    tile_function *f = c->f;
    unsigned count = tile_carried_count(f, c->loop);
    tile_arena *scratch = s->ring.pass->scratch;
    tile_builder b = tile_builder_before(f, c->loop);
    b.loc = tile_op_loc(f, c->loop);
    if (s->ping_pong) specialize_ordered_wait(s, &b);
    tile_value begin = tile_operand_begin(f, c->loop), end = tile_operand_end(f, c->loop);
    const tile_type **types = TILE_NEW_ARRAY(scratch, const tile_type *, count + 1u);
    tile_value *results[2];
    for (unsigned r = 0; r < 2; r++) results[r] = TILE_NEW_ARRAY(scratch, tile_value, count + 1u);
    for (unsigned i = 0; i < count; i++)
        types[i] = tile_value_type(f, tile_op_result(f, c->loop, i));
    s->final_wait = tile_build_if_else(&b, tile_build_lt(&b, begin, end), types, count);
    pass_results_to(c, s->final_wait);
    tile_move_op(f, c->loop, tile_op_region(f, s->final_wait, 0), TILE_NO_OP);
    for (unsigned r = 0; r < 2; r++) {
        tile_builder inner = tile_builder_at_end(f, tile_op_region(f, s->final_wait, r));
        inner.loc = b.loc;
        if (s->ping_pong) specialize_ordered_arrive(s, &inner);
        for (unsigned i = 0; i < count; i++)
            results[r][i] = r ? tile_carried_sent(f, c->loop, TILE_PARENT_OP, i)
                              : tile_op_result(f, c->loop, i);
        for (unsigned i = 0; i < s->sum_count && r == 0; i++)
            results[r][s->sums[i]] =
                tile_build_dot_wait(&inner, results[r][s->sums[i]], tile_build_int(&inner, 0));
        tile_build_yield(&inner, results[r], count);
    }
}

/* After the last tile the ring's memory is free for the consumers. The producer has no copies in
 * flight, because the consumers have waited for all of them. */
static void free_ring(warp_specialization *s, const ring *r) {
    tile_function *f = s->ring.f;
    tile_op top = specialize_outermost_op(s);
    for (unsigned i = 0; i < r->plan.copy_count; i++)
        for (uint32_t id = 1; id < f->op_count; id++)
            if (f->ops[id].opcode == TILE_OP_free_shared &&
                tile_operand_buffer(f, (tile_op){id}).id == r->buffers[i].id)
                tile_erase_op(f, (tile_op){id});
    tile_builder b = {
        .function = f, .region = tile_op_at(f, top)->parent, .loc = tile_op_loc(f, top)};
    b.before = tile_op_at(f, top)->next;
    for (unsigned i = 0; i < r->plan.copy_count && s->consumer_groups == 1; i++)
        tile_build_free_shared(&b, r->buffers[i]);
}

void specialize_consumers(warp_specialization *s, tile_op roles, tile_region region) {
    tile_function *f = s->ring.f;
    consumers c = {.s = s, .f = f, .loop = s->ring.plan.loop};
    move_work(s, roles, region);
    tile_builder b = tile_builder_at_end(f, region);
    tile_build_yield(&b, NULL, 0);
    free_ring(s, &s->ring);
    if (s->outer_loop_count || s->outer_loop_ring.distributed) /* may be read after the loop */
        free_ring(s, &s->outer_loop_ring.ring);
    b = tile_builder_before(f, specialize_outermost_op(s));
    tile_value first[MAX_STATES];
    specialize_first_ring_state(s, &b, false, first);
    specialize_find_senders(s, &b);
    if (s->consumer_groups > 1) {
        s->group = tile_region_arg(f, region, 0);
        tile_value_set_name(f, s->group, "group");
    }
    if (s->ping_pong) specialize_distribute_tiles(s, first);
    carry_states(&c, first);
    for (unsigned g = 0; g < s->group_count; g++) wait_for_stage(&c, &s->groups[g]);
    wait_for_dots(&c);
    complete_dots(&c);
    release_stages(&c);
    specialize_read_outer_ring(s, c.tile);
    s->ring.stage = c.state[0];
    ring_read_stages(&s->ring);
    ring_remove_copies(&s->ring);
    if (s->readers == 1) return;
    specialize_read_group_stages(s);
    specialize_divide(s, region);
}
