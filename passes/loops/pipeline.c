/* pipeline: turns `pipelined` loops into multi-buffered asynchronous copies.
 *
 * A load from global memory takes 500 to 1000 cycles. Copies issued several iterations ahead
 * (cp.async) hide this latency behind the mma of the iterations between, without occupying
 * registers.
 *
 * level: 2 to 2
 * requires: instantiated
 * keeps: instantiated
 * breaks: laid_out, allocated, synchronised
 *
 * pipeline: pipeline
 * before:
 *   kernel @sum(%k: i32, %p: ptr<f16>, %q: ptr<f16>, %c: ptr<f32>)
 *       grid [1]  warps 4
 *   {
 *     %a = view %p, [64, %k] : view<f16[64, ?]>
 *     %b = view %q, [%k, 64] : view<f16[?, 64]>
 *     %o = view %c, [64, 64] : view<f32[64, 64]>
 *     %zero = splat 0.0 : tile<f32[64, 64]>
 *     %acc = for %i = 0 to %k step 32 iter (%sum = %zero) pipelined (3) {
 *       %x = load %a[0, %i] : tile<f16[64, 32]>
 *       %y = load %b[%i, 0] : tile<f16[32, 64]>
 *       %new = dot %x, %y, %sum : tile<f32[64, 64]>
 *       yield %new
 *     }
 *     store %acc, %o[0, 0]
 *   }
 *
 * after:
 *   kernel @sum(%k: i32, %p: ptr<f16>, %q: ptr<f16>, %c: ptr<f32>)
 *       grid [1]  warps 4
 *   {
 *     %a = view %p, [64, %k] : view<f16[64, ?]>
 *     %b = view %q, [%k, 64] : view<f16[?, 64]>
 *     %o = view %c, [64, 64] : view<f32[64, 64]>
 *     %zero = splat 0.0 : tile<f32[64, 64]>
 *     %x = alloc_shared : shared<f16[3][64, 32]>
 *     %y = alloc_shared : shared<f16[3][32, 64]>
 *     for %0 = 0 to 2 step 1 {
 *       %1 = mul %0, 32 : i32
 *       %2 = lt %1, %k : i1
 *       if %2 {
 *         copy_async %a[0, %1], %x[%0]
 *         copy_async %b[%1, 0], %y[%0]
 *       }
 *       commit_group
 *     }
 *     %acc, %3 = for %i = 0 to %k step 32 iter (%sum = %zero, %stage = 0) {
 *       wait_group 1
 *       %4 = add %i, 64 : i32
 *       %5 = ult %4, %k : i1
 *       if %5 {
 *         %6 = add %stage, 2 : i32
 *         %7 = mod %6, 3 : i32
 *         copy_async %a[0, %4], %x[%7]
 *         copy_async %b[%4, 0], %y[%7]
 *       }
 *       commit_group
 *       %new = dot %x[%stage], %y[%stage], %sum : tile<f32[64, 64]>
 *       %8 = add %stage, 1 : i32
 *       %9 = mod %8, 3 : i32
 *       yield %new, %9
 *     }
 *     wait_group 0
 *     free_shared %x
 *     free_shared %y
 *     store %acc, %o[0, 0]
 *   }
 *
 * lib/analysis/pipeline_plan.h decides what runs ahead: loads that feed a dot, and copies from a
 * view to a buffer that only this loop uses. Everything else in the loop does not change, except
 * that copy_async becomes copy: only the pass commits groups in the loop.
 *
 * The ring. With s stages the copies run d = s - 1 iterations ahead. Iteration i computes on stage
 * i mod s and fills stage (i + d) mod s, which iteration i - 1 has read. The copies are issued
 * between the wait and the compute part, so that one barrier after the wait is sufficient. It
 * publishes the completed copies and orders the new copies after the reads of iteration i - 1. The
 * stage is one counter that the loop carries. (counter + d) mod s is built in a form that lets
 * insert-barriers see that the stages differ. Every iteration commits a group, even an empty one,
 * so that `wait_group d - 1` always waits for the right groups. When iteration i waits, d + i
 * groups are committed, and it needs all but the last d - 1. Copies for iterations that do not
 * exist are not issued, so any number of iterations works, including 0.
 *
 * Branches. A copy in a branch is issued under the condition of its own iteration (ring_issue.c).
 * If the branch was not taken, its stage is not read. Loads that an address or condition depends on
 * are issued one iteration before the copy, after the copies of that iteration. The loop carries
 * their results, so that no copy waits for its address.
 *
 * Warpgroup dots (`via = wgmma`) whose sums the loop only carries stay pending past their
 * iteration. The dots of the next iteration begin while they run, so the tensor cores have no gap
 * between two k-tiles. The stage of iteration i - 1 may then still be read, so copies run d = s - 2
 * iterations ahead. They fill the stage of iteration i - 2, whose dots each thread has waited for
 * before the barrier.
 *
 * Under `sync explicit` this pass inserts the barrier after the wait, because the user does not see
 * the wait. */
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "passes/common/loop_ahead.h"
#include "passes/loops/ring.h"

