/* prefetch: loads the fragments of a loop's dots one step of k ahead, across iterations.
 *
 * ldmatrix takes about 30 cycles, and a barrier with the wait before it takes longer. A warp that
 * already has its next fragments in registers issues mma meanwhile. On an H200, a 128x256x64 loop
 * takes 18 % less time, a 128x128x64 loop 9 % less.
 *
 * level: 2 to 2
 * requires: instantiated, laid_out
 * keeps: instantiated, laid_out
 * breaks: allocated, synchronised
 *
 * pipeline: prefetch
 * before:
 *   #sum = layout {reg = [[0, 1], [8, 0], [0, 8]],
 *     lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []}
 *   #sx = layout {offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16],
 *     [1, 0], [2, 8], [4, 16], [8, 0]]}
 *   #sy = layout {offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8],
 *     [8, 0], [16, 0]]}
 *
 *   kernel @sum(%p: ptr<f16>, %n: i32)
 *       grid [1]
 *       warps 1
 *   {
 *     %z = splat 0.0 : tile<f32[16, 16], #sum>
 *     %x = alloc_shared : shared<f16[2][16, 32], #sx>
 *     %y = alloc_shared : shared<f16[2][32, 16], #sy>
 *     %s, %c = for %i = 0 to %n step 1 iter (%sum = %z, %stage = 0) {
 *       wait_group 0
 *       %new = dot %x[%stage], %y[%stage], %sum : tile<f32[16, 16], #sum>
 *       %next = sub 1, %stage : i32
 *       yield %new, %next
 *     }
 *   }
 *
 * after:
 *   #sum = layout {reg = [[0, 1], [8, 0], [0, 8]],
 *     lane = [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp = []}
 *   #sx = layout {offset = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16],
 *     [1, 0], [2, 8], [4, 16], [8, 0]]}
 *   #sy = layout {offset = [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8],
 *     [8, 0], [16, 0]]}
 *   #rhs = layout {reg = [[1, 0], [8, 0], [0, 8]],
 *     lane = [[2, 0], [4, 0], [0, 1], [0, 2], [0, 4]], warp = []}
 *
 *   kernel @sum(%p: ptr<f16>, %n: i32)
 *       grid [1]
 *       warps 1
 *   {
 *     %z = splat 0.0 : tile<f32[16, 16], #sum>
 *     %x = alloc_shared : shared<f16[2][16, 32], #sx>
 *     %y = alloc_shared : shared<f16[2][32, 16], #sy>
 *     wait_group 0
 *     %0 = load_shared %x[0, 0, 0] {speculative} : tile<f16[16, 16], #sum>
 *     %1 = load_shared %y[0, 0, 0] {speculative} : tile<f16[16, 16], #rhs>
 *     %s, %c, %2, %3 = for %i = 0 to %n step 1 iter (%sum = %z, %stage = 0, %4 = %0, %5 = %1) {
 *       %6 = load_shared %x[%stage, 0, 16] : tile<f16[16, 16], #sum>
 *       %7 = load_shared %y[%stage, 16, 0] : tile<f16[16, 16], #rhs>
 *       %8 = dot %4, %5, %sum : tile<f32[16, 16], #sum>
 *       %next = sub 1, %stage : i32
 *       wait_group 0
 *       %9 = load_shared %x[%next, 0, 0] {speculative} : tile<f16[16, 16], #sum>
 *       %10 = load_shared %y[%next, 0, 0] {speculative} : tile<f16[16, 16], #rhs>
 *       %11 = dot %6, %7, %8 : tile<f32[16, 16], #sum>
 *       yield %11, %next, %9, %10
 *     }
 *   }
 *
 * This follows Triton's prefetch pass and CUTLASS. With n steps of the instruction's depth in a
 * k-tile,
 *
 *     for {  wait  copies, commit  dot %x[%stage], %y[%stage]  yield, next stage  }
 *
 * becomes
 *
 *     wait  load step 0 of %x[first stage], %y[first stage]  copies, commit
 *     for iter (those) {
 *       load step 1   dot step 0   load step 2   dot step 1   ..   dot step n - 2
 *       wait  load step 0 of the next stage  copies, commit  dot step n - 1
 *       yield .., those
 *     }
 *
 * so that the mma of the last step overlap with the wait, the barrier that insert-barriers adds
 * after it, the first loads of the next tile, and the copies. One barrier per k-tile is still
 * sufficient. The copies run a whole iteration ahead for each stage but one, and come before the
 * mma (measured: 320 us with the copies at the head of a 128x128x32 loop, 293 us like this). With
 * large accumulators, and thus many mma, the loads come before the copies: otherwise they would
 * wait for the copies in the memory queue (311 us). With small accumulators the loop is limited by
 * memory, so the copies come first (2 to 3 % of a 128x64x32 loop). The pass could also be part of
 * lowering. Here, each step is a separate dot with tiles as operands, so that insert-barriers sees
 * every access at its position, and the CPU device can check the result at both levels.
 *
 * With large accumulators and at least three steps, the mma of one step do not hide all copies and
 * their address computation. In this case only the waits and barriers move, and the copies after
 * them are distributed over all steps but the last:
 *
 *     for iter (those) {
 *       load step 1   copy a   dot step 0   load step 2   copy b, commit   dot step 1   ..
 *       wait  load step 0 of the next stage  dot step n - 1
 *       yield .., those
 *     }
 *
 * Groups are committed and waited for in the order of the text.
 *
 * Legality. The operations at the head of the body move to its end and are cloned before the loop,
 * in the same order, so they run once more. These are waits, barriers under `sync explicit`,
 * commits, and copies in a branch whose condition is false beyond the loop's end. If the condition
 * may be true there because the variable of a nonexistent iteration wraps around, the branch also
 * tests whether the iteration exists. The first loads move along, before such copies. Between the
 * head and the dot, there may therefore be no operation that orders memory or writes shared memory
 * immediately. Allowed are asynchronous copies (their results cannot be read before another wait),
 * loads, other dots and pure operations. The stage must be a value carried by the loop or
 * loop-invariant.
 *
 * The last iteration loads fragments that no dot uses. They may come from uninitialized memory
 * (`speculative`), but the stage must exist (range of the counter). Under `sync explicit`, the user
 * must have a barrier after the loop, so that later writes do not race with these loads.
 *
 * Registers. The fragments of two steps are live at once, and those of one step across iterations.
 * A dot does not change if there are too few registers for them next to its accumulator. A dot with
 * a single step does not change either, because all its fragments would be live twice. */
