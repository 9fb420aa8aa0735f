/* pipeline-dots: multiplies for one iteration while what the next one has multiplied is worked on.
 *
 * In a loop whose second product takes what is computed from the first one's sums, as in attention,
 * the tensor cores wait for that computation, and it for them. On an H200 attention of 128 x 128
 * and 128 columns a head (4 x 16 x 4096) took 972 us before, 952 with it, and 840 with it in turn;
 * cuDNN 875.
 *
 * level: 2 to 2
 * requires: instantiated
 * keeps: instantiated
 * breaks: laid_out, allocated, synchronised
 *
 * target: sm_90a
 * pipeline: pipeline-dots,canonicalize,dce
 * before:
 *   kernel @chain(%c: ptr<f32>)
 *       grid [1]  warps 4
 *   {
 *     %o = view %c, [64, 64] : view<f32[64, 64]>
 *     %x = alloc_shared : shared<f16[64, 64]>
 *     %y = alloc_shared : shared<f16[2][64, 64]>
 *     %z = alloc_shared : shared<f16[2][64, 64]>
 *     %full = alloc_barrier {count = 1} : shared<barrier[2]>
 *     %empty = alloc_barrier {count = 4} : shared<barrier[2]>
 *     %full_1 = alloc_barrier {count = 1} : shared<barrier[2]>
 *     %empty_1 = alloc_barrier {count = 4} : shared<barrier[2]>
 *     %zero = splat 0.0 : tile<f32[64, 64]>
 *     %acc, %1, %2 = for %i = 0 to 1024 step 64
 *         iter (%sum = %zero, %stage = 0, %parity = 0) producer_fed {
 *       barrier_wait %full[%stage], %parity
 *       %p = dot %x, %y[%stage], %zero {via = wgmma} : tile<f32[64, 64]>
 *       barrier_arrive %empty[%stage]
 *       %q = max %p, %zero : tile<f32[64, 64]>
 *       %r = cast %q : tile<f16[64, 64]>
 *       barrier_wait %full_1[%stage], %parity
 *       %new = dot %r, %z[%stage], %sum {via = wgmma} : tile<f32[64, 64]>
 *       barrier_arrive %empty_1[%stage]
 *       %3 = xor %parity, %stage : i32
 *       %4 = xor %stage, 1 : i32
 *       yield %new, %4, %3
 *     }
 *     store %acc, %o[0, 0]
 *   }
 *
 * after:
 *   kernel @chain(%c: ptr<f32>)
 *       grid [1]  warps 4
 *   {
 *     %o = view %c, [64, 64] : view<f32[64, 64]>
 *     %x = alloc_shared : shared<f16[64, 64]>
 *     %y = alloc_shared : shared<f16[2][64, 64]>
 *     %z = alloc_shared : shared<f16[2][64, 64]>
 *     %full = alloc_barrier {count = 1} : shared<barrier[2]>
 *     %empty = alloc_barrier {count = 4} : shared<barrier[2]>
 *     %full_1 = alloc_barrier {count = 1} : shared<barrier[2]>
 *     %empty_1 = alloc_barrier {count = 4} : shared<barrier[2]>
 *     %zero = splat 0.0 : tile<f32[64, 64]>
 *     barrier_wait %full[0], 0
 *     %p = dot %x, %y[0], %zero {via = wgmma} : tile<f32[64, 64]>
 *     barrier_arrive %empty[0]
 *     %q = max %p, %zero : tile<f32[64, 64]>
 *     %r = cast %q : tile<f16[64, 64]>
 *     %0, %1, %2, %3, %4, %5 = for %i = 64 to 1024 step 64
 *         iter (%sum = %zero, %stage = 1, %parity = 0, %stage_1 = 0, %parity_1 = 0, %r_1 = %r) {
 *       barrier_wait %full[%stage], %parity
 *       %p_1 = dot %x, %y[%stage], %zero {via = wgmma, async} : tile<f32[64, 64]>
 *       barrier_wait %full_1[%stage_1], %parity_1
 *       %new = dot %r_1, %z[%stage_1], %sum {via = wgmma, async} : tile<f32[64, 64]>
 *       %6 = dot_wait %p_1, 1 : tile<f32[64, 64]>
 *       barrier_arrive %empty[%stage]
 *       %q_1 = max %6, %zero : tile<f32[64, 64]>
 *       %7 = xor %parity, %stage : i32
 *       %8 = xor %stage, 1 : i32
 *       %9 = dot_wait %new, 0 : tile<f32[64, 64]>
 *       barrier_arrive %empty_1[%stage_1]
 *       %r_2 = cast %q_1 : tile<f16[64, 64]>
 *       yield %9, %8, %7, %stage, %parity, %r_2
 *     }
 *     barrier_wait %full_1[%3], %4
 *     %acc = dot %5, %z[%3], %0 {via = wgmma} : tile<f32[64, 64]>
 *     barrier_arrive %empty_1[%3]
 *     store %acc, %o[0, 0]
 *   }
 *
 * Two stages. All that depends on the second product, also through what the loop carries, is the
 * second stage, with the waits for what it reads and what gives that back; the rest is the first
 * one. An iteration of the new loop is the first stage of one that was written and the second stage
 * of the one before it:
 *
 *     before the loop    S0 = first(0); compute(0)
 *     iteration i        S = first(i); O = second(i - 1); wait for S; compute(i); wait for O
 *     behind the loop    O = second(last)
 *
 * What the second stage takes from the first one is carried: the tile that is multiplied, where in
 * its ring its other operand is. What is only spread out over a tile is spread out anew. The tile
 * that is multiplied comes behind the wait for the product before it, with what depends on it, as a
 * sum of what was rounded: till then the registers of that one's operand are read, and where they
 * are written ptxas ends each product before the next (C7513).
 *
 * Where three warpgroups or more take turns, what a carried sum is multiplied by before the second
 * product adds to it, as in attention, is done by the iteration that has the sum, and the result
 * carried: else each of them would do that in its turn, with the others waiting.
 *
 * Why that is as good. Iterations of both stages come in their order, and a first stage wants
 * nothing of a second one: only reads pass each other. A stage of a ring is waited for before it is
 * read and given back behind the wait for what reads it, as before; but one iteration more is
 * begun before all of the last one's stages are given back, so that its ring must have two, and
 * who fills it must go on till then: loops that are `producer_fed` are such. All the first stage
 * may do is to read, to compute, to wait and to arrive. Sums, and what one stage hands to the
 * other, are held at once: where registers are too few for that the loop stays as it is
 * (pipeline_dots_plan.c).
 *
 * Turns, where the loop asks for them: a warpgroup issues its products behind those of the one
 * before it, so that each computes while another one's products run, and not all at once. The
 * first turn is passed on before the outermost loop, and taken back at the end; all reach it
 * equally often, since they run one loop, also where several groups of a role do: their loop's
 * bounds are the block's. Where a group skips iterations (skip_masked.c) the loop behind, which
 * only waits and arrives, passes the turn on in each of them.
 *
 * What only masks want, and other values that nothing is issued for, is computed behind the wait
 * for the sums: before it ptxas would have it beside the products' operands, in registers that
 * there are not.
 */
