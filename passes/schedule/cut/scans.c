/* Recognizes scans that a compute writes with other operations.
 *
 *     concat(0, slice(scan_add(x), [0] : [n - 1]))          exclusive   (scan_shifts.c)
 *     scan_add(concat(0, slice(x, [0] : [n - 1])))          exclusive
 *     flip(scan_add(flip(x)))                               reverse     (scan_flips.c)
 *     scan of chunks + exclusive scan of their totals       one scan    (scan_chunks.c)
 *     scan_add(transpose(x)), transpose(scan_add(x))        along another axis (scan_transposes.c)
 *
 * Each of these would be several kernels, which exchange whole arrays in memory. A scan is one
 * kernel, which reads and writes each element once. The functions change a copy of the compute,
 * because the compute is the reference for what is generated from it. */
#include "passes/schedule/cut/scans.h"

#include "lib/ir/syntax.h"
#include "lib/ops/reduce.h"

tile_op scans_def(const schedule *s, tile_value value, tile_opcode opcode) {
    tile_op op = tile_value_def(s->compute, value);
    return op.id && tile_op_opcode(s->compute, op) == opcode ? op : TILE_NO_OP;
}

bool scans_read(const schedule *s, tile_op op, scan_traits *traits) {
    int64_t axis = op.id ? sched_axis(s, op) : -1;
    if (axis < 0 || tile_op_opcode(s->compute, op) != TILE_OP_scan) return false;
    const tile_scan scan = tile_scan_of(s->compute, op);
    *traits = (scan_traits){(unsigned)axis, scan.kind, scan.reverse, scan.exclusive};
    return scan.kind && axis < sched_type(s, tile_op_result(s->compute, op, 0))->rank;
}

tile_builder scans_builder(const schedule *s, tile_op op) {
    tile_builder b = tile_builder_before(s->compute, op);
    b.loc = tile_op_loc(s->compute, op);
    return b;
}

tile_value scans_build(const schedule *s, tile_builder *b, tile_op like, tile_value src,
                       const scan_traits *traits) {
    tile_function *f = s->compute;
    const tile_attr axis = {.id = TILE_ATTR_axis,
                            .expr = tile_expr_int(s->context, (int64_t)traits->axis)};
    const tile_segment segments[] = {{src, NULL, 0}, {TILE_NO_VALUE, NULL, 0}};
    tile_op op = tile_build_op_of(b, TILE_OP_scan, segments, 2, NULL, &axis, 1);
    if (!op.id) return TILE_NO_VALUE;
    tile_op_take_attr(f, op, f, like, TILE_ATTR_kind);
    tile_op_set_int(f, op, TILE_ATTR_axis, (int64_t)traits->axis);
    if (traits->reverse) tile_op_set_flag(f, op, TILE_ATTR_reverse);
    if (traits->exclusive) tile_op_set_flag(f, op, TILE_ATTR_exclusive);
    if (sched_type(s, src)->rank == sched_type(s, tile_op_result(f, like, 0))->rank) {
        tile_op_take_attr(f, op, f, like, TILE_ATTR_tile);
        tile_op_take_attr(f, op, f, like, TILE_ATTR_warps);
    }
    return tile_op_result(f, op, 0);
}

/* Numbers and elements ------------------------------------------------------------------------- */

const tile_expr *scans_number(const schedule *s, tile_value value) {
    for (;;) {
        tile_op op = tile_value_def(s->compute, value);
        const tile_value_data *data = tile_value_at(s->compute, value);
        if (!op.id) return data->kind == TILE_VALUE_CONSTANT ? data->expr : NULL;
        tile_opcode opcode = tile_op_opcode(s->compute, op);
        if (opcode != TILE_OP_splat && opcode != TILE_OP_broadcast && opcode != TILE_OP_reshape)
            return NULL;
        value = tile_operand_src(s->compute, op);
    }
}

static tile_value without_reshapes(const schedule *s, tile_value value) {
    tile_op op;
    while ((op = scans_def(s, value, TILE_OP_reshape)).id) value = tile_operand_src(s->compute, op);
    return value;
}

static bool same_attr(const tile_attr *a, const tile_attr *b) {
    return a->id == b->id && a->type == b->type && a->expr == b->expr && a->text == b->text &&
           a->count == b->count && !a->list && !b->list;
}

static bool same_operation(const tile_function *f, tile_op a, tile_op b) {
    const tile_op_data *x = tile_op_at(f, a), *y = tile_op_at(f, b);
    bool same = x->opcode == y->opcode && x->operand_count == y->operand_count &&
                x->attr_count == y->attr_count;
    for (unsigned i = 0; same && i < x->attr_count; i++)
        same = same_attr(&x->attrs[i], &y->attrs[i]);
    return same;
}

