/* skip-masked: lets groups of warps skip the iterations in which masks hide all of their elements.
 *
 * Under a causal mask, the rows of a block end at different keys. The loop runs to the end of the
 * last row. The group of warps with the first rows needs none of the last blocks of keys. Its dots
 * and exponentials for them only take tensor core time and power from the other groups.
 *
 * level: 2 to 2
 * requires: instantiated
 * keeps: instantiated
 * breaks: laid_out, allocated, synchronised
 *
 * pipeline: skip-masked,canonicalize,cse,dce
 * before:
 *   kernel @peaks(%n: i32, %q: view<f16[128, 64]>, %k: view<f16[64, %n]>, %c: view<f32[128, 1]>)
 *       grid [1]  warps 8
 *   {
 *     roles {
 *       warps 4 groups 2 as %group {
 *         %first = mul %group, 64 : i32
 *         %tq = load %q[%first, 0] : tile<f16[64, 64]>
 *         %row = %first + (iota(axis = 0) : tile<i32[64, 1]>)
 *         %top = for %j = 0 to %n step 64 iter (%t = -1.0e30 : tile<f32[64, 1]>) finite {
 *           %tk = load %k[0, %j] : tile<f16[64, 64]>
 *           %all = dot(%tq, %tk)
 *           %key = %j + (iota(axis = 1) : tile<i32[1, 64]>)
 *           %seen = select(%key <= %row, %all, -inf)
 *           yield max(%t, reduce_max(%seen, axis = 1))
 *         }
 *         store %top, %c[%first, 0]
 *       }
 *     }
 *   }
 *
 * after:
 *   kernel @peaks(%n: i32, %q: view<f16[128, 64]>, %k: view<f16[64, %n]>, %c: view<f32[128, 1]>)
 *       grid [1]
 *       warps 8
 *   {
 *     roles {
 *       warps 4 groups 2 as %group {
 *         %first = mul %group, 64 : i32
 *         %tq = load %q[%first, 0] : tile<f16[64, 64]>
 *         %0 = iota {axis = 0} : tile<i32[64, 1]>
 *         %1 = splat %first : tile<i32[64, 1]>
 *         %row = add %1, %0 : tile<i32[64, 1]>
 *         %2 = splat -1e+30 : tile<f32[64, 1]>
 *         %3 = cast %n : i64
 *         %4 = cast %first : i64
 *         %5 = add %4, i64(63) : i64
 *         %6 = add %3, i64(62) : i64
 *         %7 = max %5, %6 : i64
 *         %8 = le %7, i64(2147483647) : i1
 *         %9 = add %4, i64(64) : i64
 *         %10 = select %8, %9, i64(2147483647) : i64
 *         %11 = min %3, %10 : i64
 *         %12 = cast %11 : i32
 *         %top = for %j = 0 to %12 step 64 iter (%t = %2) finite {
 *           %tk = load %k[0, %j] : tile<f16[64, 64]>
 *           %13 = splat 0.0 : tile<f32[64, 64]>
 *           %all = dot %tq, %tk, %13 : tile<f32[64, 64]>
 *           %14 = iota {axis = 1} : tile<i32[1, 64]>
 *           %15 = splat %j : tile<i32[1, 64]>
 *           %key = add %15, %14 : tile<i32[1, 64]>
 *           %16 = broadcast %key : tile<i32[64, 64]>
 *           %17 = broadcast %row : tile<i32[64, 64]>
 *           %18 = le %16, %17 : tile<i1[64, 64]>
 *           %19 = splat -inf : tile<f32[64, 64]>
 *           %seen = select %18, %all, %19 : tile<f32[64, 64]>
 *           %20 = reduce %seen {kind = max, axis = 1} : tile<f32[64, 1]>
 *           %21 = max %t, %20 : tile<f32[64, 1]>
 *           yield %21
 *         }
 *         store %top, %c[%first, 0]
 *       }
 *     }
 *   }
 *
 * Loops: those with `finite` that several groups run concurrently. `finite` states that computed
 * values are finite, or -inf from a mask. So 0 times any value is 0, a value minus itself is 0, and
 * a factor of -inf is positive. For a mask (masks.h) that holds for no element of the group, the
 * pass evaluates the body symbolically. If all carried tiles come out unchanged, the iteration is
 * redundant. Once all remaining iterations are redundant, the group runs a loop with only the
 * synchronization between warps. It waits for copies and releases their memory, so that the other
 * groups and the producer continue as before.
 *
 * Masks that are the same for all groups are ignored: the loop's end covers them. The first
 * iteration is always executed, even if it is masked: pipeline-dots needs a loop with an iteration
 * wherever the original one has one. */