#include "passes/loops/pipeline_dots.h"

#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "lib/ir/remark.h"

/* An iteration's values: those of the loop as written -> its own. */
typedef struct iteration {
    const dot_pipeline *s;
    tile_value *map;
    size_t count;
} iteration;

static iteration new_iteration(const dot_pipeline *s) {
    iteration it = {.s = s, .count = s->f->value_count};
    it.map = TILE_NEW_ARRAY(s->pass->scratch, tile_value, it.count);
    return it;
}

static tile_value mapped(const iteration *it, tile_value value) {
    return value.id < it->count && it->map[value.id].id ? it->map[value.id] : value;
}

/* Which operations of the body. */
typedef enum part {
    ISSUE,      /* up to the stage's last product, what it wants and what does not depend on one */
    AFTER_WAIT, /* the rest, as a mask, whose registers are the operands' till then; but for */
    AFTER_SECOND_DOTS, /* what the second stage multiplies, and what depends on that */
    ALL_PARTS,         /* all of it */
} part;

/* Positions ------------------------------------------------------------------------------------ */

static bool is_before(const dot_pipeline *s, tile_op op, tile_op last) {
    while (op.id && op.id != last.id) op = tile_op_next(s->f, op);
    return op.id != 0;
}

static part part_of(const dot_pipeline *s, tile_op op, unsigned stage) {
    bool product = tile_op_opcode(s->f, op) == TILE_OP_dot, hangs = false;
    for (unsigned i = 0; i < tile_op_operand_count(s->f, op); i++)
        hangs |= s->depth[tile_op_operand(s->f, op, i).id] > stage;
    if (!product && (hangs || tile_op_opcode(s->f, op) == TILE_OP_barrier_arrive ||
                     !is_before(s, op, s->last[stage]) || !s->feeds_effect[op.id]))
        return stage == 0 && s->after_second_dots[op.id] ? AFTER_SECOND_DOTS : AFTER_WAIT;
    return ISSUE;
}

