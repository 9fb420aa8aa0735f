/* canonicalize: folds constants, simplifies arithmetic, removes branches and loops whose outcome is
 * known.
 *
 * Instantiated kernels contain many products with 1, conditions such as `z > 0` in a grid with one
 * block along z, and loops that run once. Each costs instructions; a branch around a tile also
 * costs barriers.
 *
 * level: any
 * requires: nothing
 * keeps: everything
 * breaks: nothing
 *
 * before:
 *   kernel @simple(%n: i32, %p: ptr<f32>)
 *       grid [ceildiv(%n, 128)]  warps 4
 *   {
 *     %x, %y, %z = block_id : i32
 *     %g = view %p, [%n] : view<f32[?]>
 *     %from = mul 128, %x : i32
 *     %same = add %from, 0 : i32
 *     %t = load %g[%same] : tile<f32[128]>
 *     %split = gt %z, 0 : i1
 *     %r = if %split {
 *       %d = add %t, %t : tile<f32[128]>
 *       yield %d
 *     } else {
 *       yield %t
 *     }
 *     for %i = 0 to 1 step 1 {
 *       %at = add %same, %i : i32
 *       store %r, %g[%at]
 *     }
 *   }
 *
 * after:
 *   kernel @simple(%n: i32, %p: ptr<f32>)
 *       grid [ceildiv(%n, 128)]  warps 4
 *   {
 *     %x, %y, %z = block_id : i32
 *     %g = view %p, [%n] : view<f32[?]>
 *     %from = mul %x, 128 : i32
 *     %t = load %g[%from] : tile<f32[128]>
 *     store %t, %g[%from]
 *   }
 *
 * The pass visits operations in program order. It replaces the operands, then folds the operation
 * (fold.c), so that later operations see the simpler form. Only values carried by loops can need
 * another round. Constants are moved to the right operand of commutative operations and
 * comparisons. */
#include "lib/analysis/assumed.h"
#include "lib/ir/regions.h"
#include "passes/pass.h"
#include "passes/simplify/fold.h"
#include "passes/simplify/unroll.h"

enum { MAX_ROUNDS = 8 };

typedef struct walk {
    tile_function *f;
    tile_folder folder;
    tile_value *map; /* of the values that existed at the start */
    uint32_t map_count;
    bool changed;
    long simplified;
} walk;

static tile_value look_up(const walk *w, tile_value value) {
    while (value.id < w->map_count && w->map[value.id].id) value = w->map[value.id];
    return value;
}

static void replace(walk *w, tile_value from, tile_value to) {
    w->map[from.id] = to;
    if (!tile_value_at(w->f, to)->name && tile_value_at(w->f, to)->kind != TILE_VALUE_CONSTANT)
        tile_value_at(w->f, to)->name = tile_value_at(w->f, from)->name;
}

static void count(walk *w) {
    w->changed = true;
    w->simplified++;
}

static tile_range range_of(const walk *w, tile_value value) {
    return tile_fold_range(&w->folder, value);
}

/* Regions that always run, or never ---------------------------------------------------------- */

/* Moves the operations of region r before op and erases op. Replaces the values that the region
 * receives by those passed to op, and op's results by those that the region yields. Returns the
 * operation to continue with. */
static tile_op inline_region(walk *w, tile_op op, unsigned r) {
    tile_function *f = w->f;
    tile_region outer = tile_op_at(f, op)->parent, region = tile_op_region(f, op, r);
    tile_op yield = tile_region_yield(f, region), first = tile_region_at(f, region)->first;
    tile_op next = first.id == yield.id ? tile_op_at(f, op)->next : first;
    for (unsigned i = 0; i < tile_carried_count(f, op); i++) {
        tile_value received = tile_carried_received(f, op, (int)r, i);
        if (received.id) replace(w, received, tile_carried_sent(f, op, TILE_PARENT_OP, i));
        replace(w, tile_op_result(f, op, i), tile_carried_sent(f, op, (int)r, i));
    }
    for (tile_op inner = first, after; inner.id != yield.id; inner = after) {
        after = tile_op_at(f, inner)->next;
        tile_move_op(f, inner, outer, op);
    }
    tile_erase_op(f, op);
    count(w);
    return next;
}

