/* Zeros operands of products at keys that masks hide.
 *
 *     %s = select(%seen, %x, -inf)                 %any = reduce_max(select(%seen, 1, 0), rows) > 0
 *     %w = exp(%s - %top)             becomes      ..
 *     %o = matmul(%w, %v)                          %o = matmul(%w, select(%any, %v, 0))
 *
 * The weight of a hidden element is 0, but 0 times an infinity or NaN is NaN. A key that is hidden
 * from all rows of a matrix must have no effect, so %v gets zeros there. Parts of the mask that do
 * not depend on the row need no reduction. An online loop whose own mask hides the keys skips them,
 * or runs a second time (online/mask.c, online/recompute.c), and therefore uses %v directly. The
 * rule for values with hidden elements is that of level 1 (runtime/reference/planes.c). */
#include <math.h>

#include "passes/schedule/cut/online.h"

#include "lib/ir/syntax.h"
#include "lib/layout/mma.h"
#include "lib/ops/kinds.h"

typedef struct sched_masked_operands {
    size_t count;         /* number of values of the original compute */
    bool *done;           /* by value: `shown` is known */
    tile_value *shown;    /* an i1 with its dims; none: all elements are shown */
    tile_value *map;      /* no entries, except while an operation is cloned */
    tile_value *replaced; /* by the value that replaced it; `capacity` entries */
    size_t capacity;
} sched_masked_operands;

tile_value sched_original_operand(const schedule *s, tile_value value) {
    const sched_masked_operands *h = s->hidden;
    return h && value.id < h->capacity ? h->replaced[value.id] : TILE_NO_VALUE;
}

tile_value sched_visibility_mask(const schedule *s, tile_value value) {
    const sched_masked_operands *h = s->hidden;
    return h && value.id < h->count ? h->shown[value.id] : TILE_NO_VALUE;
}

/* Shown elements ------------------------------------------------------------------------------- */

static bool is_number(schedule *s, tile_value value, double wanted) {
    double number;
    return sched_is_number(s, value, &number) && number == wanted;
}

static bool is_mask_number(schedule *s, tile_value value) {
    return is_number(s, value, -INFINITY);
}

/* A conjunction; none means true everywhere. */
static tile_value both(tile_builder *b, tile_value x, tile_value y) {
    return !x.id ? y : !y.id ? x : tile_build_and(b, x, y);
}

static tile_value shown_of(schedule *s, tile_builder *b, tile_value value);

/* The shown elements of a select's operand where the condition holds; none for a mask's number. */
static tile_value shown_choice(schedule *s, tile_builder *b, tile_value condition,
                               tile_value chosen) {
    if (is_mask_number(s, chosen))
        return tile_build_and(b, condition, tile_build_not(b, condition));
    return both(b, condition, shown_of(s, b, chosen));
}

static tile_value shown_of_select(schedule *s, tile_builder *b, tile_op op) {
    tile_value condition = tile_operand_condition(s->compute, op);
    tile_value x = tile_operand_yes(s->compute, op), y = tile_operand_no(s->compute, op);
    bool hides_x = is_mask_number(s, x), hides_y = is_mask_number(s, y);
    if (hides_y && !hides_x) return shown_choice(s, b, condition, x);
    if (!hides_x && !shown_of(s, b, x).id && !shown_of(s, b, y).id) return TILE_NO_VALUE;
    /* A zero that replaces a hidden weight counts as hidden. */
    if (!hides_x && is_number(s, y, 0)) return shown_of(s, b, x);
    if (!hides_y && is_number(s, x, 0)) return shown_of(s, b, y);
    tile_value other = tile_build_not(b, condition);
    if (hides_x && !hides_y) return shown_choice(s, b, other, y);
    return tile_build_or(b, shown_choice(s, b, condition, x), shown_choice(s, b, other, y));
}

static const tile_type *condition_type(schedule *s, tile_value value) {
    tile_type draft = *sched_type(s, value);
    draft.scalar = TILE_i1;
    draft.param = NULL;
    return tile_type_get(s->context, &draft);
}

/* Broadcasts to an i1 with the value's dims: if all elements are shown, and if the condition lacks
 * dims. */
static tile_value spread(schedule *s, tile_builder *b, tile_value shown, tile_value value) {
    const tile_type *type = condition_type(s, value);
    if (!shown.id) {
        const tile_type *element = tile_type_scalar(s->context, TILE_i1);
        tile_value yes = tile_build_constant(b, element, tile_expr_int(s->context, 1));
        return tile_build_splat(b, yes, type);
    }
    if (!sched_is_tensor(s, shown)) return tile_build_splat(b, shown, type);
    return sched_type(s, shown) == type ? shown : tile_build_broadcast(b, shown, type);
}

