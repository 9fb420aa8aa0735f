/* split-loops: runs the iterations in which no mask hides anything as a loop of their own.
 *
 * The last block of keys reaches behind their end, and under a causal mask the last ones reach
 * above the diagonal; all blocks before them would pay for a comparison and a select for each
 * element, beside products that the tensor cores have ready sooner.
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
 *     %9 = cast %8 : i32
 *     %10 = mul %9, 64 : i32
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
 * Which masks: comparisons of i32 tiles in a loop with a dot, whose sides are sums of scalars and
 * iotas. One of them grows with the loop's variable and is the smaller one, which may be a minimum,
 * a maximum or a choice of such sums, the scalars are none that the loop changes: up to a number
 * that is known before it the comparison holds for all elements. The first loop ends there, the
 * second goes on as the loop was, from where the first one has come to. All that a loop carries
 * goes from one to the other, stages and phases of rings too, so that this comes behind the passes
 * that make them; only sums that are pending may not be carried so.
 *
 * Behind a product before such a loop, which is then its first iteration most times, a choice by
 * such masks is made under a branch: only where one of them hides something. */
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "passes/pass.h"

enum { MOST_TERMS = 12 };

/* A sum of scalars and of what an iota gives, from least to most, and the loop's variable. */
typedef struct sum {
    tile_value terms[MOST_TERMS];
    int signs[MOST_TERMS];
    unsigned count;
    int64_t variable, least, most;
} sum;

typedef struct splitter {
    tile_pass *pass;
    tile_function *f;
    tile_op loop;
    tile_region body;
} splitter;

/* 1. Sums ------------------------------------------------------------------------------------- */

static bool is_outside(const splitter *s, tile_value value) {
    const tile_value_data *data = tile_value_at(s->f, value);
    if (data->kind == TILE_VALUE_REGION) {
        tile_op owner = tile_region_at(s->f, (tile_region){data->owner})->parent;
        return !owner.id ||
               (data->owner != s->body.id && !tile_ancestor_in(s->f, owner, s->body).id);
    }
    return data->kind != TILE_VALUE_RESULT ||
           !tile_ancestor_in(s->f, (tile_op){data->owner}, s->body).id;
}

static bool add_iota(const splitter *s, tile_op op, int sign, sum *to) {
    const tile_type *type = tile_value_type(s->f, tile_op_result(s->f, op, 0));
    int64_t axis = tile_op_attr_int(s->f, op, TILE_ATTR_axis, -1);
    int64_t start = tile_op_attr_int(s->f, op, TILE_ATTR_start, 0);
    int64_t step = tile_op_attr_int(s->f, op, TILE_ATTR_step, 1);
    if (axis < 0 || axis >= type->rank) return false;
    int64_t last = start + step * (tile_type_dim(type, (unsigned)axis) - 1);
    int64_t least = start < last ? start : last, most = start < last ? last : start;
    to->least += sign > 0 ? least : -most;
    to->most += sign > 0 ? most : -least;
    return true;
}

static bool add_value(const splitter *s, tile_value value, int sign, unsigned depth, sum *to) {
    int64_t number;
    bool scalar = tile_value_type(s->f, value)->kind == TILE_TYPE_SCALAR;
    if (tile_value_is_int(s->f, value, &number)) {
        to->least += sign * number;
        to->most += sign * number;
        return true;
    }
    if (value.id == tile_region_arg(s->f, s->body, 0).id) {
        to->variable += sign;
        return true;
    }
    if (scalar && is_outside(s, value)) {
        if (to->count == MOST_TERMS) return false;
        to->terms[to->count] = value;
        to->signs[to->count++] = sign;
        return true;
    }
    tile_op def = tile_value_def(s->f, value);
    if (!def.id || !depth) return false;
    tile_opcode opcode = tile_op_opcode(s->f, def);
    if (opcode == TILE_OP_iota) return add_iota(s, def, sign, to);
    bool both = opcode == TILE_OP_add || opcode == TILE_OP_sub;
    if (!both && opcode != TILE_OP_splat && opcode != TILE_OP_broadcast) return false;
    return add_value(s, tile_op_operand(s->f, def, 0), sign, depth - 1, to) &&
           (!both || add_value(s, tile_op_operand(s->f, def, 1),
                               opcode == TILE_OP_add ? sign : -sign, depth - 1, to));
}

/* 2. Masks ------------------------------------------------------------------------------------ */