enum { DEPTH = 16, VISITS = 256 };

/* visits: how many values may still be compared, because operations may share operands. */
static bool same_elements(schedule *s, tile_value a, tile_value b, unsigned depth,
                          unsigned *visits) {
    const tile_function *f = s->compute;
    a = without_reshapes(s, a);
    b = without_reshapes(s, b);
    if (a.id == b.id) return true;
    if (!depth || !*visits) return false;
    --*visits;
    if (sched_element(s, a) != sched_element(s, b)) return false;
    if (scans_number(s, a)) return scans_number(s, a) == scans_number(s, b);
    tile_op op = tile_value_def(f, a), other = tile_value_def(f, b);
    if (!op.id || !other.id || !same_operation(f, op, other) ||
        !tile_op_has_trait(tile_op_opcode(f, op), TILE_TRAIT_ELEMENTWISE) ||
        tile_op_opcode(f, op) == TILE_OP_splat)
        return false;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        if (!same_elements(s, tile_op_operand(f, op, i), tile_op_operand(f, other, i), depth - 1,
                           visits))
            return false;
    return true;
}

bool scans_same_elements(schedule *s, tile_value a, tile_value b) {
    unsigned visits = VISITS;
    return same_elements(s, a, b, DEPTH, &visits);
}

/* The compute ---------------------------------------------------------------------------------- */

static bool has_scans(const tile_function *f) {
    TILE_FOR_EACH_OP (f, op, f->body)
        if (tile_op_opcode(f, op) == TILE_OP_scan) return true;
    return false;
}

/* By value; the compute's results count as uses. */
static uint32_t *count_uses(const schedule *s) {
    const tile_function *f = s->compute;
    uint32_t *uses = tile_count_uses(f, s->arena);
    for (size_t i = 0; i < f->result_count; i++) uses[f->results[i].value.id]++;
    return uses;
}

/* Erases operations whose results are unused. */
static void erase_unused(schedule *s, tile_op last) {
    tile_function *f = s->compute;
    uint32_t *left = count_uses(s);
    for (tile_op op = last, before; op.id; op = before) {
        bool unused = !tile_op_at(f, op)->region_count && tile_op_result_count(f, op);
        before = tile_op_at(f, op)->prev;
        for (unsigned i = 0; i < tile_op_result_count(f, op); i++)
            unused &= !left[tile_op_result(f, op, i).id];
        if (!unused) continue;
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
            left[tile_op_operand(f, op, i).id]--;
        tile_erase_op(f, op);
    }
}

/* A reshape of a reshape to the type of the first one's operand. */
static tile_value without_detour(const schedule *s, tile_op op) {
    if (tile_op_opcode(s->compute, op) != TILE_OP_reshape) return TILE_NO_VALUE;
    tile_op inner = scans_def(s, tile_operand_src(s->compute, op), TILE_OP_reshape);
    if (!inner.id) return TILE_NO_VALUE;
    tile_value from = tile_operand_src(s->compute, inner);
    bool same = sched_type(s, from) == sched_type(s, tile_op_result(s->compute, op, 0));
    return same ? from : TILE_NO_VALUE;
}

static tile_value rewrite(schedule *s, tile_op op, bool *found) {
    tile_value to = scans_from_chunks(s, op);
    if (!to.id) to = scans_from_shift(s, op);
    if (!to.id) to = scans_from_flip(s, op, count_uses(s));
    if (!to.id) to = scans_from_transpose(s, op, count_uses(s));
    *found |= to.id != 0;
    return to.id || !*found ? to : without_detour(s, op);
}

void sched_find_scans(schedule *s) {
    bool found = false;
    if (!has_scans(s->compute)) return;
    const tile_function *before = s->compute;
    sched_clone_compute(s);
    tile_function *f = s->compute;
    for (tile_op op = tile_region_at(f, f->body)->first, next; op.id && !s->failed; op = next) {
        next = tile_op_at(f, op)->next;
        tile_value to = rewrite(s, op, &found);
        if (!to.id) continue;
        tile_value *map = TILE_NEW_ARRAY(s->arena, tile_value, f->value_count);
        map[tile_op_result(f, op, 0).id] = to;
        tile_replace_values(f, f->body, map);
        next = tile_op_at(f, op)->next;
        tile_erase_op(f, op);
        /* What replaced the operation may be a part of another scan. */
        tile_op made = tile_value_def(f, to);
        if (made.id && tile_op_at(f, made)->next.id == next.id) next = made;
    }
    if (found)
        erase_unused(s, tile_region_at(f, f->body)->last);
    else
        s->compute = (tile_function *)(uintptr_t)before;
}
