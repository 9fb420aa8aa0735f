/* prefetch: loads the fragments of a loop's dots one step of k ahead, across the loop's own end.
 *
 * ldmatrix takes some 30 cycles, a barrier and the wait before it more: a warp whose next fragments
 * are in registers already issues mma meanwhile. On an H200 a 128x256x64 loop takes 18 % less time,
 * a 128x128x64 one 9 %.
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
 * The usual way (Triton's pass of this name, CUTLASS by hand) is followed here: with n steps of the
 * instruction's depth in a k-tile,
 *
 *     for {  wait  copies, commit  dot %x[%stage], %y[%stage]  yield, next stage  }
 *
 * becomes
 *
 *     wait  load step 0 of %x[first stage], %y[first stage]
 *     for iter (those) {
 *       copies, commit
 *       load step 1   dot step 0   load step 2   dot step 1   ..   dot step n - 2
 *       wait  load step 0 of the next stage  dot step n - 1
 *       yield .., those
 *     }
 *
 * so that the wait, the barrier that insert-barriers puts behind it and the first loads of the next
 * tile have the last step's mma beside them. This could be done while tiles are lowered. Here the
 * steps are dots of their own and their operands tiles, so that insert-barriers sees every access
 * where it is, and the CPU device runs and checks the result at both levels.
 *
 * What is allowed. The waits (and, under `sync explicit`, the barriers) at the body's head move to
 * its end and before the loop: the same order, run once more. The first loads go to the same place:
 * behind everything of this iteration and the waits of the next one, before its copies. So from the
 * head to the dot there may only be what orders nothing and writes no shared memory at once: copies
 * in the background (what they write cannot be read before another wait), loads, other dots, pure
 * operations. The stage must be the loop's own counter or the same in each iteration.
 *
 * The last iteration loads what no dot takes. It may be what nobody has written (`speculative`);
 * the stage must exist (the range of the counter), and under `sync explicit`, where nobody puts a
 * barrier behind the loop, the user must have one there, so that no write behind it meets those
 * loads.
 *
 * Registers: two steps' fragments live at once, and one step's round the loop. A dot that leaves no
 * room for them beside its accumulator stays as it is. */
#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/analysis/range.h"
#include "lib/ir/regions.h"
#include "passes/pass.h"

/* A dot's lhs or rhs. */
typedef struct dot_operand {
    tile_value buffer;
    tile_op load;          /* the load_shared that is the operand; 0: the buffer is */
    const tile_type *part; /* a step's tile */
    const struct dot_operand
        *shared;      /* an earlier dot's that is the same tile; NULL: there is none */
    unsigned carried; /* index of the value that the loop carries */
    tile_value next;  /* the tile of the step that comes next */
} dot_operand;

typedef struct dot_plan {
    tile_op dot;
    int64_t depth; /* of a step */
    int64_t steps;
    bool last_at_end; /* only the next iteration takes the sum: its last step can go to the end */
    dot_operand operands[2];
} dot_plan;

typedef struct prefetch {
    tile_pass *pass;
    tile_function *f;
    const tile_range *ranges; /* of the values that were there before the pass */
    const uint32_t *uses;     /* of these too */
    size_t value_count;
    tile_op loop;
    tile_region body;
    tile_op *heads; /* waits and barriers at the head of the body */
    unsigned head_count;
    dot_plan *products;
    unsigned count;
} prefetch;

/* 1. The head of the body: waits and barriers of all threads. ---------------------------------- */

static bool is_barrier_of_all(const tile_function *f, tile_op op) {
    return tile_op_opcode(f, op) == TILE_OP_sync && !tile_op_operand_count(f, op);
}

static tile_op find_heads(prefetch *p) {
    tile_op op = tile_region_first(p->f, p->body);
    for (; op.id; op = tile_op_next(p->f, op)) {
        bool is_head =
            tile_op_opcode(p->f, op) == TILE_OP_wait_group || is_barrier_of_all(p->f, op);
        if (!is_head && tile_op_effects(p->f, op)) break;
        if (is_head) p->heads[p->head_count++] = op;
    }
    return op;
}