/* low < high for all elements as long as low's variable, which it has once, is below a bound. */
typedef struct mask {
    tile_value value, high;
    sum low;
    int64_t margin; /* 1: or equal */
} mask;

enum { DEPTH = 8 }; /* of expressions that are looked into */

/* A scalar that all elements of the condition are; 0: none that the loop does not change. */
static tile_value find_condition(const splitter *s, tile_value condition) {
    tile_op def = tile_value_def(s->f, condition);
    while (def.id && (tile_op_opcode(s->f, def) == TILE_OP_splat ||
                      tile_op_opcode(s->f, def) == TILE_OP_broadcast)) {
        condition = tile_op_operand(s->f, def, 0);
        def = tile_value_def(s->f, condition);
    }
    bool scalar = tile_value_type(s->f, condition)->kind == TILE_TYPE_SCALAR;
    return scalar && is_outside(s, condition) ? condition : TILE_NO_VALUE;
}

/* How a side of the comparison is made of others. */
typedef enum side_kind { SIDE_SUM, SIDE_MIN, SIDE_MAX, SIDE_SELECT } side_kind;

static side_kind find_side(const splitter *s, tile_value *value, tile_op *def) {
    for (;;) {
        *def = tile_value_def(s->f, *value);
        tile_opcode opcode = def->id ? tile_op_opcode(s->f, *def) : TILE_OP_NONE;
        if (opcode == TILE_OP_min) return SIDE_MIN;
        if (opcode == TILE_OP_max) return SIDE_MAX;
        if (opcode == TILE_OP_select) return SIDE_SELECT;
        if (opcode != TILE_OP_broadcast) return SIDE_SUM;
        *value = tile_op_operand(s->f, *def, 0);
    }
}

static bool is_high(const splitter *s, tile_value value, unsigned depth) {
    tile_op def;
    sum ignored = {0};
    side_kind kind = find_side(s, &value, &def);
    if (kind == SIDE_SUM || !depth || tile_value_type(s->f, value)->kind != TILE_TYPE_TILE)
        return add_value(s, value, 1, DEPTH, &ignored) && ignored.variable == 0;
    unsigned first = kind == SIDE_SELECT;
    return (!first || find_condition(s, tile_op_operand(s->f, def, 0)).id) &&
           is_high(s, tile_op_operand(s->f, def, first), depth - 1) &&
           is_high(s, tile_op_operand(s->f, def, first + 1), depth - 1);
}

/* variable: how often the smaller side has the loop's; 0: before the loop. */
static bool find_mask(const splitter *s, tile_op op, int64_t variable, mask *m) {
    tile_opcode opcode = tile_op_opcode(s->f, op);
    bool less = opcode == TILE_OP_lt || opcode == TILE_OP_le;
    if (!less && opcode != TILE_OP_gt && opcode != TILE_OP_ge) return false;
    tile_value low = tile_op_operand(s->f, op, less ? 0 : 1);
    tile_value high = tile_op_operand(s->f, op, less ? 1 : 0);
    const tile_type *type = tile_value_type(s->f, low);
    if (type->kind != TILE_TYPE_TILE || type->scalar != TILE_i32) return false;
    *m = (mask){.value = tile_op_result(s->f, op, 0), .high = high};
    m->margin = opcode == TILE_OP_le || opcode == TILE_OP_ge;
    return add_value(s, low, 1, DEPTH, &m->low) && m->low.variable == variable &&
           is_high(s, high, DEPTH);
}

static tile_value long_int(tile_function *f, int64_t value) {
    tile_context *context = tile_function_context(f);
    return tile_function_constant(f, tile_type_scalar(context, TILE_i64),
                                  tile_expr_int(context, value));
}

static tile_value widen(tile_function *f, tile_builder *b, tile_value value) {
    return tile_build_cast(b, value, tile_type_scalar(tile_function_context(f), TILE_i64));
}

static tile_value build_sum(tile_function *f, tile_builder *b, const sum *from) {
    tile_value all = long_int(f, 0);
    for (unsigned i = 0; i < from->count; i++) {
        tile_value term = widen(f, b, from->terms[i]);
        all = from->signs[i] > 0 ? tile_build_add(b, all, term) : tile_build_sub(b, all, term);
    }
    return all;
}

/* In 64 bits, which hold all of it. Where an element of either side would wrap around in 32, the
 * bound is below every variable: what holds is what the comparison says. */
