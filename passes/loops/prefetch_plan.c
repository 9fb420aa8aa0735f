/* Decides which loops prefetch changes, and how. See prefetch.c for the conditions. */
#include "passes/loops/prefetch.h"

#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/analysis/product.h"
#include "lib/ir/regions.h"
#include "passes/common/warpgroup.h"

/* The head of the body ------------------------------------------------------------------------ */

static bool is_barrier_of_all(const tile_function *f, tile_op op) {
    return tile_op_opcode(f, op) == TILE_OP_sync && !tile_op_operand_count(f, op);
}

static bool is_outside(const prefetch *p, tile_value value) {
    const tile_value_data *data = tile_value_at(p->f, value);
    if (data->kind == TILE_VALUE_REGION) return data->owner != p->body.id;
    return data->kind != TILE_VALUE_RESULT ||
           !tile_ancestor_in(p->f, (tile_op){data->owner}, p->body).id;
}

/* compare: iv + more < bound, signed or unsigned. more 0: iv < bound. */
typedef struct bounded {
    tile_op compare;
    tile_value more;
} bounded;

static bool find_bounded(const prefetch *p, tile_value condition, bounded *found) {
    const tile_function *f = p->f;
    tile_value iv = tile_region_arg(f, p->body, 0);
    tile_op compare = tile_value_def(f, condition);
    tile_opcode opcode = compare.id ? tile_op_opcode(f, compare) : TILE_OP_NONE;
    if (opcode != TILE_OP_lt && opcode != TILE_OP_ult) return false;
    tile_value at = tile_operand_lhs(f, compare);
    tile_op add = tile_value_def(f, at);
    *found = (bounded){compare, TILE_NO_VALUE};
    if (at.id == iv.id) return true;
    if (!add.id || tile_op_opcode(f, add) != TILE_OP_add) return false;
    for (unsigned i = 0; i < 2; i++) {
        found->more = tile_op_operand(f, add, 1 - i);
        if (tile_op_operand(f, add, i).id == iv.id && found->more.id < p->value_count)
            return p->ranges[found->more.id].min >= 0;
    }
    return false;
}

static bool is_end(const prefetch *p, tile_value bound) {
    return bound.id == tile_operand_end(p->f, p->loop).id;
}

/* Whether a condition is false after the loop's end, or can be made so: iv + nonnegative < end, or
 * iv less than a loop-invariant bound. */
static bool ends_with_loop(const prefetch *p, tile_value condition) {
    bounded found;
    if (!find_bounded(p, condition, &found)) return false;
    tile_value bound = tile_operand_rhs(p->f, found.compare);
    return is_end(p, bound) || (!found.more.id && is_outside(p, bound));
}

static tile_range range_of(const prefetch *p, tile_value value) {
    return value.id < p->value_count ? p->ranges[value.id] : tile_range_of_scalar(TILE_i32);
}

bool prefetch_condition_is_false(const prefetch *p, tile_value condition, int from) {
    const tile_function *f = p->f;
    bounded found;
    if (!find_bounded(p, condition, &found) || !is_end(p, tile_operand_rhs(f, found.compare)))
        return false;
    bool first = from == TILE_PARENT_OP;
    tile_range now =
        range_of(p, first ? tile_operand_begin(f, p->loop) : tile_region_arg(f, p->body, 0));
    int64_t most = now.max;
    if (!first) most += range_of(p, tile_operand_step(f, p->loop)).max;
    if (found.more.id) most += range_of(p, found.more).max;
    if (tile_op_opcode(f, found.compare) == TILE_OP_lt) return most <= INT32_MAX;
    /* Unsigned: in the loop, the end is above the variable. */
    bool positive = now.min >= 0 && (!first || range_of(p, tile_operand_end(f, p->loop)).min >= 0);
    return positive && most <= UINT32_MAX;
}