/* A later load may go before op: it neither orders memory nor writes what the load reads. */
static bool lets_loads_pass(const tile_function *f, tile_op op) {
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_copy_async:
    case TILE_OP_commit_group:
    case TILE_OP_load:
    case TILE_OP_load_shared:
    case TILE_OP_dot:
    case TILE_OP_yield: return true;
    case TILE_OP_if: break;
    default: return !tile_op_effects(f, op);
    }
    for (unsigned r = 0; r < tile_op_at(f, op)->region_count; r++)
        TILE_FOR_EACH_OP (f, inner, tile_op_region(f, op, r))
            if (!lets_loads_pass(f, inner)) return false;
    return true;
}

/* 2. Which dots: both operands in shared memory, an instruction for a step. -------------------- */

/* The index of the value that the loop carries, -1 for another value. */
static int carried_index(const prefetch *p, tile_value value) {
    for (unsigned i = 0; i < tile_carried_count(p->f, p->loop); i++)
        if (tile_carried_received(p->f, p->loop, 0, i).id == value.id) return (int)i;
    return -1;
}

static bool is_outside(const prefetch *p, tile_value value) {
    const tile_value_data *data = tile_value_at(p->f, value);
    if (data->kind == TILE_VALUE_REGION) return data->owner != p->body.id;
    return data->kind != TILE_VALUE_RESULT ||
           !tile_ancestor_in(p->f, (tile_op){data->owner}, p->body).id;
}

static bool stage_exists(const prefetch *p, tile_value stage, const tile_type *buffer) {
    if (stage.id >= p->value_count) return false; /* made by the loop before this one */
    return p->ranges[stage.id].min >= 0 && p->ranges[stage.id].max < tile_type_stage_count(buffer);
}

/* Whether the stage is known for the iteration before the first one's end, and for the next. */
static bool can_foresee(const prefetch *p, tile_value stage, const tile_type *buffer) {
    if (is_outside(p, stage)) return stage_exists(p, stage, buffer);
    int index = carried_index(p, stage);
    return index >= 0 &&
           stage_exists(p, tile_carried_sent(p->f, p->loop, TILE_AROUND, (unsigned)index),
                        buffer) &&
           stage_exists(p, tile_carried_sent(p->f, p->loop, 0, (unsigned)index), buffer);
}

/* How often a value is used; values of the pass are as good as used everywhere. */
static uint32_t use_count(const prefetch *p, tile_value value) {
    return value.id < p->value_count ? p->uses[value.id] : UINT32_MAX;
}

/* The buffer and the stage that an operand is read from, all of it; NULL if it is something else.
 */
static const tile_value *find_source(const prefetch *p, tile_op dot, unsigned operand,
                                     tile_op *load) {
    unsigned count;
    const tile_value *element = tile_op_segment(p->f, dot, operand, &count);
    *load = TILE_NO_OP;
    if (tile_value_type(p->f, element[0])->kind == TILE_TYPE_TILE) {
        *load = tile_value_def(p->f, element[0]);
        if (tile_op_opcode(p->f, *load) != TILE_OP_load_shared ||
            tile_op_at(p->f, *load)->parent.id != p->body.id || use_count(p, element[0]) != 1)
            return NULL;
        element = tile_op_segment(p->f, *load, 0, &count);
    }
    const tile_type *buffer = tile_value_type(p->f, element[0]);
    bool staged = buffer->stages != NULL;
    tile_op alloc = tile_value_def(p->f, element[0]);
    if (count != 1u + staged || !buffer->layout || !alloc.id ||
        tile_op_opcode(p->f, alloc) != TILE_OP_alloc_shared || !is_outside(p, element[0]) ||
        (staged && !can_foresee(p, element[1], buffer)))
        return NULL;
    return element;
}

static int64_t registers_of(const tile_type *tile) {
    return (tile_type_registers(tile) * tile_scalar_bytes(tile->scalar) + 3) / 4;
}