static tile_value build_bound_of_sum(const splitter *s, tile_builder *b, tile_value begin,
                                     const mask *m, tile_value side) {
    sum from = {0};
    tile_function *f = s->f;
    add_value(s, side, 1, DEPTH, &from);
    tile_value low = build_sum(f, b, &m->low), high = build_sum(f, b, &from);
    tile_value most = tile_build_add(b, high, long_int(f, from.most));
    tile_value least = tile_build_add(b, high, long_int(f, from.least));
    tile_value first = tile_build_add(b, tile_build_add(b, low, long_int(f, m->low.least)), begin);
    tile_value fits =
        tile_build_and(b, tile_build_le(b, most, long_int(f, INT32_MAX)),
                       tile_build_ge(b, tile_build_min(b, least, first), long_int(f, INT32_MIN)));
    int64_t margin = m->margin - m->low.most;
    tile_value bound = tile_build_add(b, tile_build_sub(b, least, low), long_int(f, margin));
    return tile_build_select(b, fits, bound, long_int(f, INT32_MIN));
}

/* Below the smaller one of two is below both, below the larger one below either. */
static tile_value build_bound(const splitter *s, tile_builder *b, tile_value begin, const mask *m,
                              tile_value side, unsigned depth) {
    tile_op def;
    side_kind kind = find_side(s, &side, &def);
    if (kind == SIDE_SUM || !depth || tile_value_type(s->f, side)->kind != TILE_TYPE_TILE)
        return build_bound_of_sum(s, b, begin, m, side);
    unsigned first = kind == SIDE_SELECT;
    tile_value x = build_bound(s, b, begin, m, tile_op_operand(s->f, def, first), depth - 1),
               y = build_bound(s, b, begin, m, tile_op_operand(s->f, def, first + 1), depth - 1);
    if (kind == SIDE_MIN) return tile_build_min(b, x, y);
    if (kind == SIDE_MAX) return tile_build_max(b, x, y);
    return tile_build_select(b, find_condition(s, tile_op_operand(s->f, def, 0)), x, y);
}

/* Whether there has been a product, and whether sums are pending behind op. */
static void follow(const tile_function *f, tile_op op, bool *product, bool *pending) {
    *pending |= tile_op_has_attr(f, op, TILE_ATTR_async);
    *pending &= tile_op_opcode(f, op) != TILE_OP_dot_wait || !tile_waits_for_all(f, op);
    *product |= tile_op_opcode(f, op) == TILE_OP_dot;
}

static bool may_split(const splitter *s) {
    int64_t step;
    bool product = false, pending = false;
    if (!tile_value_is_int(s->f, tile_op_operand(s->f, s->loop, 2), &step) || step <= 0)
        return false;
    TILE_FOR_EACH_OP (s->f, op, s->body) {
        follow(s->f, op, &product, &pending);
    }
    return product && !pending;
}

/* 3. Two loops -------------------------------------------------------------------------------- */