/* Phase 1: checks ------------------------------------------------------------------------------ */

typedef struct loop_list {
    tile_op *loops; /* pipelined loops, inner ones first */
    unsigned count;
} loop_list;

static void collect_loops(tile_function *f, tile_region region, loop_list *list) {
    TILE_FOR_EACH_OP (f, op, region) {
        for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++)
            collect_loops(f, tile_op_region(f, op, r), list);
        if (tile_op_has_attr(f, op, TILE_ATTR_pipelined)) list->loops[list->count++] = op;
    }
}

static bool check_loop(tile_function *f, tile_op loop) {
    tile_op group = TILE_NO_OP;
    if (tile_op_attr_int(f, loop, TILE_ATTR_pipelined, 0) < 1) {
        return tile_error_at(f, loop,
                             "pipelined: the number of stages must be a constant, at least 1");
    }
    TILE_FOR_EACH_NESTED_OP (f, op, loop)
        if (tile_op_opcode(f, op) == TILE_OP_commit_group ||
            tile_op_opcode(f, op) == TILE_OP_wait_group)
            group = op;
    if (!group.id) return true;
    tile_error_at(f, group,
                  "%s in a pipelined loop: the pipeline commits and waits for the loop's copies "
                  "itself; remove it",
                  tile_op_name(f, group));
    tile_note_at(f, loop, "this is the loop");
    return false;
}

/* Phase 2: copies that no wait covers ---------------------------------------------------------- */

/* The operands of copy are those of copy_async without the barrier, which this one does not
 * have. */
static void make_synchronous(tile_function *f, tile_op op) {
    enum { BARRIER = 2, PREDICATE = 3 };
    tile_op_data *data = tile_op_at(f, op);
    data->opcode = TILE_OP_copy;
    data->segment[BARRIER] = data->segment[PREDICATE];
    data->segment[PREDICATE] = 0;
}

/* A copy_async in a pipelined loop that does not run ahead becomes a copy. Must run before the pass
 * builds copies of its own. */
static void finish_copies(tile_function *f, const ring *rings, unsigned count) {
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body) {
        bool staged = false;
        if (tile_op_opcode(f, op) != TILE_OP_copy_async ||
            tile_op_mechanism(f, op) != TILE_MECHANISM_GROUP || !tile_is_pipelined(f, op))
            continue;
        for (unsigned i = 0; i < count; i++)
            staged |= rings[i].plan.distance && tile_is_staged(&rings[i].plan, op);
        if (!staged) make_synchronous(f, op);
    }
}

/* Phase 3: copies ------------------------------------------------------------------------------ */

static tile_value add_constant(tile_builder *b, tile_value value, int64_t number) {
    int64_t known;
    if (tile_value_is_int(b->function, value, &known))
        return tile_build_int(b, tile_wrap_int(TILE_i32, known + number));
    number = tile_wrap_int(TILE_i32, number);
    return number ? tile_build_add(b, value, tile_build_int(b, number)) : value;
}