/* The tile of a step of an operand. */
static const tile_type *part_type(const prefetch *p, const tile_mma *row, const tile_layout *acc,
                                  unsigned operand, const tile_type *whole, int64_t depth) {
    tile_type draft = *whole;
    draft.kind = TILE_TYPE_TILE;
    draft.stages = NULL;
    draft.dims[operand == TILE_MMA_LHS] = tile_expr_int(p->pass->context, depth);
    tile_layout layout = tile_mma_operand(row, acc, operand, (uint32_t)tile_type_dim(&draft, 0),
                                          (uint32_t)tile_type_dim(&draft, 1));
    draft.layout = &layout;
    return tile_type_get(p->pass->context, &draft);
}

/* Cuts the operands into steps as deep as the instruction, or as it takes to have four registers of
 * each: an ldmatrix of all four matrices. False if they cannot be cut. */
static bool cut_operands(const prefetch *p, const tile_mma *row, const tile_layout *acc,
                         dot_plan *out) {
    const tile_type *whole[2];
    for (unsigned i = 0; i < 2; i++) whole[i] = tile_value_type(p->f, out->operands[i].buffer);
    int64_t extent = tile_type_dim(whole[TILE_MMA_LHS], 1);
    if ((extent & (extent - 1)) || extent % row->k) return false;
    for (out->depth = row->k;; out->depth *= 2) {
        bool enough = true;
        for (unsigned i = 0; i < 2; i++) {
            out->operands[i].part = part_type(p, row, acc, i, whole[i], out->depth);
            enough &= registers_of(out->operands[i].part) >= 4;
        }
        if (enough || out->depth == extent) break;
    }
    out->steps = extent / out->depth;
    return true;
}

static const tile_mma *find_instruction(const prefetch *p, tile_op dot) {
    tile_mma_query query = tile_product_query(p->f, dot);
    query.capability = p->pass->target->compute_capability;
    return tile_mma_find(&query);
}

/* The sum goes nowhere but to the loop's yield. */
static bool is_only_yielded(const prefetch *p, tile_op dot) {
    tile_op yield = tile_region_at(p->f, p->body)->last;
    uint32_t yielded = 0;
    for (unsigned i = 0; i < tile_op_operand_count(p->f, yield); i++)
        yielded += tile_op_operand(p->f, yield, i).id == tile_op_result(p->f, dot, 0).id;
    return yielded && use_count(p, tile_op_result(p->f, dot, 0)) == yielded;
}

static bool plan_product(const prefetch *p, tile_op dot, dot_plan *out) {
    const tile_mma *row = find_instruction(p, dot);
    const tile_type *acc = tile_value_type(p->f, tile_op_result(p->f, dot, 0));
    *out = (dot_plan){.dot = dot};
    if (!row || !acc->layout) return false;
    for (unsigned i = 0; i < 2; i++) {
        dot_operand *operand = &out->operands[i];
        const tile_value *source = find_source(p, dot, i, &operand->load);
        if (!source) return false;
        operand->buffer = source[0];
    }
    out->last_at_end = is_only_yielded(p, dot);
    return cut_operands(p, row, acc->layout, out);
}

static tile_value stage_of(const prefetch *p, const dot_plan *product, unsigned i) {
    unsigned count;
    tile_op op = product->operands[i].load.id ? product->operands[i].load : product->dot;
    const tile_value *element =
        tile_op_segment(p->f, op, product->operands[i].load.id ? 0 : i, &count);
    return count > 1 ? element[1] : TILE_NO_VALUE;
}

/* An operand of an earlier dot that is the same tile of the same stage. */
static void find_shared(const prefetch *p, dot_plan *product) {
    for (unsigned i = 0; i < 2; i++)
        for (unsigned e = 0; e < p->count; e++)
            for (unsigned k = 0; k < 2; k++) {
                const dot_operand *earlier = &p->products[e].operands[k];
                if (earlier->shared || earlier->buffer.id != product->operands[i].buffer.id ||
                    earlier->part != product->operands[i].part ||
                    p->products[e].steps != product->steps ||
                    stage_of(p, &p->products[e], k).id != stage_of(p, product, i).id)
                    continue;
                product->operands[i].shared = earlier;
            }
}