/* Whether the mask holds, in the loop in which it does. */
static void hold(const splitter *s, tile_op loop, tile_value value) {
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

static void split(const splitter *s, const mask *masks, unsigned count) {
    tile_function *f = s->f;
    tile_builder b = tile_builder_before(f, s->loop);
    const tile_type *narrow = tile_type_scalar(tile_function_context(f), TILE_i32);
    tile_value begin = tile_op_operand(f, s->loop, 0), step = tile_op_operand(f, s->loop, 2);
    tile_value start = widen(f, &b, begin), end = widen(f, &b, tile_op_operand(f, s->loop, 1));
    for (unsigned i = 0; i < count; i++)
        end = tile_build_min(&b, end, build_bound(s, &b, start, &masks[i], masks[i].high, DEPTH));
    end = tile_build_max(&b, end, start);
    size_t values = f->value_count;
    tile_value *map = TILE_NEW_ARRAY(s->pass->scratch, tile_value, values);
    tile_op first = tile_clone_op(&b, s->loop, map, values);
    tile_builder ahead = tile_builder_before(f, first);
    tile_op_at(f, first)->operands[1] = tile_build_cast(&ahead, end, narrow);
    for (unsigned i = 0; i < count; i++) hold(s, first, map[masks[i].value.id]);
    tile_value span = tile_build_sub(&b, end, start);
    tile_value turns = tile_build_ceildiv(&b, span, widen(f, &b, step));
    tile_value run = tile_build_mul(&b, tile_build_cast(&b, turns, narrow), step);
    tile_op_at(f, s->loop)->operands[0] = tile_build_add(&b, begin, run);
    for (unsigned i = 0; i < tile_carried_count(f, first); i++)
        tile_carried_send(f, s->loop, TILE_AROUND, i, tile_op_result(f, first, i));
}

static bool split_loop(const splitter *s) {
    unsigned count = 0;
    if (!may_split(s)) return false;
    mask *masks = TILE_NEW_ARRAY(s->pass->scratch, mask, s->f->op_count);
    TILE_FOR_EACH_OP (s->f, op, s->body) count += find_mask(s, op, 1, &masks[count]);
    if (count) split(s, masks, count);
    return count != 0;
}

/* 4. What stands before the loop -------------------------------------------------------------- */

/* Masks that a condition spreads over the tile and joins by `and`. */
static bool is_spread(const splitter *s, tile_op op) {
    tile_opcode opcode = op.id ? tile_op_opcode(s->f, op) : TILE_OP_NONE;
    return opcode == TILE_OP_and || opcode == TILE_OP_broadcast;
}

static bool is_mask(const splitter *s, tile_value condition, unsigned depth) {
    mask m;
    tile_op def = tile_value_def(s->f, condition);
    if (!is_spread(s, def)) return def.id && find_mask(s, def, 0, &m);
    for (unsigned i = 0; i < tile_op_operand_count(s->f, def); i++)
        if (!depth || !is_mask(s, tile_op_operand(s->f, def, i), depth - 1)) return false;
    return true;
}

/* The least of the masks' bounds: where it is above 0 all of them hold. */
static tile_value build_least_bound(const splitter *s, tile_builder *b, tile_value condition) {
    mask m;
    tile_value least = TILE_NO_VALUE, bound;
    tile_op def = tile_value_def(s->f, condition);
    if (!is_spread(s, def)) {
        find_mask(s, def, 0, &m);
        return build_bound(s, b, long_int(s->f, 0), &m, m.high, DEPTH);
    }
    for (unsigned i = 0; i < tile_op_operand_count(s->f, def); i++) {
        bound = build_least_bound(s, b, tile_op_operand(s->f, def, i));
        least = i ? tile_build_min(b, least, bound) : bound;
    }
    return least;
}

/* The comparisons too, which then nobody else wants. */
static void clone_masks(const splitter *s, tile_builder *b, tile_value condition, tile_value *map,
                        size_t values) {
    tile_op def = tile_value_def(s->f, condition);
    for (unsigned i = 0; is_spread(s, def) && i < tile_op_operand_count(s->f, def); i++)
        clone_masks(s, b, tile_op_operand(s->f, def, i), map, values);
    tile_clone_op(b, def, map, values);
}

/* if a mask hides something { the choice } else { what is chosen where none does } */
static void branch(const splitter *s, tile_op choice) {
    tile_function *f = s->f;
    tile_builder b = tile_builder_before(f, choice);
    tile_value result = tile_op_result(f, choice, 0);
    tile_value condition = tile_op_operand(f, choice, 0), chosen = tile_op_operand(f, choice, 1);
    const tile_type *type = tile_value_type(f, result);
    tile_value least = build_least_bound(s, &b, condition);
    tile_op fork = tile_build_if_else(&b, tile_build_le(&b, least, long_int(f, 0)), &type, 1);
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

/* An iteration that runs before the loop has its masks too, and the first one hides the least. */
static long branch_before(const splitter *s) {
    long branches = 0;
    bool product = false, pending = false;
    tile_function *f = s->f;
    tile_op next, op = tile_region_at(f, tile_op_at(f, s->loop)->parent)->first;
    for (; op.id && op.id != s->loop.id; op = next) {
        next = tile_op_at(f, op)->next;
        follow(f, op, &product, &pending);
        if (!product || pending || tile_op_opcode(f, op) != TILE_OP_select ||
            !is_mask(s, tile_op_operand(f, op, 0), DEPTH))
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
        splitter s = {pass, f, loops[i], tile_op_region(f, loops[i], 0)};
        if (!split_loop(&s)) continue;
        splits++;
        branches += branch_before(&s);
    }
    tile_pass_count(pass, "split", splits);
    tile_pass_count(pass, "branched", branches);
    return TILE_OK;
}