/* The value that carried value i always has, if every branch point sends the same outside value or
 * passes on what it received; else 0. */
static tile_value invariant_of(const walk *w, tile_op op, unsigned i) {
    const tile_function *f = w->f;
    tile_value one = TILE_NO_VALUE;
    TILE_FOR_EACH_BRANCH_POINT (f, op, from) {
        tile_value sent = look_up(w, tile_carried_sent(f, op, from, i));
        bool handed_on =
            from != TILE_PARENT_OP && sent.id == tile_carried_received(f, op, from, i).id;
        if (!sent.id || handed_on) continue;
        if (one.id && one.id != sent.id) return TILE_NO_VALUE;
        one = sent;
    }
    return one;
}

/* A value that several regions or iterations all send is visible in all of them, so it is defined
 * before. */
static void drop_invariants(walk *w, tile_op op) {
    for (unsigned i = 0; i < tile_carried_count(w->f, op); i++) {
        tile_value one = invariant_of(w, op, i);
        if (!one.id || w->map[tile_op_result(w->f, op, i).id].id) continue;
        TILE_FOR_EACH_BRANCH_POINT (w->f, op, to) {
            tile_value received = tile_carried_received(w->f, op, to, i);
            if (received.id) replace(w, received, one);
        }
        w->simplified++;
    }
}

static tile_op drop_loop(walk *w, tile_op op) {
    tile_op next = tile_op_at(w->f, op)->next;
    for (unsigned i = 0; i < tile_carried_count(w->f, op); i++)
        replace(w, tile_op_result(w->f, op, i), tile_carried_sent(w->f, op, TILE_PARENT_OP, i));
    tile_erase_op(w->f, op);
    count(w);
    return next;
}

/* Returns the operation to continue with. */
static tile_op simplify_branch(walk *w, tile_op op) {
    tile_range condition = range_of(w, tile_control_operand(w->f, op, 0));
    if (condition.min == condition.max) return inline_region(w, op, condition.min ? 0 : 1);
    drop_invariants(w, op);
    return tile_op_at(w->f, op)->next;
}

/* A loop that is marked for the pipeline pass is not inlined. */
static tile_op simplify_loop(walk *w, tile_op op) {
    tile_value variable = tile_region_arg(w->f, tile_op_region(w->f, op, 0), 0);
    tile_range begin = range_of(w, tile_control_operand(w->f, op, 0));
    tile_range end = range_of(w, tile_control_operand(w->f, op, 1));
    tile_range step = range_of(w, tile_control_operand(w->f, op, 2));
    if (end.max <= begin.min) return drop_loop(w, op);
    bool runs_once = begin.max < end.min && step.min >= 1 && begin.min >= end.max - step.min;
    if (runs_once && !tile_op_has_attr(w->f, op, TILE_ATTR_pipelined)) {
        replace(w, variable, tile_control_operand(w->f, op, 0));
        return inline_region(w, op, 0);
    }
    drop_invariants(w, op);
    return tile_op_at(w->f, op)->next;
}

/* If the condition never holds, the first region runs once and the second one never. */
static tile_op simplify_while(walk *w, tile_op op) {
    if (range_of(w, tile_control_operand(w->f, op, 0)).max == 0) return inline_region(w, op, 0);
    drop_invariants(w, op);
    return tile_op_at(w->f, op)->next;
}

static tile_op simplify_regions(walk *w, tile_op op) {
    switch (tile_shape_of(w->f, op)) {
    case TILE_SHAPE_LOOP: return simplify_loop(w, op);
    case TILE_SHAPE_BRANCH: return simplify_branch(w, op);
    case TILE_SHAPE_WHILE: return simplify_while(w, op);
    case TILE_SHAPE_BODY: /* the author decides the order, or other threads run them concurrently */
    case TILE_SHAPE_ELEMENTS:
    case TILE_SHAPE_NONE: break;
    }
    return tile_op_at(w->f, op)->next;
}

/* Predicates --------------------------------------------------------------------------------- */