/* Building ------------------------------------------------------------------------------------- */

/* What is computed anew in the stage that wants it. */
static void rematerialize(iteration *it, tile_builder *b, tile_value value) {
    tile_op again = dot_stages_rematerialized(it->s, value);
    if (!again.id || it->map[value.id].id) return;
    for (unsigned i = 0; i < tile_op_operand_count(it->s->f, again); i++)
        rematerialize(it, b, tile_op_operand(it->s->f, again, i));
    tile_clone_op(b, again, it->map, it->count);
}

/* The operations of a part of a stage. */
static void build(iteration *it, tile_builder *b, unsigned stage, part feeds_effect) {
    const dot_pipeline *s = it->s;
    bool waits = s->first_order_barrier && stage == 0 && feeds_effect == ISSUE;
    TILE_FOR_EACH_OP (s->f, op, s->body) {
        if (tile_op_opcode(s->f, op) == TILE_OP_yield || s->runs_in_second_stage[op.id] != stage)
            continue;
        if (s->is_early_rescale[op.id]) continue;
        if (feeds_effect != ALL_PARTS && part_of(s, op, stage) != feeds_effect) continue;
        for (unsigned i = 0; stage == 1 && i < tile_op_operand_count(s->f, op); i++)
            rematerialize(it, b, tile_op_operand(s->f, op, i));
        bool product = tile_op_opcode(s->f, op) == TILE_OP_dot;
        if (waits && product) tile_build_ordered_wait(b, tile_build_int(b, s->first_order_barrier));
        waits &= !product;
        tile_op built = tile_clone_op(b, op, it->map, it->count);
        if (feeds_effect == ISSUE && product) tile_op_set_flag(s->f, built, TILE_ATTR_async);
    }
}

/* The stage's products are finished; those of `left` later ones need not be. */
static void wait_for_dots(iteration *it, tile_builder *b, unsigned stage, unsigned left) {
    const dot_pipeline *s = it->s;
    TILE_FOR_EACH_OP (s->f, op, s->body) {
        if (tile_op_opcode(s->f, op) != TILE_OP_dot || s->runs_in_second_stage[op.id] != stage)
            continue;
        tile_value *sum = &it->map[tile_op_result(s->f, op, 0).id];
        *sum = tile_build_dot_wait(b, *sum, tile_build_int(b, left));
    }
}

static bool is_from_second_stage(const dot_pipeline *s, unsigned carried) {
    return s->in_second_stage[tile_carried_received(s->f, s->loop, 0, carried).id];
}

/* What an iteration's second stage gets from one place: what the loop carries, and what is kept for
 * it of the first stage, which comes after that. */