#include "passes/loops/prefetch.h"

#include "lib/ir/regions.h"
#include "lib/layout/mma.h"
#include "passes/common/loop_ahead.h"

/* Loads of steps ------------------------------------------------------------------------------- */

static tile_value load_step(const prefetch *p, tile_builder *b, const dot_plan *product, unsigned i,
                            tile_value stage, int64_t step) {
    const dot_operand *operand = &product->operands[i];
    tile_value index[3];
    unsigned count = 0;
    if (stage.id) index[count++] = stage;
    tile_value at = tile_build_int(b, step * product->depth), zero = tile_build_int(b, 0);
    index[count++] = i == TILE_MMA_LHS ? zero : at;
    index[count++] = i == TILE_MMA_LHS ? at : zero;
    b->loc = tile_op_loc(p->f, operand->load.id ? operand->load : product->dot);
    return tile_build_load_shared(b, operand->buffer, index, count, operand->part);
}

/* Loads step 0 of the next iteration; with from TILE_PARENT_OP, of the first one. */
static tile_value load_ahead(const prefetch *p, tile_builder *b, const dot_plan *product,
                             unsigned i, int from) {
    tile_value stage = prefetch_stage(p, product, i);
    int index = stage.id ? prefetch_carried(p, stage) : -1;
    if (index >= 0) stage = tile_carried_sent(p->f, p->loop, from, (unsigned)index);
    tile_value tile = load_step(p, b, product, i, stage, 0);
    tile_op_set_flag(p->f, tile_value_def(p->f, tile), TILE_ATTR_speculative);
    return tile;
}

/* The head of the body ------------------------------------------------------------------------ */

/* Clones the pure operations that compute a value of the body, for the iteration that the map
 * describes. */