/* if iv is before the loop's end { asynchronous copies } */
static bool is_branch_of_copies(const prefetch *p, tile_op op) {
    if (tile_op_opcode(p->f, op) != TILE_OP_if || tile_op_result_count(p->f, op) ||
        !ends_with_loop(p, tile_operand_condition(p->f, op)))
        return false;
    for (unsigned r = 0; r < 2; r++)
        TILE_FOR_EACH_OP (p->f, inner, tile_op_region(p->f, op, r)) {
            tile_opcode opcode = tile_op_opcode(p->f, inner);
            bool fits = opcode == TILE_OP_yield || !tile_op_effects(p->f, inner) ||
                        (r == 0 && opcode == TILE_OP_copy_async &&
                         tile_op_mechanism(p->f, inner) == TILE_MECHANISM_GROUP);
            if (!fits) return false;
        }
    return true;
}

static tile_op find_heads(prefetch *p) {
    tile_op op = tile_region_first(p->f, p->body);
    for (; op.id; op = tile_op_next(p->f, op)) {
        tile_opcode opcode = tile_op_opcode(p->f, op);
        bool is_head = opcode == TILE_OP_wait_group || opcode == TILE_OP_commit_group ||
                       is_barrier_of_all(p->f, op) || is_branch_of_copies(p, op);
        if (!is_head && tile_op_effects(p->f, op)) break;
        if (is_head) p->head_ops[p->head_count++] = op;
    }
    return op;
}

bool prefetch_loads_may_cross(const tile_function *f, tile_op op) {
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
            if (!prefetch_loads_may_cross(f, inner)) return false;
    return true;
}

/* Dots: both operands in shared memory, an instruction for a step ------------------------------ */

int prefetch_carried(const prefetch *p, tile_value value) {
    for (unsigned i = 0; i < tile_carried_count(p->f, p->loop); i++)
        if (tile_carried_received(p->f, p->loop, 0, i).id == value.id) return (int)i;
    return -1;
}

static bool stage_exists(const prefetch *p, tile_value stage, const tile_type *buffer) {
    if (stage.id >= p->value_count) return false; /* created while an earlier loop was rewritten */
    return p->ranges[stage.id].min >= 0 && p->ranges[stage.id].max < tile_type_stage_count(buffer);
}

/* Whether the stage is a valid index in the first iteration and in the next one. */
static bool has_valid_stages(const prefetch *p, tile_value stage, const tile_type *buffer) {
    if (is_outside(p, stage)) return stage_exists(p, stage, buffer);
    int index = prefetch_carried(p, stage);
    return index >= 0 &&
           stage_exists(p, tile_carried_sent(p->f, p->loop, TILE_PARENT_OP, (unsigned)index),
                        buffer) &&
           stage_exists(p, tile_carried_sent(p->f, p->loop, 0, (unsigned)index), buffer);
}

/* The number of uses of a value; UINT32_MAX for values created by the pass. */
static uint32_t use_count(const prefetch *p, tile_value value) {
    return value.id < p->value_count ? p->uses[value.id] : UINT32_MAX;
}

/* The memory operand (buffer and stage) that an operand reads completely; NULL if it is something
 * else. */
static const tile_value *find_source(const prefetch *p, tile_op dot, unsigned operand,
                                     tile_op *load) {
    tile_values element = tile_op_segment(p->f, dot, operand);
    *load = TILE_NO_OP;
    if (tile_value_type(p->f, element.at[0])->kind == TILE_TYPE_TILE) {
        *load = tile_value_def(p->f, element.at[0]);
        if (tile_op_opcode(p->f, *load) != TILE_OP_load_shared ||
            tile_op_at(p->f, *load)->parent.id != p->body.id || use_count(p, element.at[0]) != 1)
            return NULL;
        element = tile_operands_src(p->f, *load);
    }
    const tile_type *buffer = tile_value_type(p->f, element.at[0]);
    bool staged = buffer->stages != NULL;
    tile_op alloc = tile_value_def(p->f, element.at[0]);
    if (element.count != 1u + staged || !buffer->layout || !alloc.id ||
        tile_op_opcode(p->f, alloc) != TILE_OP_alloc_shared || !is_outside(p, element.at[0]) ||
        (staged && !has_valid_stages(p, element.at[1], buffer)))
        return NULL;
    return element.at;
}

