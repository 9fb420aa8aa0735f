#include "passes/loops/masks.h"

#include "lib/analysis/memory.h"
#include "lib/ir/regions.h"
#include "lib/ops/shape.h"

/* 1. Sums ------------------------------------------------------------------------------------- */

static bool is_outside(const mask_loop *s, tile_value value) {
    const tile_value_data *data = tile_value_at(s->f, value);
    if (data->kind == TILE_VALUE_REGION) {
        tile_op owner = tile_region_at(s->f, (tile_region){data->owner})->parent;
        return !owner.id ||
               (data->owner != s->body.id && !tile_ancestor_in(s->f, owner, s->body).id);
    }
    return data->kind != TILE_VALUE_RESULT ||
           !tile_ancestor_in(s->f, (tile_op){data->owner}, s->body).id;
}

static bool add_iota(const mask_loop *s, tile_op op, int sign, mask_sum *to) {
    tile_iota iota;
    const tile_type *type = tile_value_type(s->f, tile_op_result(s->f, op, 0));
    if (!tile_iota_of(s->f, op, &iota)) return false;
    int64_t start = iota.start, last = start + iota.step * (tile_type_dim(type, iota.axis) - 1);
    int64_t least = start < last ? start : last, most = start < last ? last : start;
    to->least += sign > 0 ? least : -most;
    to->most += sign > 0 ? most : -least;
    return true;
}

static bool add_value(const mask_loop *s, tile_value value, int sign, unsigned depth,
                      mask_sum *to) {
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
        if (to->count == MASK_TERMS) return false;
        to->terms[to->count] = value;
        to->signs[to->count++] = sign;
        return true;
    }
    tile_op def = tile_value_def(s->f, value);
    if (!def.id || !depth) return false;
    tile_opcode opcode = tile_op_opcode(s->f, def);
    if (opcode == TILE_OP_iota) return add_iota(s, def, sign, to);
    tile_value repeated = tile_repeated_value(s->f, value);
    if (repeated.id != value.id) return add_value(s, repeated, sign, depth - 1, to);
    if (opcode != TILE_OP_add && opcode != TILE_OP_sub) return false;
    return add_value(s, tile_operand_lhs(s->f, def), sign, depth - 1, to) &&
           add_value(s, tile_operand_rhs(s->f, def), opcode == TILE_OP_add ? sign : -sign,
                     depth - 1, to);
}

/* 2. Masks ------------------------------------------------------------------------------------ */

/* The loop-invariant scalar that all elements of the condition equal; 0: none. */
static tile_value find_condition(const mask_loop *s, tile_value condition) {
    condition = tile_repeated_value(s->f, condition);
    bool scalar = tile_value_type(s->f, condition)->kind == TILE_TYPE_SCALAR;
    return scalar && is_outside(s, condition) ? condition : TILE_NO_VALUE;
}

/* How the loop-invariant side of a comparison is computed. */
typedef enum side_kind { SIDE_SUM, SIDE_MIN, SIDE_MAX, SIDE_SELECT } side_kind;

static side_kind find_side(const mask_loop *s, tile_value *value, tile_op *def) {
    for (;;) {
        *def = tile_value_def(s->f, *value);
        tile_opcode opcode = def->id ? tile_op_opcode(s->f, *def) : TILE_OP_NONE;
        if (opcode == TILE_OP_min) return SIDE_MIN;
        if (opcode == TILE_OP_max) return SIDE_MAX;
        if (opcode == TILE_OP_select) return SIDE_SELECT;
        if (opcode != TILE_OP_broadcast) return SIDE_SUM;
        *value = tile_operand_src(s->f, *def);
    }
}

static bool is_high(const mask_loop *s, tile_value value, unsigned depth) {
    tile_op def;
    mask_sum ignored = {0};
    side_kind kind = find_side(s, &value, &def);
    if (kind == SIDE_SUM || !depth || tile_value_type(s->f, value)->kind != TILE_TYPE_TILE)
        return add_value(s, value, 1, MASK_DEPTH, &ignored) && ignored.variable == 0;
    unsigned first = kind == SIDE_SELECT;
    return (!first || find_condition(s, tile_operand_condition(s->f, def)).id) &&
           is_high(s, tile_op_operand(s->f, def, first), depth - 1) &&
           is_high(s, tile_op_operand(s->f, def, first + 1), depth - 1);
}

/* opposite: treats low < high as high <= low. */
static bool find(const mask_loop *s, tile_op op, int64_t variable, bool opposite, mask *m) {
    tile_opcode opcode = tile_op_opcode(s->f, op);
    bool less = opcode == TILE_OP_lt || opcode == TILE_OP_le;
    if (!less && opcode != TILE_OP_gt && opcode != TILE_OP_ge) return false;
    bool equal = opcode == TILE_OP_le || opcode == TILE_OP_ge;
    tile_value lhs = tile_operand_lhs(s->f, op), rhs = tile_operand_rhs(s->f, op);
    tile_value low = less == opposite ? rhs : lhs;
    tile_value high = less == opposite ? lhs : rhs;
    const tile_type *type = tile_value_type(s->f, low);
    if (type->kind != TILE_TYPE_TILE || type->scalar != TILE_i32) return false;
    *m = (mask){.value = tile_op_result(s->f, op, 0), .high = high, .margin = equal != opposite};
    return add_value(s, low, 1, MASK_DEPTH, &m->low) && m->low.variable == variable &&
           is_high(s, high, MASK_DEPTH);
}

