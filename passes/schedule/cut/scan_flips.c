/* Reverse scans that are written as a scan between two flips, which are gathers:
 *
 *     %i = 4095 - iota(axis = 1)
 *     gather(scan_add(gather(%x, %i, axis = 1), axis = 1), %i, axis = 1)  ->
 *     scan_add(%x, axis = 1, reverse)
 *
 * A flip of an element-wise function is the function of flipped operands, a flip of a scan is a
 * scan of the flipped source in the other direction, and a flip of a flip is its source. A flip is
 * removed only if no flip remains. */
#include "passes/schedule/cut/scans.h"

#include "lib/ir/syntax.h"

/* by * coordinate + offset, along one axis. */
typedef struct index_form {
    int64_t by;
    const tile_expr *offset;
} index_form;

typedef struct flipper {
    schedule *s;
    tile_builder b;
    const uint32_t *uses;
    tile_value *flipped; /* by value: what has been built */
    unsigned scans;      /* scans that are reversed */
    unsigned visits;     /* values that may still be visited */
} flipper;

enum { VISITS = 512, DEPTH = 32 };

/* Indices -------------------------------------------------------------------------------------- */

static const tile_expr *compute(const schedule *s, tile_opcode opcode, const tile_expr *a,
                                const tile_expr *b) {
    return tile_expr_op(s->context, opcode, a, b, NULL);
}

static bool form_of(const schedule *s, tile_value value, unsigned axis, unsigned depth,
                    index_form *out);

static bool form_of_iota(const schedule *s, tile_op op, unsigned axis, index_form *out) {
    const tile_function *f = s->compute;
    const tile_attr *start = tile_op_attr(f, op, TILE_ATTR_start);
    bool along = sched_axis(s, op) == axis;
    int64_t step = tile_op_attr_int(f, op, TILE_ATTR_step, 1);
    if (!along || (tile_op_has_attr(f, op, TILE_ATTR_step) && step != 1 && step != -1))
        return false;
    *out = (index_form){step, start && start->expr ? start->expr : tile_expr_int(s->context, 0)};
    return true;
}

static bool form_of_broadcast(const schedule *s, tile_op op, unsigned axis, unsigned depth,
                              index_form *out) {
    tile_value src = tile_operand_src(s->compute, op);
    const tile_type *from = sched_type(s, src);
    const tile_type *to = sched_type(s, tile_op_result(s->compute, op, 0));
    unsigned before = to->rank - from->rank;
    return axis >= before && from->dims[axis - before] == to->dims[axis] &&
           form_of(s, src, axis - before, depth, out);
}

static bool form_of_operation(const schedule *s, tile_op op, unsigned axis, unsigned depth,
                              index_form *out) {
    const tile_function *f = s->compute;
    tile_opcode opcode = tile_op_opcode(f, op);
    const tile_expr *zero = tile_expr_int(s->context, 0);
    index_form forms[2] = {{0, zero}, {0, zero}};
    int64_t by;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        if (!form_of(s, tile_op_operand(f, op, i), axis, depth, &forms[i])) return false;
    const index_form a = forms[0], b = forms[1];
    switch (opcode) {
    case TILE_OP_add:
    case TILE_OP_sub:
        *out = (index_form){opcode == TILE_OP_add ? a.by + b.by : a.by - b.by,
                            compute(s, opcode, a.offset, b.offset)};
        return true;
    case TILE_OP_neg:
        *out = (index_form){-a.by, compute(s, TILE_OP_sub, b.offset, a.offset)};
        return true;
    case TILE_OP_mul:
        if (!a.by == !b.by || !tile_expr_is_int(a.by ? b.offset : a.offset, &by) ||
            (by != 1 && by != -1))
            return false;
        *out = (index_form){(a.by ? a.by : b.by) * by, compute(s, opcode, a.offset, b.offset)};
        return true;
    case TILE_OP_cast: *out = a; return true;
    default: return false;
    }
}

static bool form_of(const schedule *s, tile_value value, unsigned axis, unsigned depth,
                    index_form *out) {
    const tile_function *f = s->compute;
    tile_op op = tile_value_def(f, value);
    const tile_value_data *data = tile_value_at(f, value);
    if (!op.id) {
        bool number =
            data->kind == TILE_VALUE_CONSTANT && data->expr && data->expr->kind != TILE_EXPR_FLOAT;
        *out = (index_form){0, data->expr};
        return number;
    }
    if (!depth) return false;
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_splat: return form_of(s, tile_operand_src(f, op), axis, depth - 1, out);
    case TILE_OP_iota: return form_of_iota(s, op, axis, out);
    case TILE_OP_broadcast: return form_of_broadcast(s, op, axis, depth - 1, out);
    case TILE_OP_add:
    case TILE_OP_sub:
    case TILE_OP_neg:
    case TILE_OP_mul:
    case TILE_OP_cast: return form_of_operation(s, op, axis, depth - 1, out);
    default: return false;
    }
}

/* Returns whether the gather reads its axis from the last element to the first. */
static bool is_flip(schedule *s, tile_op op, unsigned *axis) {
    const tile_function *f = s->compute;
    index_form form;
    if (!op.id || tile_op_opcode(f, op) != TILE_OP_gather || sched_axis(s, op) < 0) return false;
    tile_value src = tile_operand_src(f, op), at = tile_operand_at(f, op);
    const tile_type *type = sched_type(s, src);
    *axis = (unsigned)sched_axis(s, op);
    if (sched_type(s, tile_op_result(f, op, 0)) != type || *axis >= type->rank ||
        sched_type(s, at)->rank != type->rank || !form_of(s, at, *axis, DEPTH, &form))
        return false;
    const tile_expr *one = tile_expr_int(s->context, 1);
    const tile_expr *end = compute(s, TILE_OP_sub, type->dims[*axis], one);
    return form.by == -1 &&
           tile_extents_equal(s->context, sched_resolved(s, form.offset), sched_resolved(s, end));
}

