/* pipeline-dots: overlaps the second dot of an iteration with the computation after the first dot
 * of the next one.
 *
 * In attention, the second dot of a loop takes an operand that is computed from the sums of the
 * first one. The tensor cores wait for that computation, and it waits for them. Measured on an
 * H200, attention with 128 x 128 tiles and 128 columns per head (4 x 16 x 4096): 972 us without
 * this pass, 952 us with it, 840 us with ordered issue as well, 875 us with cuDNN.
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
 * Two stages. The second stage consists of all operations that depend on the second dot, also
 * through carried values, with the waits for its inputs and the arrivals that release them. All
 * others are the first stage. An iteration of the new loop runs the first stage of one original
 * iteration and the second stage of the previous one:
 *
 *     before the loop    S0 = first(0); compute(0)
 *     iteration i        S = first(i); O = second(i - 1); wait for S; compute(i); wait for O
 *     after the loop     O = second(last)
 *
 * The loop carries the values that the second stage takes from the first one: the tile operand of
 * its dot, and the stage of its other operand in the ring. Broadcasts are recomputed. The tile
 * operand, and values that depend on it such as a sum of rounded elements, are computed after the
 * wait for the previous second dot. Until then, that dot reads the registers of its operand; if
 * they were overwritten, ptxas would finish each dot before the next one (C7513).
 *
 * Early rescaling. In attention, a carried sum is rescaled before the second dot adds to it. If
 * three or more warpgroups issue in order, the iteration that has the sum rescales it, and the loop
 * carries the result. Otherwise each warpgroup would rescale during its turn while the others wait.
 *
 * Correctness. Both stages run their iterations in order, and a first stage needs no result of a
 * second stage, so only reads are reordered. A ring stage is still waited for before it is read,
 * and released after the wait for the dot that reads it. But one more iteration begins before all
 * stages of the previous one are released. So the ring must have two stages, and its producer must
 * continue until then. Loops with `producer_fed` meet this condition. The first stage may only
 * read, compute, wait and arrive. Sums and values passed between the stages are live at the same
 * time; the loop does not change if registers do not suffice (pipeline_dots_plan.c).
 *
 * Ordered issue, if the loop has `ordered_issue`: a warpgroup issues its dots after those of the
 * previous warpgroup, so that each computes while the dots of another one run. An arrive before the
 * outermost loop gives the first turn, and a wait at the end takes it back. All warpgroups execute
 * the barriers equally often because the bounds of their loop are the same for the whole block. If
 * a group skips iterations (skip_masked.c), the second loop, which only waits and arrives, also
 * passes the turn on in each iteration.
 *
 * Values that no issued operation needs, for example masks, are computed after the wait for the
 * sums. Before it, they would be live together with the operands of the dots, for which there are
 * not enough registers. */
#include "passes/loops/pipeline_dots.h"

#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "lib/ir/remark.h"

/* The values of one iteration: maps values of the original loop to its own. */
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

/* Groups of operations of a stage, in the order in which they are built. */
typedef enum part {
    ISSUE,      /* up to the stage's last dot: its inputs, and operations that depend on no dot */
    AFTER_WAIT, /* the rest, for example masks: until the wait, dot operands occupy the registers */
    AFTER_SECOND_DOTS, /* operands of the second stage's dots, and operations that depend on them */
    ALL_PARTS,         /* all operations */
} part;

/* Positions ------------------------------------------------------------------------------------ */

static bool is_before(const dot_pipeline *s, tile_op op, tile_op last) {
    while (op.id && op.id != last.id) op = tile_op_next(s->f, op);
    return op.id != 0;
}

static part part_of(const dot_pipeline *s, tile_op op, unsigned stage) {
    bool product = tile_op_opcode(s->f, op) == TILE_OP_dot, depends = false;
    for (unsigned i = 0; i < tile_op_operand_count(s->f, op); i++)
        depends |= s->depth[tile_op_operand(s->f, op, i).id] > stage;
    if (!product && (depends || tile_op_opcode(s->f, op) == TILE_OP_barrier_arrive ||
                     !is_before(s, op, s->last[stage]) || !s->feeds_effect[op.id]))
        return stage == 0 && s->after_second_dots[op.id] ? AFTER_SECOND_DOTS : AFTER_WAIT;
    return ISSUE;
}

/* Building ------------------------------------------------------------------------------------- */

/* Recomputes a value in the second stage. */
static void rematerialize(iteration *it, tile_builder *b, tile_value value) {
    tile_op again = dot_stages_rematerialized(it->s, value);
    if (!again.id || it->map[value.id].id) return;
    for (unsigned i = 0; i < tile_op_operand_count(it->s->f, again); i++)
        rematerialize(it, b, tile_op_operand(it->s->f, again, i));
    tile_clone_op(b, again, it->map, it->count);
}