static void map_value(const prefetch *p, tile_builder *b, tile_value value, tile_value *map,
                      size_t map_count) {
    tile_op def = tile_value_def(p->f, value);
    if (value.id >= map_count || map[value.id].id || !def.id ||
        tile_op_at(p->f, def)->parent.id != p->body.id)
        return;
    for (unsigned i = 0; i < tile_op_operand_count(p->f, def); i++)
        map_value(p, b, tile_op_operand(p->f, def, i), map, map_count);
    tile_clone_op(b, def, map, map_count);
}

/* Simplifies the stage of a copy: with s stages and %n = (%stage + 1) mod s as the next iteration's
 * stage, (%n + s - 1) mod s is %stage. */
static void name_stage(const prefetch *p, tile_op copy) {
    tile_function *f = p->f;
    tile_op_data *data = tile_op_at(f, copy);
    int64_t numbers[4] = {0};
    unsigned at = 0;
    const tile_values target = tile_operands_dst(f, copy);
    tile_value value = target.count == 2 ? target.at[1] : TILE_NO_VALUE;
    static const tile_opcode wanted[4] = {TILE_OP_mod, TILE_OP_add, TILE_OP_mod, TILE_OP_add};
    for (; value.id && at < 4; at++) {
        tile_op def = tile_value_def(f, value);
        if (!def.id || tile_op_opcode(f, def) != wanted[at] ||
            !tile_value_is_int(f, tile_operand_rhs(f, def), &numbers[at]))
            return;
        value = tile_operand_lhs(f, def);
    }
    int64_t stages = numbers[0];
    if (at < 4 || value.id >= p->value_count || stages != numbers[2] ||
        (numbers[1] + numbers[3]) % stages != 0 || p->ranges[value.id].min < 0 ||
        p->ranges[value.id].max >= stages)
        return;
    data->operands[target.at + 1 - data->operands] = value;
}

/* Builds an i1: the iteration that the map describes exists. */
static tile_value iteration_exists(const prefetch *p, tile_builder *b, const tile_value *map,
                                   int from) {
    const loop_ahead ahead = loop_ahead_of(p->f, p->loop, p->ranges, p->value_count);
    if (from == TILE_PARENT_OP) return tile_build_lt(b, ahead.begin, ahead.end);
    return loop_ahead_exists(b, &ahead, map[tile_region_arg(p->f, p->body, 0).id], 1);
}

/* Disables copies for an iteration that does not exist, even if its variable wraps around. */
static void guard_copies(const prefetch *p, tile_op branch, tile_op again, const tile_value *map,
                         int from) {
    tile_function *f = p->f;
    tile_builder b = tile_builder_before(f, again);
    if (prefetch_condition_is_false(p, tile_operand_condition(f, branch), from)) return;
    b.loc = tile_op_loc(f, branch);
    tile_value condition = tile_operand_condition(f, again);
    condition = tile_build_and(&b, condition, iteration_exists(p, &b, map, from));
    tile_set_operand(f, again, TILE_OPERAND_condition, condition);
}

/* Clones the head operations before the builder, for the iteration that the map describes. */
static void clone_heads(prefetch *p, tile_builder *b, tile_value *map, size_t map_count, int from) {
    tile_function *f = p->f;
    for (unsigned i = 0; i < p->moved; i++) {
        tile_op head = p->head_ops[i];
        b->loc = tile_op_loc(f, head);
        for (unsigned k = 0; k < tile_op_operand_count(f, head); k++)
            map_value(p, b, tile_op_operand(f, head, k), map, map_count);
        for (unsigned r = 0; r < tile_op_at(f, head)->region_count; r++)
            TILE_FOR_EACH_OP (f, inner, tile_op_region(f, head, r))
                for (unsigned k = 0; k < tile_op_operand_count(f, inner); k++)
                    map_value(p, b, tile_op_operand(f, inner, k), map, map_count);
        tile_op again = tile_clone_op(b, head, map, map_count);
        if (tile_op_opcode(f, head) == TILE_OP_if) guard_copies(p, head, again, map, from);
        for (unsigned r = 0; r < tile_op_at(f, again)->region_count; r++)
            TILE_FOR_EACH_OP (f, inner, tile_op_region(f, again, r))
                if (tile_op_opcode(f, inner) == TILE_OP_copy_async) name_stage(p, inner);
    }
}