#include <math.h>
#include <string.h>

#include "lib/analysis/executors.h"
#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "lib/ops/atomic.h"
#include "lib/ops/shape.h"
#include "passes/loops/masks.h"

/* Facts about a value's elements: all equal this number, or they equal those of another value. */
typedef struct known {
    bool is_number;
    double number;
    tile_value splat_of;
} known;

typedef struct masked_loop_skipper {
    tile_pass *pass;
    tile_function *f;
    tile_op loop;
    mask_loop masked;
    known *known; /* by value in the body */
    bool *seen;   /* by value: visited */
} masked_loop_skipper;

/* 1. Results of a masked iteration ------------------------------------------------------------- */

static known number(double value) {
    return (known){.is_number = true, .number = value};
}

static known splat_of(tile_value value) {
    return (known){.splat_of = value};
}

static bool is_number(known k, double value) {
    return k.is_number && k.number == value;
}

static bool are_same(known a, known b) {
    return a.is_number ? is_number(b, a.number) : !b.is_number && a.splat_of.id == b.splat_of.id;
}

/* A constant, even if it is a splat before the loop. */
static known known_outside(const masked_loop_skipper *s, tile_value value) {
    const tile_value_data *data = tile_value_at(s->f, tile_repeated_value(s->f, value));
    if (data->kind != TILE_VALUE_CONSTANT) return splat_of(value);
    if (data->expr->kind == TILE_EXPR_FLOAT) return number(data->expr->number);
    return data->expr->kind == TILE_EXPR_INT ? number((double)data->expr->integer)
                                             : splat_of(value);
}

static known known_of(const masked_loop_skipper *s, tile_value value) {
    const known *k = &s->known[value.id];
    return k->is_number || k->splat_of.id ? *k : known_outside(s, value);
}

/* A factor of -inf must be positive: otherwise the product would not occur in a finite loop. */
static known multiply(known a, known b, known otherwise) {
    if (is_number(a, 0) || is_number(b, 0)) return number(0);
    if (is_number(a, 1)) return b;
    if (is_number(b, 1)) return a;
    return is_number(a, -INFINITY) || is_number(b, -INFINITY) ? number(-INFINITY) : otherwise;
}

static known add(known a, known b, known otherwise) {
    if (is_number(a, 0)) return b;
    if (is_number(b, 0)) return a;
    return is_number(a, -INFINITY) || is_number(b, -INFINITY) ? number(-INFINITY) : otherwise;
}

static known subtract(known a, known b, known otherwise) {
    if (is_number(b, 0)) return a;
    if (is_number(b, -INFINITY)) return otherwise;
    if (is_number(a, -INFINITY)) return a;
    return are_same(a, b) ? number(0) : otherwise;
}

static known choose(known condition, known yes, known no, known otherwise) {
    if (condition.is_number) return condition.number != 0 ? yes : no;
    return are_same(yes, no) ? yes : otherwise;
}

static known exponential(known a, known otherwise) {
    return is_number(a, 0) ? number(1) : is_number(a, -INFINITY) ? number(0) : otherwise;
}

/* All types of floats contain 0 and 1, those with at least 16 bits also infinity. */
static known convert(const masked_loop_skipper *s, tile_op op, known a, known otherwise) {
    const tile_type *type = tile_value_type(s->f, tile_op_result(s->f, op, 0));
    bool kept = is_number(a, 0) || is_number(a, 1) ||
                (is_number(a, -INFINITY) && tile_scalar_is_floating(type->scalar) &&
                 tile_scalar_bytes(type->scalar) >= 2);
    return kept ? a : otherwise;
}

static known combine(const masked_loop_skipper *s, tile_op op, known a, known otherwise) {
    tile_word kind = tile_op_word(s->f, op, TILE_ATTR_kind);
    bool any = kind == TILE_WORD_kind_max || kind == TILE_WORD_kind_min;
    return a.is_number && (any || (kind == TILE_WORD_kind_add && a.number == 0)) ? a : otherwise;
}