static int64_t registers_of(const tile_type *tile) {
    return (tile_type_registers(tile) * tile_scalar_bytes(tile->scalar) + 3) / 4;
}

/* The type of one step's tile of an operand. */
static const tile_type *part_type(const prefetch *p, const tile_mma *row, const tile_layout *acc,
                                  unsigned operand, const tile_type *whole, int64_t depth) {
    tile_type draft = *whole;
    draft.kind = TILE_TYPE_TILE;
    draft.stages = NULL;
    draft.dims[operand == TILE_MMA_LHS] = tile_expr_int(p->pass->context, depth);
    tile_layout layout = tile_product_fragment(row, acc, operand, &draft);
    draft.layout = &layout;
    return tile_type_get(p->pass->context, &draft);
}

/* Cuts the operands into steps of the instruction's depth, or of as many as give four registers for
 * each operand: an ldmatrix of four matrices. False if they cannot be cut. */
static bool slice_operands(const prefetch *p, const tile_mma *row, const tile_layout *acc,
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
    return out->steps > 1; /* otherwise the registers of a whole k-tile are needed */
}

/* Whether only the loop's yield uses the sum. */
static bool is_only_yielded(const prefetch *p, tile_op dot) {
    tile_op yield = tile_region_at(p->f, p->body)->last;
    uint32_t yielded = 0;
    for (unsigned i = 0; i < tile_op_operand_count(p->f, yield); i++)
        yielded += tile_op_operand(p->f, yield, i).id == tile_op_result(p->f, dot, 0).id;
    return yielded && use_count(p, tile_op_result(p->f, dot, 0)) == yielded;
}

static bool plan_product(const prefetch *p, tile_op dot, dot_plan *out) {
    const tile_mma *row = tile_product_mma(p->f, dot, p->pass->target);
    const tile_type *acc = tile_value_type(p->f, tile_op_result(p->f, dot, 0));
    *out = (dot_plan){.dot = dot};
    if (!row || !acc->layout || warpgroup_uses_wgmma(p->f, dot)) return false;
    for (unsigned i = 0; i < 2; i++) {
        dot_operand *operand = &out->operands[i];
        const tile_value *source = find_source(p, dot, i, &operand->load);
        if (!source) return false;
        operand->buffer = source[0];
    }
    out->last_at_end = is_only_yielded(p, dot);
    return slice_operands(p, row, acc->layout, out);
}

tile_value prefetch_stage(const prefetch *p, const dot_plan *product, unsigned i) {
    tile_op load = product->operands[i].load;
    const tile_values element =
        load.id ? tile_operands_src(p->f, load) : tile_op_segment(p->f, product->dot, i);
    return element.count > 1 ? element.at[1] : TILE_NO_VALUE;
}

/* Finds an operand of an earlier dot that is the same tile of the same stage. */
static void find_shared(const prefetch *p, dot_plan *product) {
    for (unsigned i = 0; i < 2; i++)
        for (unsigned e = 0; e < p->count; e++)
            for (unsigned k = 0; k < 2; k++) {
                const dot_operand *earlier = &p->products[e].operands[k];
                if (earlier->shared || earlier->buffer.id != product->operands[i].buffer.id ||
                    earlier->part != product->operands[i].part ||
                    p->products[e].steps != product->steps ||
                    prefetch_stage(p, &p->products[e], k).id != prefetch_stage(p, product, i).id)
                    continue;
                product->operands[i].shared = earlier;
            }
}

/* Profitability -------------------------------------------------------------------------------- */

static bool is_planned(const prefetch *p, tile_op dot) {
    bool planned = false;
    for (unsigned i = 0; i < p->count; i++) planned |= p->products[i].dot.id == dot.id;
    return planned;
}