/* Moves head operations: clones them before the loop for the first iteration, and at the end of the
 * body for the next one. */
static void move_heads(prefetch *p) {
    tile_function *f = p->f;
    tile_value iv = tile_region_arg(f, p->body, 0);
    bool copies = false; /* otherwise none depends on the variable */
    for (unsigned i = 0; i < p->moved; i++)
        copies |= tile_op_opcode(f, p->head_ops[i]) == TILE_OP_if;
    for (int from = TILE_PARENT_OP; from <= 0; from++) {
        size_t count = f->value_count;
        tile_value *map = TILE_NEW_ARRAY(p->pass->scratch, tile_value, count);
        tile_builder b = tile_builder_before(
            f, from == TILE_PARENT_OP ? p->loop : tile_region_at(f, p->body)->last);
        if (from == TILE_PARENT_OP)
            map[iv.id] = tile_operand_begin(f, p->loop);
        else if (copies)
            map[iv.id] = tile_build_add(&b, iv, tile_operand_step(f, p->loop));
        for (unsigned i = 0; i < tile_carried_count(f, p->loop); i++)
            map[tile_carried_received(f, p->loop, 0, i).id] =
                tile_carried_sent(f, p->loop, from, i);
        clone_heads(p, &b, map, count, from);
    }
    for (unsigned i = 0; i < p->moved; i++) tile_erase_op(f, p->head_ops[i]);
}

/* Copies that are distributed ------------------------------------------------------------------ */

static tile_op copy_of_region(const tile_function *f, tile_region region, unsigned index) {
    TILE_FOR_EACH_OP (f, op, region)
        if (tile_op_opcode(f, op) == TILE_OP_copy_async && index-- == 0) return op;
    return TILE_NO_OP;
}

/* Clones the branch at the builder, with only its copy number `index`. */
static void build_branch(const prefetch *p, tile_builder *b, tile_op branch, unsigned index) {
    tile_function *f = p->f;
    size_t count = f->value_count;
    tile_value *map = TILE_NEW_ARRAY(p->pass->scratch, tile_value, count);
    b->loc = tile_op_loc(f, branch);
    tile_region body = tile_op_region(f, tile_clone_op(b, branch, map, count), 0);
    tile_op kept = copy_of_region(f, body, index), copy;
    for (unsigned i = 0; (copy = copy_of_region(f, body, i)).id;)
        if (copy.id == kept.id)
            i++;
        else
            tile_erase_op(f, copy);
}

/* Distributes the copies over the steps of the first dot. Calls with place from 0 to places - 1
 * build the copies for that step, in order. */
static void distribute_copies(const prefetch *p, tile_builder *b, unsigned place, unsigned places) {
    tile_function *f = p->f;
    unsigned count = 0, seen = 0;
    for (unsigned i = p->moved; i < p->head_count; i++)
        if (tile_op_opcode(f, p->head_ops[i]) == TILE_OP_if)
            for (unsigned k = 0; copy_of_region(f, tile_op_region(f, p->head_ops[i], 0), k).id; k++)
                count++;
    for (unsigned i = p->moved; i < p->head_count; i++) {
        tile_op head = p->head_ops[i];
        if (tile_op_opcode(f, head) == TILE_OP_if) {
            for (unsigned k = 0; copy_of_region(f, tile_op_region(f, head, 0), k).id; k++, seen++)
                if (seen * places / count == place) build_branch(p, b, head, k);
        } else if ((seen ? (seen - 1) * places / count : 0) == place) {
            tile_move_op(f, head, p->body, b->before);
        }
    }
    for (unsigned i = p->moved; place + 1 == places && i < p->head_count; i++)
        if (tile_op_opcode(f, p->head_ops[i]) == TILE_OP_if) tile_erase_op(f, p->head_ops[i]);
}

/* Carried fragments ---------------------------------------------------------------------------- */

/* The position of loads at `end` of a region: with large accumulators before the copies that follow
 * the last wait, so that the loads do not queue behind them; otherwise after the copies. */