/* The result of an operation that is not listed is unknown: it equals itself. */
static known evaluate(const masked_loop_skipper *s, tile_op op) {
    known itself = splat_of(tile_op_result(s->f, op, 0)), from[3] = {itself, itself, itself};
    unsigned rows = tile_op_get_info(tile_op_opcode(s->f, op))->operand_count;
    for (unsigned i = 0; i < 3 && i < rows; i++) {
        const tile_values values = tile_op_segment(s->f, op, i);
        if (values.count) from[i] = known_of(s, values.at[0]);
    }
    known a = from[0], b = from[1], c = from[2];
    switch (tile_op_opcode(s->f, op)) {
    case TILE_OP_splat:
    case TILE_OP_broadcast:
    case TILE_OP_reshape:
    case TILE_OP_transpose: return a.is_number ? a : itself;
    case TILE_OP_cast: return convert(s, op, a, itself);
    case TILE_OP_reduce: return combine(s, op, a, itself);
    case TILE_OP_neg: return is_number(a, 0) ? a : itself;
    case TILE_OP_mul: return multiply(a, b, itself);
    case TILE_OP_fma: return add(multiply(a, b, itself), c, itself);
    case TILE_OP_add: return add(a, b, itself);
    case TILE_OP_sub: return subtract(a, b, itself);
    case TILE_OP_div: return is_number(a, 0) || is_number(b, 1) ? a : itself;
    case TILE_OP_max:
        if (is_number(a, -INFINITY)) return b;
        return is_number(b, -INFINITY) || are_same(a, b) ? a : itself;
    case TILE_OP_min: return are_same(a, b) ? a : itself;
    case TILE_OP_and: return is_number(a, 0) || is_number(b, 0) ? number(0) : itself;
    case TILE_OP_select: return choose(a, b, c, itself);
    case TILE_OP_exp:
    case TILE_OP_exp2: return exponential(a, itself);
    case TILE_OP_dot: return is_number(a, 0) || is_number(b, 0) ? c : itself;
    default: return itself;
    }
}

static void drop_known(const masked_loop_skipper *s) {
    memset(s->seen, 0, s->f->value_count * sizeof *s->seen);
}

static bool is_scalar(const masked_loop_skipper *s, tile_value value) {
    return tile_value_type(s->f, value)->kind == TILE_TYPE_SCALAR;
}

/* Whether an iteration in which the mask holds nowhere yields what it received, except for scalars
 * such as stages of rings. */
static bool changes_nothing(const masked_loop_skipper *s, tile_value mask_value) {
    tile_function *f = s->f;
    memset(s->known, 0, f->value_count * sizeof *s->known);
    s->known[mask_value.id] = number(0);
    TILE_FOR_EACH_OP (f, op, s->masked.body) {
        for (unsigned i = 1; i < tile_op_result_count(f, op); i++)
            s->known[tile_op_result(f, op, i).id] = splat_of(tile_op_result(f, op, i));
        if (!tile_op_result_count(f, op) || tile_op_result(f, op, 0).id == mask_value.id) continue;
        s->known[tile_op_result(f, op, 0).id] = evaluate(s, op);
    }
    tile_op yield = tile_region_yield(f, s->masked.body);
    for (unsigned i = 0; i < tile_carried_count(f, s->loop); i++) {
        tile_value received = tile_carried_received(f, s->loop, 0, i);
        if (!is_scalar(s, received) &&
            !are_same(known_of(s, tile_op_operand(f, yield, i)), splat_of(received)))
            return false;
    }
    return true;
}

/* 2. Operations that stay ---------------------------------------------------------------------- */

/* Whether the value is computed from scalars only, so that an iteration that only waits and arrives
 * need not compute a tile. */
static bool is_plain(const masked_loop_skipper *s, tile_value value) {
    tile_op def = tile_ancestor_in(s->f, tile_value_def(s->f, value), s->masked.body);
    if (!def.id || s->seen[value.id]) return true;
    s->seen[value.id] = true;
    bool plain =
        is_scalar(s, value) && !tile_op_effects(s->f, def) && !tile_op_at(s->f, def)->region_count;
    for (unsigned i = 0; plain && i < tile_op_operand_count(s->f, def); i++)
        plain = is_plain(s, tile_op_operand(s->f, def, i));
    return plain;
}