/* Operations that move elements also move the mask. */
static tile_value shown_of_moved(schedule *s, tile_builder *b, tile_op op, tile_value value) {
    sched_masked_operands *h = s->hidden;
    unsigned count = sched_moved_operands(s, op);
    tile_value *moved = TILE_NEW_ARRAY(s->arena, tile_value, count + 1);
    bool any = false;
    for (unsigned i = 0; i < count; i++) {
        moved[i] = shown_of(s, b, tile_op_operand(s->compute, op, i));
        any |= moved[i].id != 0;
    }
    if (!any || tile_op_opcode(s->compute, op) == TILE_OP_window) return TILE_NO_VALUE;
    for (unsigned i = 0; i < count; i++) {
        tile_value from = tile_op_operand(s->compute, op, i);
        moved[i] = spread(s, b, moved[i], from);
    }
    for (unsigned i = 0; i < count; i++) h->map[tile_op_operand(s->compute, op, i).id] = moved[i];
    tile_op copy = tile_clone_op(b, op, h->map, h->count);
    for (unsigned i = 0; i < count; i++)
        h->map[tile_op_operand(s->compute, op, i).id] = TILE_NO_VALUE;
    h->map[value.id] = TILE_NO_VALUE;
    tile_value result = tile_op_result(s->compute, copy, 0);
    tile_value_at(s->compute, result)->type = condition_type(s, value);
    return result;
}

static tile_value find_shown(schedule *s, tile_builder *b, tile_value value) {
    tile_op op = tile_value_def(s->compute, value);
    if (!op.id || !tile_scalar_is_floating(sched_element(s, value)->scalar)) return TILE_NO_VALUE;
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_select: return shown_of_select(s, b, op);
    case TILE_OP_exp:
    case TILE_OP_exp2:
    case TILE_OP_sub:
    case TILE_OP_div:
    case TILE_OP_cast: return shown_of(s, b, tile_first_operand(s->compute, op));
    case TILE_OP_mul:
        return both(b, shown_of(s, b, tile_operand_lhs(s->compute, op)),
                    shown_of(s, b, tile_operand_rhs(s->compute, op)));
    default: return shown_of_moved(s, b, op, value);
    }
}

static tile_value shown_of(schedule *s, tile_builder *b, tile_value value) {
    sched_masked_operands *h = s->hidden;
    if (value.id >= h->count || !sched_is_tensor(s, value)) return TILE_NO_VALUE;
    if (!h->done[value.id]) h->shown[value.id] = find_shown(s, b, value);
    h->done[value.id] = true;
    return h->shown[value.id];
}

/* Any row -------------------------------------------------------------------------------------- */

/* The conjuncts of a condition, divided into those that vary along a dim and the others. Dims are
 * counted from the last one, which is 1. */
typedef struct conditions {
    schedule *s;
    tile_builder *b;
    unsigned dim;
    tile_value varying, others;
} conditions;

static bool varies(const conditions *c, tile_value value) {
    const tile_type *type = sched_type(c->s, value);
    return type->rank >= c->dim && !tile_expr_is(type->dims[type->rank - c->dim], 1);
}

static void take_condition(conditions *c, tile_value value) {
    tile_function *f = c->s->compute;
    value = sched_strip_broadcasts(c->s, value);
    tile_op op = tile_value_def(f, value);
    if (op.id && tile_op_opcode(f, op) == TILE_OP_and) {
        take_condition(c, tile_operand_lhs(f, op));
        take_condition(c, tile_operand_rhs(f, op));
        return;
    }
    tile_value *to = varies(c, value) ? &c->varying : &c->others;
    *to = both(c->b, *to, value);
}

static tile_value reduce_any(conditions *c) {
    schedule *s = c->s;
    tile_builder *b = c->b;
    tile_value number =
        tile_build_select(b, c->varying, tile_build_int(b, 1), tile_build_int(b, 0));
    tile_value most = sched_reduce(s, b, number, sched_type(s, number)->rank - c->dim, "max");
    return tile_build_gt(b, most, tile_build_int(b, 0));
}

/* Returns whether any row sees the key. */
static tile_value any_row(schedule *s, tile_builder *b, tile_value shown, unsigned row) {
    conditions c = {.s = s, .b = b, .dim = row};
    take_condition(&c, shown);
    return both(b, c.others, c.varying.id ? reduce_any(&c) : TILE_NO_VALUE);
}

/* Moves the key dim among the last two dims, one of which is 1, to position `to`, counted from the
 * last. */