/* Removes a predicate that always holds. */
static void drop_true_predicate(walk *w, tile_op op) {
    tile_op_data *data = tile_op_at(w->f, op);
    const tile_op_info *info = tile_op_get_info((tile_opcode)data->opcode);
    unsigned last = info->operand_count - 1;
    if (!info->operand_count || info->operands[last].form != TILE_FORM_optional ||
        info->operands[last].class_ != TILE_CLASS_boolean || !data->segment[last])
        return;
    if (range_of(w, data->operands[data->operand_count - 1]).min != 1) return;
    data->operand_count--;
    data->segment[last] = 0;
    count(w);
}

/* Clusters ----------------------------------------------------------------------------------- */

/* Replaces the size of a cluster, and the rank in a cluster of one block, by constants. True if the
 * operation is erased. */
static bool drop_cluster_size(walk *w, tile_op op) {
    tile_function *f = w->f;
    int64_t extents[3] = {1, 1, 1};
    tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode != TILE_OP_cluster_dim && opcode != TILE_OP_cluster_rank) return false;
    for (unsigned d = 0; d < f->cluster_rank; d++)
        if (!tile_expr_is_int(f->cluster[d], &extents[d])) return false;
    bool alone = extents[0] == 1 && extents[1] == 1 && extents[2] == 1;
    if (opcode == TILE_OP_cluster_rank && !alone) return false;
    for (unsigned d = 0; d < tile_op_result_count(f, op); d++) {
        tile_value result = tile_op_result(f, op, d);
        const tile_expr *known =
            tile_expr_int(tile_function_context(f), opcode == TILE_OP_cluster_dim ? extents[d] : 0);
        replace(w, result, tile_function_constant(f, tile_value_type(f, result), known));
    }
    tile_erase_op(f, op);
    count(w);
    return true;
}

/* Driver -------------------------------------------------------------------------------------- */

/* Returns the operation to continue with, which is not always the next one. */
static tile_op simplify_op(walk *w, tile_op op) {
    tile_function *f = w->f;
    bool counted = tile_is_numbered_loop(f, tile_op_parent(f, op));
    tile_op_data *data = tile_op_at(f, op);
    for (uint32_t i = 0; i < data->operand_count; i++)
        data->operands[i] = look_up(w, data->operands[i]);
    if (data->region_count) return counted ? data->next : simplify_regions(w, op);
    drop_true_predicate(w, op);
    tile_op next = data->next;
    if (drop_cluster_size(w, op)) return next;
    bool rewritten = false;
    tile_value value = tile_fold_op(&w->folder, op, &rewritten);
    if (rewritten) count(w);
    if (!value.id) return next;
    replace(w, data->first_result, look_up(w, value));
    tile_erase_op(f, op);
    count(w);
    return next;
}

static void simplify_region(walk *w, tile_region region) {
    tile_function *f = w->f;
    for (tile_op op = tile_region_at(f, region)->first; op.id;) {
        tile_op next = simplify_op(w, op);
        for (unsigned r = 0; tile_op_at(f, op)->opcode && r < tile_op_at(f, op)->region_count; r++)
            simplify_region(w, tile_op_at(f, op)->regions[r]);
        op = next;
    }
}

static bool simplify_once(tile_pass *pass, tile_function *f, long *simplified) {
    walk w = {.f = f, .map_count = (uint32_t)f->value_count};
    w.map = TILE_NEW_ARRAY(pass->scratch, tile_value, f->value_count);
    w.folder = (tile_folder){f, tile_range_analyse(f, pass->scratch), w.map_count,
                             tile_find_conditions(f, pass->scratch)};
    simplify_region(&w, f->body);
    for (size_t i = 0; i < f->result_count; i++)
        f->results[i].value = look_up(&w, f->results[i].value);
    *simplified += w.simplified;
    return w.changed;
}

tile_status tile_pass_canonicalize(tile_pass *pass, tile_function *f) {
    long simplified = 0;
    for (unsigned i = 0; i < MAX_ROUNDS; i++) {
        bool changed = simplify_once(pass, f, &simplified);
        if (!unroll_indexed_loops(f, pass->scratch) && !changed) break;
    }
    tile_pass_count(pass, "simplified", simplified);
    return TILE_OK;
}