static bool stays(const masked_loop_skipper *s, tile_op op) {
    tile_opcode opcode = tile_op_opcode(s->f, op);
    return opcode == TILE_OP_barrier_wait || opcode == TILE_OP_barrier_arrive;
}

/* Whether waits and arrivals are the only effects of an iteration on other warps. */
static bool may_skip(const masked_loop_skipper *s) {
    tile_function *f = s->f;
    const unsigned harmless =
        TILE_EFFECT_READ_GLOBAL | TILE_EFFECT_READ_SHARED | TILE_EFFECT_COLLECTIVE;
    drop_known(s);
    TILE_FOR_EACH_OP (f, op, s->masked.body) {
        bool yields = tile_op_effects(f, op) & TILE_EFFECT_TERMINATOR;
        bool does = tile_op_effects(f, op) & ~harmless;
        if (tile_op_at(f, op)->region_count || (does && !yields && !stays(s, op))) return false;
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
            tile_value value = tile_op_operand(f, op, i);
            if ((stays(s, op) || (yields && is_scalar(s, value))) && !is_plain(s, value))
                return false;
        }
    }
    return true;
}

/* 3. Two loops --------------------------------------------------------------------------------- */

/* Builds the end of the group's loop, at least begin. If there is an iteration, at least begin + 1,
 * which does not wrap around then. */
static tile_value build_end(const masked_loop_skipper *s, tile_builder *b, const mask *masks,
                            unsigned count) {
    tile_function *f = s->f;
    tile_value begin = tile_operand_begin(f, s->loop), first = mask_widen(f, b, begin);
    tile_value end = mask_widen(f, b, tile_operand_end(f, s->loop)), needed = end;
    for (unsigned i = 0; i < count; i++)
        needed = tile_build_min(b, needed, mask_build_none(&s->masked, b, first, end, &masks[i]));
    needed = tile_build_max(b, needed, first);
    needed = tile_build_cast(b, needed, tile_type_scalar(tile_function_context(f), TILE_i32));
    if (!tile_runs_at_least_once(f, s->loop)) return needed;
    return tile_build_max(b, needed, tile_build_add(b, begin, tile_build_int(b, 1)));
}

/* Builds the loop of the skipped iterations, after the remaining one. */
static void skip(const masked_loop_skipper *s, const mask *masks, unsigned count) {
    tile_function *f = s->f;
    tile_builder b = tile_builder_before(f, s->loop);
    tile_value begin = tile_operand_begin(f, s->loop), step = tile_operand_step(f, s->loop);
    tile_value end = build_end(s, &b, masks, count);
    tile_value start = mask_widen(f, &b, begin), by = mask_widen(f, &b, step);
    tile_value span = tile_build_sub(&b, mask_widen(f, &b, end), start);
    tile_value turns = tile_build_ceildiv(&b, span, by);
    const tile_type *narrow = tile_type_scalar(tile_function_context(f), TILE_i32);
    tile_value run = tile_build_mul(&b, tile_build_cast(&b, turns, narrow), step);
    tile_value next = tile_build_add(&b, begin, run);
    /* If the first loop runs all iterations, next may exceed an i32. */
    tile_value behind = tile_build_add(&b, start, tile_build_mul(&b, turns, by));
    tile_value wraps = tile_build_gt(&b, behind, mask_int64(f, INT32_MAX));
    tile_value stop = tile_operand_end(f, s->loop);
    stop = tile_build_select(&b, wraps, tile_build_int(&b, INT32_MIN), stop);
    size_t values = f->value_count;
    tile_value *map = TILE_NEW_ARRAY(s->pass->scratch, tile_value, values);
    tile_op first = tile_clone_op(&b, s->loop, map, values);
    tile_set_operand(f, first, TILE_OPERAND_end, end);
    tile_set_operand(f, s->loop, TILE_OPERAND_begin, next);
    tile_set_operand(f, s->loop, TILE_OPERAND_end, stop);
    tile_op_remove_attr(f, s->loop, TILE_ATTR_finite);
    map = TILE_NEW_ARRAY(s->pass->scratch, tile_value, f->value_count);
    for (unsigned i = 0; i < tile_carried_count(f, first); i++) {
        tile_value received = tile_carried_received(f, s->loop, 0, i);
        if (is_scalar(s, received)) continue;
        map[tile_op_result(f, s->loop, i).id] = tile_op_result(f, first, i);
        tile_carried_send(f, s->loop, 0, i, received);
    }
    tile_replace_values(f, f->body, map);
    for (unsigned i = 0; i < tile_carried_count(f, first); i++)
        tile_carried_send(f, s->loop, TILE_PARENT_OP, i, tile_op_result(f, first, i));
}