static tile_value place_keys(schedule *s, tile_builder *b, tile_value any, unsigned from,
                             unsigned to) {
    tile_type draft = *sched_type(s, any);
    if (from == to || draft.kind != TILE_TYPE_TENSOR || (from == 2 && draft.rank < 2)) return any;
    if (draft.rank < 2) {
        draft.dims[1] = tile_expr_int(s->context, 1);
        draft.rank = 2;
    } else {
        const tile_expr *last = draft.dims[draft.rank - 1];
        draft.dims[draft.rank - 1] = draft.dims[draft.rank - 2];
        draft.dims[draft.rank - 2] = last;
    }
    return tile_build_reshape(b, any, TILE_NO_VALUE, tile_type_get(s->context, &draft));
}

/* Products ------------------------------------------------------------------------------------- */

static bool is_float_product(schedule *s, tile_op op) {
    return tile_op_opcode(s->compute, op) == TILE_OP_matmul &&
           tile_scalar_is_floating(sched_element(s, tile_op_result(s->compute, op, 0))->scalar);
}

static bool may_hide(schedule *s) {
    bool masks = false, multiplies = false;
    TILE_FOR_EACH_OP (s->compute, op, s->compute->body) {
        bool selects = tile_op_opcode(s->compute, op) == TILE_OP_select;
        masks |= selects && (is_mask_number(s, tile_operand_yes(s->compute, op)) ||
                             is_mask_number(s, tile_operand_no(s->compute, op)));
        multiplies |= is_float_product(s, op);
    }
    return masks && multiplies;
}

/* Which of an operand's last two dims, counted from the last, contains the keys, the dim that is
 * summed. */
static unsigned key_dim(const schedule *s, tile_op op, unsigned operand) {
    bool transposed =
        tile_op_has_attr(s->compute, op, operand ? TILE_ATTR_trans_rhs : TILE_ATTR_trans_lhs);
    return transposed == (operand == 1) ? 1 : 2;
}

static void note_replaced(schedule *s, tile_value made, tile_value from) {
    sched_masked_operands *h = s->hidden;
    if (made.id >= h->capacity) {
        size_t capacity = 2 * (size_t)made.id + 1;
        tile_value *more = TILE_NEW_ARRAY(s->arena, tile_value, capacity);
        for (size_t i = 0; i < h->capacity; i++) more[i] = h->replaced[i];
        h->replaced = more;
        h->capacity = capacity;
    }
    h->replaced[made.id] = from;
}

/* Zeros an operand at keys where all rows of the other operand, the weights, are hidden. */
static void mask_operand(schedule *s, tile_op op, unsigned operand, tile_value weights) {
    tile_function *f = s->compute;
    tile_builder b = tile_builder_before(f, op);
    b.loc = tile_op_loc(f, op);
    tile_value values = tile_op_operand(f, op, operand);
    tile_value shown = shown_of(s, &b, weights);
    if (!shown.id) return;
    unsigned key = key_dim(s, op, 1 - operand);
    tile_value any = any_row(s, &b, shown, 3 - key);
    any = place_keys(s, &b, any, key, key_dim(s, op, operand));
    tile_value narrow = sched_strip_cast(s, values);
    tile_type element = {.kind = TILE_TYPE_SCALAR,
                         .scalar = sched_type(s, narrow)->scalar,
                         .param = sched_type(s, narrow)->param};
    tile_value zero =
        tile_build_cast(&b, tile_build_float(&b, 0), tile_type_get(s->context, &element));
    tile_value made = tile_build_select(&b, any, narrow, zero);
    if (!made.id) {
        s->failed = true;
        return;
    }
    note_replaced(s, made, narrow);
    if (narrow.id != values.id) {
        made = tile_build_cast(&b, made, sched_element(s, values));
        note_replaced(s, made, values);
    }
    tile_op_at(f, op)->operands[operand] = made;
}

void sched_mask_operands(schedule *s) {
    if (!may_hide(s)) return;
    sched_clone_compute(s);
    tile_function *f = s->compute;
    sched_masked_operands *h = s->hidden = TILE_NEW_ARRAY(s->arena, sched_masked_operands, 1);
    *h = (sched_masked_operands){.count = f->value_count,
                                 .done = TILE_NEW_ARRAY(s->arena, bool, f->value_count),
                                 .shown = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count),
                                 .map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count)};
    unsigned count = (unsigned)f->op_count;
    for (uint32_t id = 1; id < count; id++) {
        tile_op op = {id};
        if (!f->ops[id].opcode || !is_float_product(s, op)) continue;
        tile_value lhs = tile_operand_lhs(f, op), rhs = tile_operand_rhs(f, op);
        mask_operand(s, op, TILE_MMA_LHS, rhs);
        mask_operand(s, op, TILE_MMA_RHS, lhs);
    }
}
