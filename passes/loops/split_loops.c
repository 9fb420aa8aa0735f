/* split-loops: runs the iterations in which masks hold for all elements in a separate loop.
 *
 * Only the last block of keys extends beyond their end, and under a causal mask only the last
 * blocks cross the diagonal. Without this pass, all earlier blocks also execute a comparison and a
 * select for each element, which takes longer than their dots on the tensor cores.
 *
 * level: 2 to 2
 * requires: instantiated
 * keeps: instantiated
 * breaks: laid_out, allocated, synchronised
 *
 * pipeline: split-loops,canonicalize,cse,dce
 * before:
 *   kernel @scores(%n: i32, %q: view<f16[64, 64]>, %k: view<f16[64, %n]>, %c: view<f32[64, 64]>)
 *       grid [1]  warps 4
 *   {
 *     %tq = load %q[0, 0] : [64, 64]
 *     %top = for %j = 0 to %n step 64 iter (%t = -inf : tile<f32[64, 64]>) {
 *       %tk = load %k[0, %j] : [64, 64]
 *       %all = dot(%tq, %tk)
 *       %key = %j + iota(axis = 1) : tile<i32[1, 64]>
 *       yield max(%t, select(%key < %n, %all, -inf))
 *     }
 *     store %top, %c[0, 0]
 *   }
 *
 * after:
 *   kernel @scores(%n: i32, %q: view<f16[64, 64]>, %k: view<f16[64, %n]>, %c: view<f32[64, 64]>)
 *       grid [1]  warps 4
 *   {
 *     %tq = load %q[0, 0] : tile<f16[64, 64]>
 *     %0 = splat -inf : tile<f32[64, 64]>
 *     %1 = cast %n : i64
 *     %2 = add %1, i64(-63) : i64
 *     %3 = min %1, %2 : i64
 *     %4 = max %3, i64(0) : i64
 *     %5 = cast %4 : i32
 *     %top = for %j = 0 to %5 step 64 iter (%t = %0) {
 *       %tk = load %k[0, %j] : tile<f16[64, 64]>
 *       %6 = splat 0.0 : tile<f32[64, 64]>
 *       %all = dot %tq, %tk, %6 : tile<f32[64, 64]>
 *       %7 = max %t, %all : tile<f32[64, 64]>
 *       yield %7
 *     }
 *     %8 = ceildiv %4, i64(64) : i64
 *     %9 = mul %8, i64(64) : i64
 *     %10 = cast %9 : i32
 *     %top_1 = for %j_1 = %10 to %n step 64 iter (%t_1 = %top) {
 *       %tk_1 = load %k[0, %j_1] : tile<f16[64, 64]>
 *       %11 = splat 0.0 : tile<f32[64, 64]>
 *       %all_1 = dot %tq, %tk_1, %11 : tile<f32[64, 64]>
 *       %12 = iota {axis = 1} : tile<i32[1, 64]>
 *       %13 = splat %j_1 : tile<i32[1, 64]>
 *       %key = add %13, %12 : tile<i32[1, 64]>
 *       %14 = splat %n : tile<i32[1, 64]>
 *       %15 = lt %key, %14 : tile<i1[1, 64]>
 *       %16 = broadcast %15 : tile<i1[64, 64]>
 *       %17 = select %16, %all_1, %0 : tile<f32[64, 64]>
 *       %18 = max %t_1, %17 : tile<f32[64, 64]>
 *       yield %18
 *     }
 *     store %top_1, %c[0, 0]
 *   }
 *
 * Masks are comparisons of i32 tiles in a loop with a dot, whose sides are sums of scalars and
 * iotas. One side grows with the loop's variable. The other one is loop-invariant; it may be a
 * minimum, maximum or select of such sums. If the smaller side grows, the comparison holds for all
 * elements below a bound that is computed before the loop, as above. If the larger side grows (a
 * window of keys begins), it holds from a bound on, and the iterations before that bound become a
 * third loop. The pass creates the third loop in roles only: a thread that also issues copies does
 * not have enough registers (attention_masked spills for sm_80, d = 256).
 *
 * All carried values are passed from one loop to the next, including stages and phases of rings, so
 * this pass runs after those that build rings. Only sums of pending dots cannot be passed.
 *
 * A dot before such a loop usually is its first iteration. A select by such masks after this dot is
 * put in a branch, and runs only if one of the masks hides an element. */
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "passes/loops/masks.h"