static void map_second_stage(iteration *it, tile_op loop, int place) {
    const dot_pipeline *s = it->s;
    unsigned carried = tile_carried_count(s->f, s->loop);
    for (unsigned i = 0; i < carried; i++) {
        tile_op is_early_rescale = dot_stages_early_rescale(s, i);
        tile_value own = is_early_rescale.id ? tile_op_result(s->f, is_early_rescale, 0)
                                             : tile_carried_received(s->f, s->loop, 0, i);
        if (is_from_second_stage(s, i))
            it->map[own.id] = place == TILE_PARENT_OP ? tile_op_result(s->f, loop, i)
                                                      : tile_carried_received(s->f, loop, place, i);
    }
    for (unsigned i = 0; i < s->passed_count; i++)
        it->map[s->passed_to_second[i].id] =
            place == TILE_PARENT_OP ? tile_op_result(s->f, loop, carried + i)
                                    : tile_carried_received(s->f, loop, place, carried + i);
}

static void name_carried(const dot_pipeline *s, tile_op loop) {
    unsigned carried = tile_carried_count(s->f, s->loop);
    for (unsigned i = 0; i < carried + s->passed_count; i++) {
        tile_value from = i < carried ? tile_carried_received(s->f, s->loop, 0, i)
                                      : s->passed_to_second[i - carried];
        tile_value to = tile_carried_received(s->f, loop, 0, i);
        tile_value_at(s->f, to)->name = tile_value_at(s->f, from)->name;
    }
    tile_value own = tile_region_arg(s->f, tile_op_region(s->f, loop, 0), 0);
    tile_value_at(s->f, own)->name = tile_value_at(s->f, tile_region_arg(s->f, s->body, 0))->name;
}

/* What the second stage begins with, of what is carried and of the first one. */
static tile_value build_ahead(const iteration *first, tile_builder *b, unsigned carried,
                              tile_value sent) {
    const dot_pipeline *s = first->s;
    tile_op op = dot_stages_early_rescale(s, carried);
    if (!op.id) return sent;
    iteration it = new_iteration(s);
    memcpy(it.map, first->map, first->count * sizeof *it.map);
    it.map[tile_carried_received(s->f, s->loop, 0, carried).id] = sent;
    for (unsigned i = 0; i < tile_op_operand_count(s->f, op); i++)
        rematerialize(&it, b, tile_op_operand(s->f, op, i));
    return tile_op_result(s->f, tile_clone_op(b, op, it.map, it.count), 0);
}

/* What the iteration hands on: of the first stage, or of both. */
static void collect_yields(const iteration *first, const iteration *runs_in_second_stage,
                           tile_builder *b, tile_value *to) {
    const dot_pipeline *s = first->s;
    unsigned carried = tile_carried_count(s->f, s->loop);
    for (unsigned i = 0; i < carried; i++) {
        tile_value sent = tile_carried_sent(s->f, s->loop, 0, i);
        if (!is_from_second_stage(s, i))
            to[i] = mapped(first, sent);
        else
            to[i] = build_ahead(first, b, i,
                                runs_in_second_stage
                                    ? mapped(runs_in_second_stage, sent)
                                    : tile_carried_sent(s->f, s->loop, TILE_PARENT_OP, i));
    }
    for (unsigned i = 0; i < s->passed_count; i++)
        to[carried + i] = mapped(first, s->passed_to_second[i]);
}

/* The first stage of the first iteration. */
static iteration build_prologue(const dot_pipeline *s, tile_builder *b) {
    iteration it = new_iteration(s);
    it.map[tile_region_arg(s->f, s->body, 0).id] = tile_operand_begin(s->f, s->loop);
    for (unsigned i = 0; i < tile_carried_count(s->f, s->loop); i++)
        it.map[tile_carried_received(s->f, s->loop, 0, i).id] =
            tile_carried_sent(s->f, s->loop, TILE_PARENT_OP, i);
    build(&it, b, 0, ALL_PARTS);
    return it;
}