/* value + count * step */
static tile_value advance(tile_builder *b, tile_value value, tile_value step, unsigned count) {
    int64_t known;
    if (tile_value_is_int(b->function, step, &known)) return add_constant(b, value, known * count);
    if (count == 0) return value;
    tile_value distance = count == 1 ? step : tile_build_mul(b, step, tile_build_int(b, count));
    return tile_build_add(b, value, distance);
}

/* if iteration iv exists { all its copies into stage }, commit. stage 0: the ring's stage, advanced
 * by the distance, which is then computed inside the branch. */
static void issue_copies(ring *r, tile_builder *b, tile_value exists, tile_value iv,
                         const tile_value *loaded, tile_value stage) {
    tile_function *f = r->f;
    tile_op branch = tile_build_if_else(b, exists, NULL, 0);
    tile_builder inner = tile_builder_at_end(f, tile_op_region(f, branch, 0));
    inner.loc = b->loc;
    if (!stage.id)
        stage = tile_build_mod(&inner, add_constant(&inner, r->stage, r->plan.distance),
                               tile_build_int(&inner, r->plan.stages));
    ring_build_copies(r, &inner, iv, loaded, stage);
    tile_build_yield(&inner, NULL, 0);
    tile_builder otherwise = tile_builder_at_end(f, tile_op_region(f, branch, 1));
    otherwise.loc = b->loc;
    tile_build_yield(&otherwise, NULL, 0);
    tile_build_commit_group(b);
}

static void wait_for_copies(ring *r, tile_builder *b, unsigned pending) {
    tile_build_wait_group(b, tile_build_int(b, pending));
    if (tile_sync_is_explicit_in(r->f, b->region))
        tile_build_sync_for(b, tile_executors_in(r->f, b->region));
}

/* Phase 4: the loop carries the stage and the values loaded for its next copies ---------------- */

/* loaded: values before the loop; receives the carried ones in it. */
static void carry_stage(ring *r, tile_value *loaded) {
    tile_function *f = r->f;
    tile_op loop = r->plan.loop;
    unsigned index = tile_carried_count(f, loop), count = 1 + r->plan.load_count;
    tile_value *map = TILE_NEW_ARRAY(r->pass->scratch, tile_value,
                                     f->value_count + 1 + tile_carry_limit(f, loop, count));
    tile_value *inits = TILE_NEW_ARRAY(r->pass->scratch, tile_value, count);
    tile_builder b = tile_builder_before(f, loop);
    inits[0] = tile_build_int(&b, 0);
    for (unsigned i = 1; i < count; i++) inits[i] = loaded[i - 1];
    tile_carry(f, loop, NULL, inits, count, map);
    /* Loads beyond the end of the loop may return any value. */
    if (count > 1) tile_op_remove_attr(f, loop, TILE_ATTR_finite);
    tile_replace_values(f, f->body, map);
    r->stage = tile_carried_received(f, loop, 0, index);
    tile_value_set_name(f, r->stage, "stage");
    for (unsigned i = 1; i < count; i++) {
        loaded[i - 1] = tile_carried_received(f, loop, 0, index + i);
        tile_value_set_name(f, loaded[i - 1], "loaded");
    }
    b = tile_builder_before(f, tile_region_yield(f, tile_op_region(f, loop, 0)));
    tile_value next =
        tile_build_mod(&b, add_constant(&b, r->stage, 1), tile_build_int(&b, r->plan.stages));
    tile_carried_send(f, loop, 0, index, next);
}

/* Order attribute ------------------------------------------------------------------------------ */

/* Moves op, preceded by the operations that it needs, to the end of the reordered part of the
 * body. */
static void place_in_order(ring *r, tile_op op, tile_op end, bool *placed) {
    tile_function *f = r->f;
    tile_region body = tile_op_region(f, r->plan.loop, 0);
    if (!op.id || placed[op.id]) return;
    placed[op.id] = true;
    for (uint32_t id = 1; id < f->op_count; id++) {
        tile_op user = {id};
        if (!f->ops[id].opcode || tile_ancestor_in(f, user, body).id != op.id) continue;
        for (unsigned i = 0; i < tile_op_operand_count(f, user); i++) {
            tile_op def = tile_value_def(f, tile_op_operand(f, user, i));
            if (def.id && tile_op_at(f, def)->parent.id == body.id)
                place_in_order(r, def, end, placed);
        }
    }
    tile_move_op(f, op, body, end);
}