typedef struct splitter {
    tile_pass *pass;
    tile_function *f;
    tile_op loop;
    tile_region body;
    mask_loop masked;
} splitter;

/* Tracks whether there has been a dot, and whether sums are pending after op. */
static void track_dots(const tile_function *f, tile_op op, bool *product, bool *pending) {
    *pending |= tile_op_has_attr(f, op, TILE_ATTR_async);
    *pending &= tile_op_opcode(f, op) != TILE_OP_dot_wait || !tile_waits_for_everything(f, op);
    *product |= tile_op_opcode(f, op) == TILE_OP_dot;
}

static bool may_split(const splitter *s) {
    int64_t step;
    bool product = false, pending = false;
    if (!tile_value_is_int(s->f, tile_operand_step(s->f, s->loop), &step) || step <= 0)
        return false;
    TILE_FOR_EACH_OP (s->f, op, s->body) {
        track_dots(s->f, op, &product, &pending);
    }
    return product && !pending;
}

/* 1. A loop for each range --------------------------------------------------------------------- */

/* Replaces the mask by true in the loop in which it holds for all elements. */
static void condition_holds(const splitter *s, tile_op loop, tile_value value) {
    tile_builder b = tile_builder_before(s->f, loop);
    tile_context *context = tile_function_context(s->f);
    const tile_type *type = tile_value_type(s->f, value);
    tile_value yes =
        tile_function_constant(s->f, tile_type_scalar(context, TILE_i1), tile_expr_int(context, 1));
    yes = tile_build_splat(&b, yes, type);
    tile_value *map = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->f->value_count);
    map[value.id] = yes;
    tile_replace_values(s->f, tile_op_region(s->f, loop, 0), map);
}

/* Masks of a loop that hold for all elements below a bound, or (from) starting at a bound. */
typedef struct masks {
    const mask *all;
    unsigned count;
    bool from;
} masks;

/* Builds the end of the first loop. The variable after its last iteration, where the second loop
 * begins, must fit an i32. An iteration that could exceed it is left to the second loop if that one
 * has all masks. If the first loop has them, it runs all iterations in that case. */
static tile_value build_end(const splitter *s, tile_builder *b, tile_value start, const masks *m) {
    int64_t step = 1;
    tile_function *f = s->f;
    tile_value last = mask_widen(f, b, tile_operand_end(f, s->loop));
    tile_value end = m->from ? start : last;
    tile_value_is_int(f, tile_operand_step(f, s->loop), &step);
    for (unsigned i = 0; i < m->count; i++) {
        tile_value bound = m->from ? mask_build_none(&s->masked, b, start, last, &m->all[i])
                                   : mask_build_all(&s->masked, b, start, &m->all[i]);
        end = m->from ? tile_build_max(b, end, bound) : tile_build_min(b, end, bound);
    }
    tile_value most = mask_int64(f, INT32_MAX - step + 1);
    if (!m->from) return tile_build_max(b, tile_build_min(b, end, most), start);
    tile_value all = tile_build_gt(b, end, tile_build_min(b, last, most));
    return tile_build_select(b, all, tile_build_max(b, last, start), end);
}

/* Builds the begin of the second loop: the variable after the last iteration of the first one, or
 * INT32_MAX, at which no iteration begins. */