/* Registers of a dot without prefetching: its sums and all fragments of its operands. */
static int64_t registers_beside(const prefetch *p, tile_op dot) {
    const tile_mma *row = tile_product_mma(p->f, dot, p->pass->target);
    const tile_type *acc = tile_value_type(p->f, tile_op_result(p->f, dot, 0));
    int64_t taken = acc->layout ? registers_of(acc) : 0;
    for (unsigned i = 0; i < 2; i++) {
        const tile_type *type = warpgroup_operand(p->f, dot, i);
        if (!row || !acc->layout || !type->layout) continue;
        int64_t depth = tile_type_dim(type, i == TILE_MMA_LHS);
        bool tile = type->kind == TILE_TYPE_TILE;
        taken += registers_of(tile ? type : part_type(p, row, acc->layout, i, type, depth));
    }
    return taken;
}

/* Estimates the registers of accumulators, of two steps' fragments, of other dots in the body, and
 * of addresses and counters. */
static bool fits_registers(prefetch *p) {
    enum { ALL = 65536, MOST = 255, OTHERS = 48 };
    int64_t taken = OTHERS, threads = 32 * (int64_t)tile_executors_of(p->f, p->loop).warps;
    for (unsigned i = 0; i < p->count; i++) {
        const dot_plan *product = &p->products[i];
        p->sums += registers_of(tile_value_type(p->f, tile_op_result(p->f, product->dot, 0)));
        for (unsigned k = 0; k < 2; k++)
            if (!product->operands[k].shared) taken += 2 * registers_of(product->operands[k].part);
    }
    TILE_FOR_EACH_OP (p->f, op, p->body)
        if (tile_op_opcode(p->f, op) == TILE_OP_dot && !warpgroup_uses_wgmma(p->f, op) &&
            !is_planned(p, op))
            taken += registers_beside(p, op);
    int64_t limit = ALL / threads < MOST ? ALL / threads : MOST;
    return taken + p->sums <= limit;
}

bool prefetch_has_large_sums(const prefetch *p) {
    enum { LARGE = 128 }; /* registers */
    return p->sums >= LARGE;
}

/* Groups are committed in the order of the text, and the head's copies move past the operations
 * between the head and the first dot. So there must be no copy and no commit between them. */
static bool can_pass_copies(const prefetch *p) {
    tile_op op = tile_op_next(p->f, p->head_ops[p->head_count - 1]);
    for (; op.id != p->products[0].dot.id; op = tile_op_next(p->f, op))
        if (tile_op_effects(p->f, op) & (TILE_EFFECT_ASYNC | TILE_EFFECT_WRITE_SHARED))
            return false;
    return true;
}

/* The number of head operations that move to the end: all, or those up to the last wait or
 * barrier. */
static unsigned count_moved(const prefetch *p) {
    enum { FEWEST = 3 }; /* steps; with fewer, the copies have only one place */
    unsigned moved = p->head_count;
    if (!moved || !prefetch_has_large_sums(p) || p->products[0].steps < FEWEST ||
        !can_pass_copies(p))
        return moved;
    for (; moved > 0; moved--) {
        tile_opcode opcode = tile_op_opcode(p->f, p->head_ops[moved - 1]);
        if (opcode != TILE_OP_if && opcode != TILE_OP_commit_group) break;
    }
    return moved;
}

/* Whether a barrier follows the loop before any write to shared memory. */
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

bool prefetch_plan(prefetch *p) {
    if (tile_sync_is_explicit(p->f, p->loop) && !is_closed_by_barrier(p->f, p->loop)) return false;
    for (tile_op op = find_heads(p); op.id && prefetch_loads_may_cross(p->f, op);
         op = tile_op_next(p->f, op)) {
        if (tile_op_opcode(p->f, op) != TILE_OP_dot) continue;
        if (!plan_product(p, op, &p->products[p->count])) continue;
        find_shared(p, &p->products[p->count]);
        p->count++;
    }
    if (!p->count || !has_wait(p->f, p->body) || !fits_registers(p)) return false;
    p->moved = count_moved(p);
    return true;
}