/* Builds the operations of one part of a stage. */
static void build(iteration *it, tile_builder *b, unsigned stage, part which) {
    const dot_pipeline *s = it->s;
    bool waits = s->first_order_barrier && stage == 0 && which == ISSUE;
    TILE_FOR_EACH_OP (s->f, op, s->body) {
        if (tile_op_opcode(s->f, op) == TILE_OP_yield || s->runs_in_second_stage[op.id] != stage)
            continue;
        if (s->is_early_rescale[op.id]) continue;
        if (which != ALL_PARTS && part_of(s, op, stage) != which) continue;
        for (unsigned i = 0; stage == 1 && i < tile_op_operand_count(s->f, op); i++)
            rematerialize(it, b, tile_op_operand(s->f, op, i));
        bool product = tile_op_opcode(s->f, op) == TILE_OP_dot;
        if (waits && product) tile_build_ordered_wait(b, tile_build_int(b, s->first_order_barrier));
        waits &= !product;
        tile_op built = tile_clone_op(b, op, it->map, it->count);
        if (which == ISSUE && product) tile_op_set_flag(s->f, built, TILE_ATTR_async);
    }
}

/* Waits for the stage's dots, except for the last `left` ones issued after them. */
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

/* Maps the inputs of an iteration's second stage, as seen at one branch point: carried values,
 * followed by the values passed from the first stage. */
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

/* The carried value that the second stage begins with: `sent`, rescaled early if the plan says
 * so. */
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

/* Collects the values that an iteration yields: after the first stage only, or after both. */
static void collect_yields(const iteration *first, const iteration *second, tile_builder *b,
                           tile_value *to) {
    const dot_pipeline *s = first->s;
    unsigned carried = tile_carried_count(s->f, s->loop);
    for (unsigned i = 0; i < carried; i++) {
        tile_value sent = tile_carried_sent(s->f, s->loop, 0, i);
        if (!is_from_second_stage(s, i))
            to[i] = mapped(first, sent);
        else
            to[i] = build_ahead(first, b, i,
                                second ? mapped(second, sent)
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

/* Ordered issue -------------------------------------------------------------------------------- */

/* The first of the named barriers for ordered issue; 0: not ordered. */
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
    tile_op last_wait = yield.id ? tile_op_at(f, yield)->prev : tile_region_at(f, all)->last;
    tile_op_set_flag(f, last_wait, TILE_ATTR_edge);
    return first;
}

/* In the loop of skipped iterations, which comes after this loop and has no dots. */
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

static void build_body(const dot_pipeline *s, tile_op loop, iteration first, iteration second,
                       tile_value *yields) {
    tile_builder b = tile_builder_at_end(s->f, tile_op_region(s->f, loop, 0));
    unsigned carried = tile_carried_count(s->f, s->loop);
    b.loc = tile_op_loc(s->f, s->loop);
    first.map[tile_region_arg(s->f, s->body, 0).id] = tile_region_arg(s->f, b.region, 0);
    for (unsigned i = 0; i < carried; i++)
        first.map[tile_carried_received(s->f, s->loop, 0, i).id] =
            tile_carried_received(s->f, loop, 0, i);
    map_second_stage(&second, loop, 0);
    build(&first, &b, 0, ISSUE);
    build(&second, &b, 1, ISSUE);
    if (s->first_order_barrier)
        tile_build_ordered_arrive(&b, tile_build_int(&b, s->first_order_barrier));
    wait_for_dots(&first, &b, 0, s->dots[1]);
    build(&first, &b, 0, AFTER_WAIT);
    wait_for_dots(&second, &b, 1, 0);
    build(&second, &b, 1, AFTER_WAIT);
    build(&first, &b, 0, AFTER_SECOND_DOTS);
    collect_yields(&first, &second, &b, yields);
    tile_build_yield(&b, yields, carried + s->passed_count);
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

/* Builds the begin of the second iteration, or the end if there is none: begin + step may exceed an
 * i32. */
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
    tile_value *yields = TILE_NEW_ARRAY(s->pass->scratch, tile_value, count + 1u);
    iteration first = new_iteration(s), second = new_iteration(s), last = new_iteration(s);
    iteration start = build_prologue(s, &b);
    collect_yields(&start, NULL, &b, yields);
    tile_op loop = tile_build_for_loop(&b, build_begin(s, &b), tile_operand_end(f, s->loop),
                                       tile_operand_step(f, s->loop), yields, count);
    name_carried(s, loop);
    tile_op_take_attr(f, loop, f, s->loop, TILE_ATTR_unroll);
    build_body(s, loop, first, second, yields);
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