/* Flips ---------------------------------------------------------------------------------------- */

static bool has_one(schedule *s, tile_value value, unsigned axis) {
    const tile_type *type = sched_type(s, value);
    return type->kind != TILE_TYPE_TENSOR || tile_expr_is(sched_dim(s, type, axis), 1);
}

static bool can_flip(flipper *w, tile_value value, unsigned axis, unsigned depth);

static bool can_flip_operands(flipper *w, tile_op op, unsigned axis, unsigned depth) {
    for (unsigned i = 0; i < tile_op_operand_count(w->s->compute, op); i++)
        if (!can_flip(w, tile_op_operand(w->s->compute, op, i), axis, depth)) return false;
    return true;
}

/* Another use would compute a scan in both directions. */
static bool can_flip_operation(flipper *w, tile_op op, unsigned axis, unsigned depth) {
    const tile_function *f = w->s->compute;
    tile_opcode opcode = tile_op_opcode(f, op);
    unsigned scans = w->scans;
    bool scan = opcode == TILE_OP_scan;
    w->scans += scan;
    if (scan ? !can_flip(w, tile_operand_src(f, op), axis, depth)
             : !tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE) ||
                   !can_flip_operands(w, op, axis, depth))
        return false;
    return w->scans == scans || w->uses[tile_op_result(f, op, 0).id] == 1;
}

static bool can_flip(flipper *w, tile_value value, unsigned axis, unsigned depth) {
    schedule *s = w->s;
    unsigned own;
    tile_op op = tile_value_def(s->compute, value);
    if (has_one(s, value, axis)) return true;
    if (!op.id || !depth || !w->visits) return false;
    w->visits--;
    if (is_flip(s, op, &own)) return own == axis;
    if (tile_op_opcode(s->compute, op) == TILE_OP_splat) return true;
    if (tile_op_opcode(s->compute, op) == TILE_OP_broadcast) {
        tile_value src = tile_operand_src(s->compute, op);
        unsigned before = sched_type(s, value)->rank - sched_type(s, src)->rank;
        return axis < before || can_flip(w, src, axis - before, depth - 1);
    }
    return can_flip_operation(w, op, axis, depth - 1);
}

static tile_value flip(flipper *w, tile_value value, unsigned axis);

/* Copies the operation with flipped operands. The map is by value id. */
static tile_value flip_operation(flipper *w, tile_op op, unsigned axis) {
    tile_function *f = w->s->compute;
    tile_value *map = TILE_NEW_ARRAY(w->s->arena, tile_value, f->value_count);
    size_t count = f->value_count;
    unsigned operands = tile_op_operand_count(f, op);
    for (unsigned i = 0; i < operands; i++) {
        tile_value from = tile_op_operand(f, op, i);
        if (sched_is_tensor(w->s, from)) map[from.id] = flip(w, from, axis);
    }
    return tile_op_result(f, tile_clone_op(&w->b, op, map, count), 0);
}

static tile_value flip_broadcast(flipper *w, tile_op op, unsigned axis) {
    schedule *s = w->s;
    tile_value src = tile_operand_src(s->compute, op), result = tile_op_result(s->compute, op, 0);
    unsigned before = sched_type(s, result)->rank - sched_type(s, src)->rank;
    if (axis < before || has_one(s, src, axis - before)) return result;
    tile_value made = flip(w, src, axis - before);
    return tile_build_broadcast(&w->b, made, sched_type(s, result));
}

static tile_value flip_scan(flipper *w, tile_op op, unsigned axis) {
    scan_traits traits;
    scans_read(w->s, op, &traits);
    tile_value src = flip(w, tile_operand_src(w->s->compute, op), axis);
    if (traits.axis == axis) traits.reverse = !traits.reverse;
    return scans_build(w->s, &w->b, op, src, &traits);
}

static tile_value flip(flipper *w, tile_value value, unsigned axis) {
    schedule *s = w->s;
    unsigned own;
    tile_op op = tile_value_def(s->compute, value);
    if (has_one(s, value, axis)) return value;
    if (w->flipped[value.id].id) return w->flipped[value.id];
    tile_value made = value;
    if (is_flip(s, op, &own))
        made = tile_operand_src(s->compute, op);
    else if (tile_op_opcode(s->compute, op) == TILE_OP_broadcast)
        made = flip_broadcast(w, op, axis);
    else if (tile_op_opcode(s->compute, op) == TILE_OP_scan)
        made = flip_scan(w, op, axis);
    else if (tile_op_opcode(s->compute, op) != TILE_OP_splat)
        made = flip_operation(w, op, axis);
    w->flipped[value.id] = made;
    return made;
}

tile_value scans_from_flip(schedule *s, tile_op op, const uint32_t *uses) {
    unsigned axis;
    if (!is_flip(s, op, &axis)) return TILE_NO_VALUE;
    tile_value src = tile_operand_src(s->compute, op);
    flipper w = {.s = s, .b = scans_builder(s, op), .uses = uses, .visits = VISITS};
    if (!can_flip(&w, src, axis, DEPTH)) return TILE_NO_VALUE;
    w.flipped = TILE_NEW_ARRAY(s->arena, tile_value, s->compute->value_count);
    return flip(&w, src, axis);
}