static tile_op place_of_loads(const prefetch *p, tile_op end) {
    const tile_function *f = p->f;
    if (!prefetch_has_large_sums(p)) return end;
    for (tile_op op = tile_op_at(f, end)->prev; op.id; op = tile_op_at(f, op)->prev) {
        tile_opcode opcode = tile_op_opcode(f, op);
        bool copies =
            opcode == TILE_OP_copy_async || opcode == TILE_OP_commit_group || opcode == TILE_OP_if;
        if (!copies || !prefetch_loads_may_cross(f, op)) return end;
        end = op;
    }
    return end;
}

static void carry_fragments(prefetch *p) {
    tile_function *f = p->f;
    tile_value *tiles = TILE_NEW_ARRAY(p->pass->scratch, tile_value, 2 * p->count);
    tile_builder before = tile_builder_before(f, place_of_loads(p, p->loop));
    unsigned added = 0, was = tile_carried_count(f, p->loop);
    for (unsigned i = 0; i < 2 * p->count; i++) {
        dot_operand *operand = &p->products[i / 2].operands[i % 2];
        if (operand->shared) continue;
        operand->carried = was + added;
        tiles[added++] = load_ahead(p, &before, &p->products[i / 2], i % 2, TILE_PARENT_OP);
    }
    tile_value *map = TILE_NEW_ARRAY(p->pass->scratch, tile_value,
                                     f->value_count + 1 + tile_carry_limit(f, p->loop, added));
    tile_carry(f, p->loop, NULL, tiles, added, map);
    tile_op_remove_attr(f, p->loop,
                        TILE_ATTR_finite); /* loads beyond the end may return any value */
    tile_replace_values(f, f->body, map);
    for (unsigned i = 0; i < 2 * p->count; i++) {
        dot_operand *operand = &p->products[i / 2].operands[i % 2];
        if (!operand->shared)
            operand->next = tile_carried_received(f, p->loop, 0, operand->carried);
    }
}

static tile_value fragment_of(const dot_operand *operand) {
    return operand->shared ? operand->shared->next : operand->next;
}

static tile_value build_step(const prefetch *p, tile_builder *b, const dot_plan *product,
                             tile_value lhs, tile_value rhs, tile_value acc) {
    tile_value sum = tile_build_dot(b, lhs, NULL, 0, rhs, NULL, 0, acc);
    tile_op_data *data = tile_op_at(p->f, tile_value_def(p->f, sum));
    data->attrs = tile_op_at(p->f, product->dot)->attrs; /* shared; attributes are not modified */
    data->attr_count = tile_op_at(p->f, product->dot)->attr_count;
    return sum;
}

typedef struct last_step {
    tile_value lhs, rhs, acc;
} last_step;

/* Builds all steps but the last before the dot, each after the loads of the next step. The second
 * step of the first dot is loaded at the head of the body: ptxas does not move that load before the
 * copies there, which occupy the memory queue. */
static last_step build_steps(prefetch *p, tile_value **steps, unsigned index) {
    dot_plan *product = &p->products[index];
    tile_builder b = tile_builder_before(p->f, product->dot);
    tile_builder head = tile_builder_before(p->f, tile_region_first(p->f, p->body));
    last_step last = {.acc = tile_op_segment(p->f, product->dot, TILE_MMA_ACC).at[0]};
    for (int64_t s = 0; s < product->steps; s++) {
        tile_value now[2];
        for (unsigned i = 0; i < 2; i++) {
            const dot_operand *operand = &product->operands[i];
            unsigned at = 2 * index + i;
            if (operand->shared) /* find the index of the earlier operand */
                while (&p->products[at / 2].operands[at % 2] != operand->shared) at--;
            now[i] = steps[at][s];
            if (operand->shared || s + 1 == product->steps) continue;
            steps[at][s + 1] = load_step(p, index == 0 && s == 0 ? &head : &b, product, i,
                                         prefetch_stage(p, product, i), s + 1);
        }
        if (index == 0 && s + 1 < product->steps && p->moved < p->head_count)
            distribute_copies(p, &b, (unsigned)s, (unsigned)product->steps - 1);
        b.loc = tile_op_loc(p->f, product->dot);
        if (s + 1 == product->steps)
            last = (last_step){now[0], now[1], last.acc};
        else
            last.acc = build_step(p, &b, product, now[0], now[1], last.acc);
    }
    return last;
}