/* 3. Whether it pays and fits. ----------------------------------------------------------------- */

/* Accumulators, two steps' fragments, and what addresses and counters take, about. */
static bool fits_registers(const prefetch *p) {
    enum { ALL = 65536, MOST = 255, OTHERS = 48 };
    int64_t taken = OTHERS, threads = 32 * (int64_t)tile_executors_of(p->f, p->loop).warps;
    for (unsigned i = 0; i < p->count; i++) {
        const dot_plan *product = &p->products[i];
        taken += registers_of(tile_value_type(p->f, tile_op_result(p->f, product->dot, 0)));
        for (unsigned k = 0; k < 2; k++)
            if (!product->operands[k].shared) taken += 2 * registers_of(product->operands[k].part);
    }
    int64_t limit = ALL / threads < MOST ? ALL / threads : MOST;
    return taken <= limit;
}

/* Nothing writes shared memory behind the loop before a barrier that is there. */
static bool is_closed_by_barrier(const tile_function *f, tile_op loop) {
    for (tile_op op = tile_op_next(f, loop); op.id; op = tile_op_next(f, op)) {
        if (is_barrier_of_all(f, op)) return true;
        tile_opcode opcode = tile_op_opcode(f, op);
        bool harmless = !tile_op_effects(f, op) || opcode == TILE_OP_wait_group ||
                        opcode == TILE_OP_commit_group || opcode == TILE_OP_free_shared;
        if (!harmless) return false;
    }
    return tile_op_at(f, loop)->parent.id == f->body.id;
}

static bool has_wait(const tile_function *f, tile_region body) {
    TILE_FOR_EACH_OP (f, op, body)
        if (tile_op_get_info(tile_op_opcode(f, op))->completion == TILE_COMPLETION_WAITS)
            return true;
    return false;
}

static bool plan(prefetch *p) {
    if (tile_sync_is_explicit(p->f, p->loop) && !is_closed_by_barrier(p->f, p->loop)) return false;
    for (tile_op op = find_heads(p); op.id && lets_loads_pass(p->f, op);
         op = tile_op_next(p->f, op)) {
        if (tile_op_opcode(p->f, op) != TILE_OP_dot) continue;
        if (!plan_product(p, op, &p->products[p->count])) continue;
        find_shared(p, &p->products[p->count]);
        p->count++;
    }
    return p->count && has_wait(p->f, p->body) && fits_registers(p);
}

/* 4. The loop again. --------------------------------------------------------------------------- */

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

/* Step 0 of the iteration that comes next; with from TILE_AROUND, of the first one. */
static tile_value load_ahead(const prefetch *p, tile_builder *b, const dot_plan *product,
                             unsigned i, int from) {
    tile_value stage = stage_of(p, product, i);
    int index = stage.id ? carried_index(p, stage) : -1;
    if (index >= 0) stage = tile_carried_sent(p->f, p->loop, from, (unsigned)index);
    tile_value tile = load_step(p, b, product, i, stage, 0);
    tile_op_set_flag(p->f, tile_value_def(p->f, tile), TILE_ATTR_speculative);
    return tile;
}

/* The waits at the head, once before the loop and then at the end of each iteration. */
static void move_heads(prefetch *p) {
    tile_builder before = tile_builder_before(p->f, p->loop);
    tile_op yield = tile_region_at(p->f, p->body)->last;
    tile_value *map = TILE_NEW_ARRAY(p->pass->scratch, tile_value, p->f->value_count);
    for (unsigned i = 0; i < p->head_count; i++) {
        tile_clone_op(&before, p->heads[i], map, p->f->value_count);
        tile_move_op(p->f, p->heads[i], p->body, yield);
    }
}