static void reorder(ring *r) {
    tile_function *f = r->f;
    tile_region body = tile_op_region(f, r->plan.loop, 0);
    tile_op yield = tile_region_at(f, body)->last;
    bool *placed = TILE_NEW_ARRAY(r->pass->scratch, bool, f->op_count);
    TILE_FOR_EACH_OP (f, op, body) /* they stay before all statements */
        if (tile_op_opcode(f, op) == TILE_OP_alloc_shared) placed[op.id] = true;
    for (unsigned i = 0; i < r->plan.order_count; i++)
        place_in_order(r, r->plan.order[i], yield, placed);
    for (tile_op op = tile_region_at(f, body)->first, next; op.id != yield.id; op = next) {
        next = tile_op_at(f, op)->next;
        if (!placed[op.id]) tile_move_op(f, op, body, yield);
        placed[op.id] = true;
    }
}

/* The loop ------------------------------------------------------------------------------------- */

/* Issues the copies of the iterations before the first wait. They are issued in a loop: unrolled,
 * they would be most of the code, of the compile time, and of the instructions fetched before the
 * first mma. Returns the values loaded for the iteration after them. */
static tile_value *fill_stages(ring *r, tile_builder *b, const loop_ahead *ahead) {
    tile_function *f = r->f;
    tile_value begin = tile_operand_begin(f, r->plan.loop),
               step = tile_operand_step(f, r->plan.loop);
    unsigned count = r->plan.load_count, distance = r->plan.distance;
    int64_t known;
    tile_value zero = tile_build_int(b, 0), one = tile_build_int(b, 1);
    tile_value first = TILE_NO_VALUE, *loaded = ring_initial_loads(r, b);
    if (count || distance == 1) first = loop_ahead_starts(b, ahead, begin, zero, 0);
    loaded = ring_build_loads(r, b, first, begin, loaded);
    if (distance == 1) {
        issue_copies(r, b, first, begin, loaded, zero);
        if (!count) return loaded;
        tile_value next = advance(b, begin, step, 1);
        return ring_build_loads(r, b, loop_ahead_starts(b, ahead, next, one, 1), next, loaded);
    }
    tile_op fill = tile_build_for_loop(b, zero, tile_build_int(b, distance), one, loaded, count);
    tile_region body = tile_op_region(f, fill, 0);
    tile_value stage = tile_region_arg(f, body, 0);
    tile_builder inner = tile_builder_at_end(f, body);
    inner.loc = b->loc;
    for (unsigned i = 0; i < count; i++) loaded[i] = tile_carried_received(f, fill, 0, i);
    tile_value far = tile_build_mul(&inner, stage, step);
    tile_value iv = tile_value_is_int(f, begin, &known) ? add_constant(&inner, far, known)
                                                        : tile_build_add(&inner, begin, far);
    tile_value exists = loop_ahead_starts(&inner, ahead, iv, stage, distance - 1);
    issue_copies(r, &inner, exists, iv, loaded, stage);
    if (count) {
        tile_value next = advance(&inner, iv, step, 1), number = tile_build_add(&inner, stage, one);
        exists = loop_ahead_starts(&inner, ahead, next, number, distance);
        loaded = ring_build_loads(r, &inner, exists, next, loaded);
    }
    tile_build_yield(&inner, loaded, count);
    for (unsigned i = 0; i < count; i++) loaded[i] = tile_op_result(f, fill, i);
    return loaded;
}