/* Turns ---------------------------------------------------------------------------------------- */

/* The barriers that warpgroups wait at for their turn; 0: they take none. */
static unsigned begin_ordered_issue(const dot_pipeline *s) {
    tile_function *f = s->f;
    tile_executors executors = tile_executors_of(f, s->loop);
    if (!tile_op_has_attr(f, s->loop, TILE_ATTR_ordered_issue)) return 0;
    unsigned first = tile_find_barriers(f, 0, tile_ordered_warpgroups(executors));
    if (!first) {
        tile_missed_at(f, s->loop, "no ordered issue", NULL,
                       "the block has no named barriers left for them");
        return 0;
    }
    tile_region all = executors.role.id ? executors.role : f->body;
    tile_builder b = tile_builder_before(f, tile_ancestor_in(f, s->loop, all));
    b.loc = tile_op_loc(f, s->loop);
    tile_build_ordered_arrive(&b, tile_build_int(&b, first));
    tile_op_set_flag(f, tile_op_at(f, b.before)->prev, TILE_ATTR_edge);
    tile_op yield = tile_region_yield(f, all);
    b = yield.id ? tile_builder_before(f, yield) : tile_builder_at_end(f, all);
    b.loc = tile_op_loc(f, s->loop);
    tile_build_ordered_wait(&b, tile_build_int(&b, first));
    tile_op wait_for_dots = yield.id ? tile_op_at(f, yield)->prev : tile_region_at(f, all)->last;
    tile_op_set_flag(f, wait_for_dots, TILE_ATTR_edge);
    return first;
}

/* In the loop of the iterations that a group skips: it comes after the loop, and has no products.
 */
static void signal_skipped_iterations(const dot_pipeline *s) {
    tile_function *f = s->f;
    tile_op skipped = tile_op_at(f, s->loop)->next;
    while (skipped.id && !tile_op_has_attr(f, skipped, TILE_ATTR_ordered_issue))
        skipped = tile_op_at(f, skipped)->next;
    if (!skipped.id) return;
    tile_builder b = tile_builder_before(f, tile_region_yield(f, tile_op_region(f, skipped, 0)));
    b.loc = tile_op_loc(f, s->loop);
    tile_build_ordered_wait(&b, tile_build_int(&b, s->first_order_barrier));
    tile_build_ordered_arrive(&b, tile_build_int(&b, s->first_order_barrier));
}

static void build_body(const dot_pipeline *s, tile_op loop, iteration first,
                       iteration runs_in_second_stage, tile_value *after_second_dots) {
    tile_builder b = tile_builder_at_end(s->f, tile_op_region(s->f, loop, 0));
    unsigned carried = tile_carried_count(s->f, s->loop);
    b.loc = tile_op_loc(s->f, s->loop);
    first.map[tile_region_arg(s->f, s->body, 0).id] = tile_region_arg(s->f, b.region, 0);
    for (unsigned i = 0; i < carried; i++)
        first.map[tile_carried_received(s->f, s->loop, 0, i).id] =
            tile_carried_received(s->f, loop, 0, i);
    map_second_stage(&runs_in_second_stage, loop, 0);
    build(&first, &b, 0, ISSUE);
    build(&runs_in_second_stage, &b, 1, ISSUE);
    if (s->first_order_barrier)
        tile_build_ordered_arrive(&b, tile_build_int(&b, s->first_order_barrier));
    wait_for_dots(&first, &b, 0, s->dots[1]);
    build(&first, &b, 0, AFTER_WAIT);
    wait_for_dots(&runs_in_second_stage, &b, 1, 0);
    build(&runs_in_second_stage, &b, 1, AFTER_WAIT);
    build(&first, &b, 0, AFTER_SECOND_DOTS);
    collect_yields(&first, &runs_in_second_stage, &b, after_second_dots);
    tile_build_yield(&b, after_second_dots, carried + s->passed_count);
}