static void carry_fragments(prefetch *p) {
    tile_function *f = p->f;
    tile_value *tiles = TILE_NEW_ARRAY(p->pass->scratch, tile_value, 2 * p->count);
    tile_builder before = tile_builder_before(f, p->loop);
    unsigned added = 0, was = tile_carried_count(f, p->loop);
    for (unsigned i = 0; i < 2 * p->count; i++) {
        dot_operand *operand = &p->products[i / 2].operands[i % 2];
        if (operand->shared) continue;
        operand->carried = was + added;
        tiles[added++] = load_ahead(p, &before, &p->products[i / 2], i % 2, TILE_AROUND);
    }
    tile_value *map = TILE_NEW_ARRAY(p->pass->scratch, tile_value,
                                     f->value_count + 1 + tile_carry_limit(f, p->loop, added));
    tile_carry(f, p->loop, NULL, tiles, added, map);
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
    data->attrs = tile_op_at(p->f, product->dot)->attrs; /* which nobody changes */
    data->attr_count = tile_op_at(p->f, product->dot)->attr_count;
    return sum;
}

typedef struct last_step {
    tile_value lhs, rhs, acc;
} last_step;

/* All steps but the last, in the dot's place, each behind the loads of the next. */
static last_step build_steps(prefetch *p, tile_value **steps, unsigned index) {
    dot_plan *product = &p->products[index];
    unsigned count;
    tile_builder b = tile_builder_before(p->f, product->dot);
    last_step last = {.acc = *tile_op_segment(p->f, product->dot, TILE_MMA_ACC, &count)};
    for (int64_t s = 0; s < product->steps; s++) {
        tile_value now[2];
        for (unsigned i = 0; i < 2; i++) {
            const dot_operand *operand = &product->operands[i];
            unsigned at = 2 * index + i;
            if (operand->shared) /* the operand of the same number of steps there */
                while (&p->products[at / 2].operands[at % 2] != operand->shared) at--;
            now[i] = steps[at][s];
            if (operand->shared || s + 1 == product->steps) continue;
            steps[at][s + 1] = load_step(p, &b, product, i, stage_of(p, product, i), s + 1);
        }
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
    for (unsigned i = 0; i < 2 * p->count; i++) {
        const dot_operand *operand = &p->products[i / 2].operands[i % 2];
        if (operand->shared) continue;
        tile_value tile = load_ahead(p, &end, &p->products[i / 2], i % 2, 0);
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

typedef struct loop_list {
    tile_op *loops;
    unsigned count;
} loop_list;

static void collect_loop(tile_function *f, tile_op op, void *user) {
    loop_list *list = user;
    if (tile_op_opcode(f, op) == TILE_OP_for && !tile_op_has_attr(f, op, TILE_ATTR_pipelined))
        list->loops[list->count++] = op;
}

tile_status tile_pass_prefetch(tile_pass *pass, tile_function *f) {
    long count = 0;
    loop_list list = {.loops = TILE_NEW_ARRAY(pass->scratch, tile_op, f->op_count)};
    tile_walk(f, f->body, collect_loop, &list);
    const tile_range *ranges = list.count ? tile_range_analyse(f, pass->scratch) : NULL;
    const uint32_t *uses = list.count ? tile_count_uses(f, pass->scratch) : NULL;
    size_t value_count = f->value_count;
    for (unsigned i = 0; i < list.count; i++) {
        prefetch p = {.pass = pass,
                      .f = f,
                      .ranges = ranges,
                      .uses = uses,
                      .value_count = value_count,
                      .loop = list.loops[i],
                      .body = tile_op_region(f, list.loops[i], 0)};
        p.heads = TILE_NEW_ARRAY(pass->scratch, tile_op, f->op_count);
        p.products = TILE_NEW_ARRAY(pass->scratch, dot_plan, f->op_count);
        if (!plan(&p)) continue;
        rebuild(&p);
        count += p.count;
    }
    tile_pass_count(pass, "dots whose fragments are loaded ahead", count);
    return TILE_OK;
}
