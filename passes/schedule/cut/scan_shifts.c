/* Exclusive scans that are written as a scan and a shift by one element:
 *
 *     concat(0, slice(scan(x), [0] : [n - 1]))     the scan's result is shifted
 *     scan(concat(0, slice(x, [0] : [n - 1])))     its source is
 *     exclusive scan(concat(slice(x, [0] : [n - 1]), z))    the last element has no effect
 *
 * 0 is the identity of the kind. A reverse scan is shifted in the other direction. */
#include "passes/schedule/cut/scans.h"

/* Returns whether the value consists of the identity of the scan's kind. */
static bool is_identity(schedule *s, tile_value value, tile_word kind) {
    int64_t integer;
    tile_scalar scalar = sched_element(s, value)->scalar;
    const tile_expr *number = scans_number(s, value);
    if (!scalar || !number) return false;
    bool is_integer = tile_expr_is_int(number, &integer);
    if (!tile_scalar_is_floating(scalar))
        return is_integer && integer == tile_kind_integer_identity(kind, scalar);
    return (is_integer ? (double)integer : number->number) == tile_kind_identity(kind) &&
           (is_integer || number->kind == TILE_EXPR_FLOAT);
}

/* The source of a slice that lacks one element along the axis: the first one, or the last. */
static tile_value source_of_part(schedule *s, tile_value part, unsigned axis, bool first) {
    tile_op op = scans_def(s, part, TILE_OP_slice);
    if (!op.id) return TILE_NO_VALUE;
    tile_value src = tile_operand_src(s->compute, op);
    const tile_values starts = tile_operands_first(s->compute, op);
    const tile_type *from = sched_type(s, src), *to = sched_type(s, part);
    for (unsigned d = 0; d < from->rank; d++) {
        const tile_expr *whole = sched_dim(s, from, d), *size = sched_dim(s, to, d);
        bool cut = d == axis;
        if (cut)
            size = tile_expr_op(s->context, TILE_OP_add, size, tile_expr_int(s->context, 1), NULL);
        if (!tile_value_is(s->compute, starts.at[d], cut && first) ||
            !tile_extents_equal(s->context, size, whole))
            return TILE_NO_VALUE;
    }
    return src;
}

/* The parts of a concat of one element and all others along the axis. last: the one element is the
 * last. False if the value is no such concat. */
static bool find_parts(schedule *s, tile_value value, unsigned axis, bool last, tile_value *one,
                       tile_value *others) {
    tile_op op = scans_def(s, value, TILE_OP_concat);
    if (!op.id || tile_op_operand_count(s->compute, op) != 2 || sched_axis(s, op) != axis)
        return false;
    *one = tile_op_operand(s->compute, op, last);
    *others = tile_op_operand(s->compute, op, !last);
    return tile_expr_is(sched_dim(s, sched_type(s, *one), axis), 1);
}

static tile_value exclusive(schedule *s, tile_op at, tile_op scan, tile_value src) {
    scan_traits traits;
    tile_builder b = scans_builder(s, at);
    scans_read(s, scan, &traits);
    traits.exclusive = true;
    return scans_build(s, &b, scan, src, &traits);
}

/* The concat's other part is a slice of an inclusive scan. */
static tile_value from_result(schedule *s, tile_op op) {
    scan_traits traits;
    tile_value one, others, result = tile_op_result(s->compute, op, 0);
    int64_t axis = sched_axis(s, op);
    for (unsigned reverse = 0; reverse < 2 && axis >= 0; reverse++) {
        if (!find_parts(s, result, (unsigned)axis, reverse, &one, &others)) continue;
        tile_value whole = source_of_part(s, others, (unsigned)axis, reverse);
        tile_op scan = whole.id ? scans_def(s, whole, TILE_OP_scan) : TILE_NO_OP;
        if (!scan.id || !scans_read(s, scan, &traits) || traits.exclusive || traits.axis != axis ||
            traits.reverse != reverse || sched_type(s, whole) != sched_type(s, result) ||
            !is_identity(s, one, traits.kind))
            continue;
        return exclusive(s, op, scan, tile_operand_src(s->compute, scan));
    }
    return TILE_NO_VALUE;
}

/* The scan's source is a concat. An exclusive scan ignores the element that it reaches last. */
static tile_value from_source(schedule *s, tile_op op) {
    scan_traits traits;
    tile_value one, others, src = tile_operand_src(s->compute, op);
    if (!scans_read(s, op, &traits)) return TILE_NO_VALUE;
    bool last = traits.reverse != traits.exclusive;
    if (!find_parts(s, src, traits.axis, last, &one, &others)) return TILE_NO_VALUE;
    tile_value whole = source_of_part(s, others, traits.axis, traits.reverse);
    if (!whole.id || sched_type(s, whole) != sched_type(s, src)) return TILE_NO_VALUE;
    if (!traits.exclusive && !is_identity(s, one, traits.kind)) return TILE_NO_VALUE;
    return exclusive(s, op, op, whole);
}

tile_value scans_from_shift(schedule *s, tile_op op) {
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_concat: return from_result(s, op);
    case TILE_OP_scan: return from_source(s, op);
    default: return TILE_NO_VALUE;
    }
}