static void replace_loop(const dot_pipeline *s, tile_op loop, const iteration *last) {
    size_t values = s->f->value_count;
    tile_value *map = TILE_NEW_ARRAY(s->pass->scratch, tile_value, values);
    for (unsigned i = 0; i < tile_carried_count(s->f, s->loop); i++) {
        tile_value result = tile_op_result(s->f, loop, i), old = tile_op_result(s->f, s->loop, i);
        map[old.id] = is_from_second_stage(s, i)
                          ? mapped(last, tile_carried_sent(s->f, s->loop, 0, i))
                          : result;
        tile_value_at(s->f, map[old.id])->name = tile_value_at(s->f, old)->name;
    }
    tile_replace_values(s->f, s->f->body, map);
    tile_erase_op(s->f, s->loop);
}

/* Where the second iteration begins, or at the end if there is none: begin + step may be more than
 * an i32 holds. */
static tile_value build_begin(const dot_pipeline *s, tile_builder *b) {
    int64_t first, by;
    const tile_function *f = s->f;
    tile_context *context = tile_function_context(f);
    const tile_type *wide = tile_type_scalar(context, TILE_i64);
    tile_value begin = tile_operand_begin(f, s->loop), end = tile_operand_end(f, s->loop);
    tile_value step = tile_operand_step(f, s->loop);
    if (tile_value_is_int(f, begin, &first) && tile_value_is_int(f, step, &by) &&
        first + by <= INT32_MAX)
        return tile_build_int(b, first + by);
    tile_value more = tile_build_cast(b, step, wide);
    tile_value next = tile_build_add(b, tile_build_cast(b, begin, wide), more);
    next = tile_build_min(b, next, tile_build_cast(b, end, wide));
    return tile_build_cast(b, next, tile_type_scalar(context, TILE_i32));
}

static void overlap(const dot_pipeline *s) {
    tile_function *f = s->f;
    tile_builder b = tile_builder_before(f, s->loop);
    b.loc = tile_op_loc(f, s->loop);
    unsigned count = tile_carried_count(f, s->loop) + s->passed_count;
    tile_value *after_second_dots = TILE_NEW_ARRAY(s->pass->scratch, tile_value, count + 1u);
    iteration first = new_iteration(s), runs_in_second_stage = new_iteration(s),
              last = new_iteration(s);
    iteration start = build_prologue(s, &b);
    collect_yields(&start, NULL, &b, after_second_dots);
    tile_op loop = tile_build_for_loop(&b, build_begin(s, &b), tile_operand_end(f, s->loop),
                                       tile_operand_step(f, s->loop), after_second_dots, count);
    name_carried(s, loop);
    tile_op_take_attr(f, loop, f, s->loop, TILE_ATTR_unroll);
    build_body(s, loop, first, runs_in_second_stage, after_second_dots);
    map_second_stage(&last, loop, TILE_PARENT_OP);
    build(&last, &b, 1, ALL_PARTS);
    replace_loop(s, loop, &last);
}

tile_status tile_pass_pipeline_dots(tile_pass *pass, tile_function *f) {
    unsigned count;
    long done = 0;
    const tile_op *loops = tile_find_ops(f, TILE_OP_for, pass->scratch, &count);
    for (unsigned i = 0; i < count; i++) {
        dot_pipeline s = {.pass = pass};
        if (!tile_op_has_attr(f, loops[i], TILE_ATTR_producer_fed)) continue;
        tile_op_remove_attr(f, loops[i], TILE_ATTR_producer_fed);
        bool plan = dot_stages_plan(&s, f, loops[i]);
        s.first_order_barrier = plan ? begin_ordered_issue(&s) : 0;
        tile_op_remove_attr(f, loops[i], TILE_ATTR_ordered_issue);
        if (s.first_order_barrier) signal_skipped_iterations(&s);
        if (plan) overlap(&s);
        done += plan;
    }
    tile_pass_count(pass, "overlapped", done);
    return TILE_OK;
}