static tile_value build_begin(const splitter *s, tile_builder *b, tile_value start,
                              tile_value end) {
    tile_function *f = s->f;
    tile_value step = mask_widen(f, b, tile_operand_step(f, s->loop));
    tile_value turns = tile_build_ceildiv(b, tile_build_sub(b, end, start), step);
    tile_value next = tile_build_add(b, start, tile_build_mul(b, turns, step));
    next = tile_build_min(b, next, mask_int64(f, INT32_MAX));
    return tile_build_cast(b, next, tile_type_scalar(tile_function_context(f), TILE_i32));
}

/* Runs the iterations up to a bound in a new loop before this one. */
static tile_op split(const splitter *s, const masks *m) {
    tile_function *f = s->f;
    tile_builder b = tile_builder_before(f, s->loop);
    const tile_type *narrow = tile_type_scalar(tile_function_context(f), TILE_i32);
    tile_value start = mask_widen(f, &b, tile_operand_begin(f, s->loop));
    tile_value end = build_end(s, &b, start, m);
    size_t values = f->value_count;
    tile_value *map = TILE_NEW_ARRAY(s->pass->scratch, tile_value, values);
    tile_op first = tile_clone_op(&b, s->loop, map, values);
    tile_builder ahead = tile_builder_before(f, first);
    tile_set_operand(f, first, TILE_OPERAND_end, tile_build_cast(&ahead, end, narrow));
    for (unsigned i = 0; i < m->count; i++) {
        tile_value value = m->all[i].value;
        condition_holds(s, m->from ? s->loop : first, m->from ? value : map[value.id]);
    }
    tile_set_operand(f, s->loop, TILE_OPERAND_begin, build_begin(s, &b, start, end));
    for (unsigned i = 0; i < tile_carried_count(f, first); i++)
        tile_carried_send(f, s->loop, TILE_PARENT_OP, i, tile_op_result(f, first, i));
    return first;
}

/* Returns the new loop, or none if there are no such masks. */
static tile_op split_by(const splitter *s, bool from) {
    masks m = {.from = from};
    mask *all = TILE_NEW_ARRAY(s->pass->scratch, mask, s->f->op_count);
    TILE_FOR_EACH_OP (s->f, op, s->body)
        m.count += from ? mask_find_opposite(&s->masked, op, &all[m.count])
                        : mask_find(&s->masked, op, 1, &all[m.count]);
    m.all = all;
    return m.count ? split(s, &m) : TILE_NO_OP;
}

static splitter splitter_of(tile_pass *pass, tile_function *f, tile_op loop) {
    tile_region body = tile_op_region(f, loop, 0);
    return (splitter){pass, f, loop, body, {f, body}};
}

/* Whether the loop runs in a role, in which other warps issue its copies. */
static bool is_in_role(const splitter *s) {
    tile_op op = tile_op_parent(s->f, s->loop);
    while (op.id && tile_op_opcode(s->f, op) != TILE_OP_roles) op = tile_op_parent(s->f, op);
    return op.id != 0;
}

/* Returns the number of added loops. */
static long split_loop(const splitter *s) {
    if (!may_split(s)) return 0;
    tile_op below = split_by(s, false);
    if (!is_in_role(s)) return below.id != 0;
    const splitter rest = splitter_of(s->pass, s->f, below.id ? below : s->loop);
    return (below.id != 0) + (split_by(&rest, true).id != 0);
}

/* 2. Operations before the loop -------------------------------------------------------------- */

/* Whether op broadcasts masks to the tile or combines them by `and`. */
static bool is_spread(const splitter *s, tile_op op) {
    tile_opcode opcode = op.id ? tile_op_opcode(s->f, op) : TILE_OP_NONE;
    return opcode == TILE_OP_and || opcode == TILE_OP_broadcast;
}

static bool is_mask(const splitter *s, tile_value condition, unsigned depth) {
    mask m;
    tile_op def = tile_value_def(s->f, condition);
    if (!is_spread(s, def)) return def.id && mask_find(&s->masked, def, 0, &m);
    for (unsigned i = 0; i < tile_op_operand_count(s->f, def); i++)
        if (!depth || !is_mask(s, tile_op_operand(s->f, def, i), depth - 1)) return false;
    return true;
}