bool mask_find(const mask_loop *s, tile_op op, int64_t variable, mask *m) {
    return find(s, op, variable, false, m);
}

bool mask_find_opposite(const mask_loop *s, tile_op op, mask *m) {
    return find(s, op, 1, true, m);
}

tile_value mask_int64(tile_function *f, int64_t value) {
    tile_context *context = tile_function_context(f);
    return tile_function_constant(f, tile_type_scalar(context, TILE_i64),
                                  tile_expr_int(context, value));
}

tile_value mask_widen(tile_function *f, tile_builder *b, tile_value value) {
    return tile_build_cast(b, value, tile_type_scalar(tile_function_context(f), TILE_i64));
}

static tile_value build_sum(tile_function *f, tile_builder *b, const mask_sum *from) {
    tile_value all = mask_int64(f, 0);
    for (unsigned i = 0; i < from->count; i++) {
        tile_value term = mask_widen(f, b, from->terms[i]);
        all = from->signs[i] > 0 ? tile_build_add(b, all, term) : tile_build_sub(b, all, term);
    }
    return all;
}

/* 3. Bounds ----------------------------------------------------------------------------------- */

/* The mask whose bound is built, for variables from begin on. */
typedef struct bounded {
    const mask_loop *loop;
    tile_builder *b;
    const mask *m;
    tile_value begin, end; /* end: exclusive; none if the mask must hold for all elements */
} bounded;

/* Builds an i1: all elements of both sides fit in 32 bits. Below the bound the smaller side is less
 * than the larger one, so its upper end need not be checked then. Computed in 64 bits without
 * overflow. */
static tile_value build_fits(const bounded *w, tile_value low, tile_value most, tile_value least) {
    tile_function *f = w->loop->f;
    tile_builder *b = w->b;
    const mask_sum *side = &w->m->low;
    tile_value first =
        tile_build_add(b, tile_build_add(b, low, mask_int64(f, side->least)), w->begin);
    if (w->end.id) {
        tile_value last = tile_build_add(b, low, mask_int64(f, side->most - 1));
        most = tile_build_max(b, most, tile_build_add(b, last, w->end));
    }
    return tile_build_and(
        b, tile_build_le(b, most, mask_int64(f, INT32_MAX)),
        tile_build_ge(b, tile_build_min(b, least, first), mask_int64(f, INT32_MIN)));
}

static tile_value build_bound_of_sum(const bounded *w, tile_value side) {
    mask_sum from = {0};
    const mask *m = w->m;
    tile_builder *b = w->b;
    tile_function *f = w->loop->f;
    add_value(w->loop, side, 1, MASK_DEPTH, &from);
    tile_value low = build_sum(f, b, &m->low), high = build_sum(f, b, &from);
    tile_value most = tile_build_add(b, high, mask_int64(f, from.most));
    tile_value least = tile_build_add(b, high, mask_int64(f, from.least));
    tile_value fits = build_fits(w, low, most, least);
    int64_t margin = m->margin - (w->end.id ? m->low.least : m->low.most);
    tile_value from_low = tile_build_sub(b, w->end.id ? most : least, low);
    tile_value bound = tile_build_add(b, from_low, mask_int64(f, margin));
    return tile_build_select(b, fits, bound, mask_int64(f, w->end.id ? INT32_MAX : INT32_MIN));
}

/* The bound of a minimum is the smaller one of the two bounds, that of a maximum the larger one. */
static tile_value build_bound(const bounded *w, tile_value side, unsigned depth) {
    tile_op def;
    tile_function *f = w->loop->f;
    side_kind kind = find_side(w->loop, &side, &def);
    if (kind == SIDE_SUM || !depth || tile_value_type(f, side)->kind != TILE_TYPE_TILE)
        return build_bound_of_sum(w, side);
    unsigned first = kind == SIDE_SELECT;
    tile_value x = build_bound(w, tile_op_operand(f, def, first), depth - 1),
               y = build_bound(w, tile_op_operand(f, def, first + 1), depth - 1);
    if (kind == SIDE_MIN) return tile_build_min(w->b, x, y);
    if (kind == SIDE_MAX) return tile_build_max(w->b, x, y);
    tile_value condition = find_condition(w->loop, tile_operand_condition(f, def));
    return tile_build_select(w->b, condition, x, y);
}

tile_value mask_build_all(const mask_loop *loop, tile_builder *b, tile_value begin, const mask *m) {
    const bounded w = {loop, b, m, begin, TILE_NO_VALUE};
    return build_bound(&w, m->high, MASK_DEPTH);
}

tile_value mask_build_none(const mask_loop *loop, tile_builder *b, tile_value begin, tile_value end,
                           const mask *m) {
    const bounded w = {loop, b, m, begin, end};
    return build_bound(&w, m->high, MASK_DEPTH);
}