static void rebuild(prefetch *p) {
    tile_function *f = p->f;
    move_heads(p);
    carry_fragments(p);
    last_step *last = TILE_NEW_ARRAY(p->pass->scratch, last_step, p->count);
    tile_value **steps = TILE_NEW_ARRAY(p->pass->scratch, tile_value *, 2 * p->count);
    for (unsigned i = 0; i < 2 * p->count; i++) {
        steps[i] = TILE_NEW_ARRAY(p->pass->scratch, tile_value, (size_t)p->products[i / 2].steps);
        steps[i][0] = fragment_of(&p->products[i / 2].operands[i % 2]);
    }
    for (unsigned i = 0; i < p->count; i++) last[i] = build_steps(p, steps, i);
    tile_builder end = tile_builder_before(f, tile_region_at(f, p->body)->last);
    tile_builder loads = tile_builder_before(f, place_of_loads(p, end.before));
    for (unsigned i = 0; i < 2 * p->count; i++) {
        const dot_operand *operand = &p->products[i / 2].operands[i % 2];
        if (operand->shared) continue;
        tile_value tile = load_ahead(p, &loads, &p->products[i / 2], i % 2, 0);
        tile_carried_send(f, p->loop, 0, operand->carried, tile);
    }
    tile_value *map = TILE_NEW_ARRAY(p->pass->scratch, tile_value, f->value_count + p->count);
    for (unsigned i = 0; i < p->count; i++) {
        const dot_plan *product = &p->products[i];
        tile_builder b = product->last_at_end ? end : tile_builder_before(f, product->dot);
        b.loc = tile_op_loc(f, product->dot);
        map[tile_op_result(f, product->dot, 0).id] =
            build_step(p, &b, product, last[i].lhs, last[i].rhs, last[i].acc);
    }
    tile_replace_values(f, p->body, map);
    for (unsigned i = 0; i < p->count; i++) {
        tile_erase_op(f, p->products[i].dot);
        for (unsigned k = 0; k < 2; k++)
            if (p->products[i].operands[k].load.id)
                tile_erase_op(f, p->products[i].operands[k].load);
    }
}

/* Allocates only what one loop's body needs: there may be many loops. */
static void make_room(prefetch *p) {
    size_t head_ops = 0, dots = 0;
    TILE_FOR_EACH_OP (p->f, op, p->body) {
        head_ops++;
        dots += tile_op_opcode(p->f, op) == TILE_OP_dot;
    }
    p->head_ops = TILE_NEW_ARRAY(p->pass->scratch, tile_op, head_ops + 1);
    p->products = TILE_NEW_ARRAY(p->pass->scratch, dot_plan, dots + 1);
}

tile_status tile_pass_prefetch(tile_pass *pass, tile_function *f) {
    long count = 0;
    tile_op *loops = TILE_NEW_ARRAY(pass->scratch, tile_op, f->op_count);
    unsigned loop_count = 0;
    TILE_FOR_EACH_OP_INSIDE (f, op, f->body)
        if (tile_op_opcode(f, op) == TILE_OP_for && !tile_op_has_attr(f, op, TILE_ATTR_pipelined))
            loops[loop_count++] = op;
    const tile_range *ranges = loop_count ? tile_range_analyse(f, pass->scratch) : NULL;
    const uint32_t *uses = loop_count ? tile_count_uses(f, pass->scratch) : NULL;
    size_t value_count = f->value_count;
    for (unsigned i = 0; i < loop_count; i++) {
        prefetch p = {.pass = pass,
                      .f = f,
                      .ranges = ranges,
                      .uses = uses,
                      .value_count = value_count,
                      .loop = loops[i],
                      .body = tile_op_region(f, loops[i], 0)};
        make_room(&p);
        if (!prefetch_plan(&p)) continue;
        rebuild(&p);
        count += p.count;
    }
    tile_pass_count(pass, "dots whose fragments are loaded ahead", count);
    return TILE_OK;
}