/* The minimum of the masks' bounds: if it is above 0, all of them hold. */
static tile_value build_least_bound(const splitter *s, tile_builder *b, tile_value condition) {
    mask m;
    tile_value least = TILE_NO_VALUE, bound;
    tile_op def = tile_value_def(s->f, condition);
    if (!is_spread(s, def)) {
        mask_find(&s->masked, def, 0, &m);
        return mask_build_all(&s->masked, b, mask_int64(s->f, 0), &m);
    }
    for (unsigned i = 0; i < tile_op_operand_count(s->f, def); i++) {
        bound = build_least_bound(s, b, tile_op_operand(s->f, def, i));
        least = i ? tile_build_min(b, least, bound) : bound;
    }
    return least;
}

/* Clones the comparisons as well, because they have no other users then. */
static void clone_masks(const splitter *s, tile_builder *b, tile_value condition, tile_value *map,
                        size_t values) {
    tile_op def = tile_value_def(s->f, condition);
    for (unsigned i = 0; is_spread(s, def) && i < tile_op_operand_count(s->f, def); i++)
        clone_masks(s, b, tile_op_operand(s->f, def, i), map, values);
    tile_clone_op(b, def, map, values);
}

/* if a mask hides an element { the select } else { its value without masks } */
static void branch(const splitter *s, tile_op choice) {
    tile_function *f = s->f;
    tile_builder b = tile_builder_before(f, choice);
    tile_value result = tile_op_result(f, choice, 0);
    tile_value condition = tile_operand_condition(f, choice), chosen = tile_operand_yes(f, choice);
    const tile_type *type = tile_value_type(f, result);
    tile_value least = build_least_bound(s, &b, condition);
    tile_op fork = tile_build_if_else(&b, tile_build_le(&b, least, mask_int64(f, 0)), &type, 1);
    tile_builder hides = tile_builder_at_end(f, tile_op_region(f, fork, 0));
    tile_builder shows = tile_builder_at_end(f, tile_op_region(f, fork, 1));
    hides.loc = shows.loc = b.loc;
    size_t values = f->value_count;
    tile_value *map = TILE_NEW_ARRAY(s->pass->scratch, tile_value, values);
    clone_masks(s, &hides, condition, map, values);
    tile_clone_op(&hides, choice, map, values);
    tile_build_yield(&hides, &map[result.id], 1);
    tile_build_yield(&shows, &chosen, 1);
    map = TILE_NEW_ARRAY(s->pass->scratch, tile_value, f->value_count);
    map[result.id] = tile_op_result(f, fork, 0);
    tile_replace_values(f, tile_op_at(f, fork)->parent, map);
    tile_erase_op(f, choice);
}

/* An iteration before the loop has the same masks; the first iteration hides the fewest
 * elements. */
static long branch_before(const splitter *s) {
    long branches = 0;
    bool product = false, pending = false;
    tile_function *f = s->f;
    tile_op next, op = tile_region_at(f, tile_op_at(f, s->loop)->parent)->first;
    for (; op.id && op.id != s->loop.id; op = next) {
        next = tile_op_at(f, op)->next;
        track_dots(f, op, &product, &pending);
        if (!product || pending || tile_op_opcode(f, op) != TILE_OP_select ||
            !is_mask(s, tile_operand_condition(f, op), MASK_DEPTH))
            continue;
        branch(s, op);
        branches++;
    }
    return branches;
}

tile_status tile_pass_split_loops(tile_pass *pass, tile_function *f) {
    unsigned count;
    long splits = 0, branches = 0;
    const tile_op *loops = tile_find_ops(f, TILE_OP_for, pass->scratch, &count);
    for (unsigned i = 0; i < count; i++) {
        const splitter s = splitter_of(pass, f, loops[i]);
        long added = split_loop(&s);
        if (!added) continue;
        splits += added;
        branches += branch_before(&s);
    }
    tile_pass_count(pass, "split", splits);
    tile_pass_count(pass, "branched", branches);
    return TILE_OK;
}