/* Leaves only waits, arrivals and their operands in the body. Visits it in reverse order, so that
 * users are erased first. */
static void remove_effects(const masked_loop_skipper *s) {
    tile_function *f = s->f;
    unsigned dropped = 0, count = tile_carried_count(f, s->loop);
    bool *kept = TILE_NEW_ARRAY(s->pass->scratch, bool, count + 1u);
    for (unsigned i = 0; i < count; i++) {
        kept[i] = is_scalar(s, tile_carried_received(f, s->loop, 0, i));
        dropped += !kept[i];
    }
    size_t limit = f->value_count + 1 + tile_carry_limit(f, s->loop, 0);
    tile_value *map = TILE_NEW_ARRAY(s->pass->scratch, tile_value, limit);
    if (dropped) {
        tile_carry(f, s->loop, kept, NULL, 0, map);
        tile_replace_values(f, f->body, map);
    }
    bool *used = TILE_NEW_ARRAY(s->pass->scratch, bool, f->value_count);
    tile_op before, op = tile_region_at(f, s->masked.body)->last;
    for (; op.id; op = before) {
        bool wanted = stays(s, op) || tile_op_effects(f, op) & TILE_EFFECT_TERMINATOR;
        before = tile_op_at(f, op)->prev;
        for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
            wanted |= used[tile_op_result(f, op, i).id];
        for (unsigned i = 0; wanted && i < tile_op_operand_count(f, op); i++)
            used[tile_op_operand(f, op, i).id] = true;
        if (!wanted) tile_erase_op(f, op);
    }
}

/* Whether the value depends on the group's number; otherwise the mask is the same for all
 * groups. */
static bool is_of_group(const masked_loop_skipper *s, tile_value value, tile_value group) {
    tile_op def = tile_value_def(s->f, value);
    if (value.id == group.id || s->seen[value.id]) return value.id == group.id;
    s->seen[value.id] = true;
    for (unsigned i = 0; def.id && i < tile_op_operand_count(s->f, def); i++)
        if (is_of_group(s, tile_op_operand(s->f, def, i), group)) return true;
    return false;
}

static bool is_useful(const masked_loop_skipper *s, tile_op op) {
    tile_region role = tile_executors_of(s->f, op).role;
    tile_value group = tile_region_arg(s->f, role, 0);
    drop_known(s);
    return is_of_group(s, tile_op_result(s->f, op, 0), group);
}

static bool skip_loop(masked_loop_skipper *s) {
    unsigned count = 0;
    int64_t step;
    if (!tile_value_is_int(s->f, tile_operand_step(s->f, s->loop), &step) || step <= 0)
        return false;
    s->known = TILE_NEW_ARRAY(s->pass->scratch, known, s->f->value_count);
    s->seen = TILE_NEW_ARRAY(s->pass->scratch, bool, s->f->value_count);
    if (!may_skip(s)) return false;
    mask *masks = TILE_NEW_ARRAY(s->pass->scratch, mask, s->f->op_count);
    TILE_FOR_EACH_OP (s->f, op, s->masked.body)
        if (mask_find(&s->masked, op, 1, &masks[count]) && is_useful(s, op))
            count += changes_nothing(s, masks[count].value);
    if (!count) return false;
    skip(s, masks, count);
    remove_effects(s);
    return true;
}

tile_status tile_pass_skip_masked(tile_pass *pass, tile_function *f) {
    unsigned count;
    long skips = 0;
    const tile_op *loops = tile_find_ops(f, TILE_OP_for, pass->scratch, &count);
    for (unsigned i = 0; i < count; i++) {
        if (!tile_op_has_attr(f, loops[i], TILE_ATTR_finite)) continue;
        if (tile_executors_of(f, loops[i]).groups < 2) continue;
        masked_loop_skipper s = {pass, f,   loops[i], {f, tile_op_region(f, loops[i], 0)},
                                 NULL, NULL};
        skips += skip_loop(&s);
    }
    tile_pass_count(pass, "skipped", skips);
    return TILE_OK;
}