static void build_ring(ring *r) {
    tile_function *f = r->f;
    tile_op loop = r->plan.loop;
    tile_region body = tile_op_region(f, loop, 0);
    tile_value step = tile_operand_step(f, loop);
    tile_builder b = tile_builder_before(f, loop);
    const loop_ahead ahead =
        loop_ahead_of(f, loop, tile_range_analyse(f, r->pass->scratch), f->value_count);
    tile_value *loaded = fill_stages(r, &b, &ahead);
    unsigned first = tile_carried_count(f, loop) + 1, distance = r->plan.distance;
    carry_stage(r, loaded);
    b = tile_builder_before(f, tile_region_at(f, body)->first);
    b.loc = tile_op_loc(f, loop);
    wait_for_copies(r, &b, distance - 1);
    if (r->plan.copies_last) b.before = tile_region_at(f, body)->last;
    tile_value iv = tile_region_arg(f, body, 0), far = advance(&b, iv, step, distance);
    tile_value exists = loop_ahead_exists(&b, &ahead, far, distance);
    issue_copies(r, &b, exists, far, loaded, TILE_NO_VALUE);
    if (!r->plan.load_count) return;
    far = advance(&b, iv, step, distance + 1);
    exists = loop_ahead_exists(&b, &ahead, far, (int64_t)distance + 1);
    loaded = ring_build_loads(r, &b, exists, far, loaded);
    for (unsigned i = 0; i < r->plan.load_count; i++)
        tile_carried_send(f, loop, 0, first + i, loaded[i]);
}

/* With one stage there is no ring: a load for a dot goes through a buffer where it is. */
static void build_plain_copies(ring *r) {
    for (unsigned i = 0; i < r->plan.copy_count; i++) {
        tile_op op = r->plan.copies[i].op;
        tile_builder b = tile_builder_before(r->f, op);
        const tile_values source = tile_operands_src(r->f, op);
        tile_build_copy(&b, source.at[0], source.at + 1, source.count - 1, r->buffers[i], NULL, 0,
                        ring_predicate(r, op));
        ring_copy_cache_attrs(r, &b, op);
    }
}

static void keep_loads_only(tile_pipeline_plan *plan) {
    unsigned kept = 0;
    for (unsigned i = 0; i < plan->copy_count; i++)
        if (!plan->copies[i].buffer.id) plan->copies[kept++] = plan->copies[i];
    plan->copy_count = kept;
}

static void rewrite_loop(ring *r) {
    tile_function *f = r->f;
    tile_op loop = r->plan.loop;
    if (r->plan.distance == 0) keep_loads_only(&r->plan);
    tile_op_remove_attr(f, loop, TILE_ATTR_pipelined);
    tile_op_remove_attr(f, loop, TILE_ATTR_order);
    tile_op_remove_attr(f, loop, TILE_ATTR_stage);
    tile_op_remove_attr(f, loop, TILE_ATTR_consumers);
    if (r->plan.copy_count == 0) return;
    unsigned pending = ring_count_pending(r);
    if (pending) r->plan.distance--;
    ring_make_buffers(r);
    if (r->plan.distance)
        build_ring(r);
    else
        build_plain_copies(r);
    ring_read_stages(r);
    ring_remove_copies(r);
    tile_builder after = tile_builder_before(f, loop);
    after.before = tile_op_at(f, loop)->next;
    if (pending) ring_make_pending(r, &after, pending);
    if (r->plan.distance) wait_for_copies(r, &after, 0);
    ring_free_buffers(r, &after);
}

tile_status tile_pass_pipeline(tile_pass *pass, tile_function *f) {
    loop_list list = {.loops = TILE_NEW_ARRAY(pass->scratch, tile_op, f->op_count)};
    collect_loops(f, f->body, &list);
    ring *rings = TILE_NEW_ARRAY(pass->scratch, ring, list.count + 1u);
    bool ok = true;
    for (unsigned i = 0; i < list.count; i++) {
        rings[i] = (ring){.pass = pass, .f = f};
        ok &= check_loop(f, list.loops[i]) &&
              tile_plan_pipeline(f, list.loops[i], pass->scratch, false, &rings[i].plan);
    }
    if (!ok) return TILE_INVALID;
    finish_copies(f, rings, list.count);
    long staged = 0;
    for (unsigned i = 0; i < list.count; i++)
        if (rings[i].plan.order) reorder(&rings[i]);
    for (unsigned i = 0; i < list.count; i++) {
        rewrite_loop(&rings[i]);
        staged += rings[i].plan.copy_count;
    }
    tile_pass_count(pass, "pipelined loops", list.count);
    tile_pass_count(pass, "copies ahead of the loop", staged);
    return TILE_OK;
}
