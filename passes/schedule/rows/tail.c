/* Elements after the end of rows, and whether they affect the result: see rows.c. */
#include "passes/schedule/rows/rows.h"

#include <math.h>

#include "lib/ir/syntax.h"
#include "lib/ir/arith.h"

bool rows_ignores_nan(const rows *r, size_t index) {
    if (sched_is_along(r->k.s, r->k.g->reductions[index])) return false;
    if (rows_propagates_nan(r, index)) return false;
    tile_word kind = rows_kind(r, index);
    return tile_scalar_is_floating(rows_type(r, index)->scalar) &&
           (kind == TILE_WORD_kind_min || kind == TILE_WORD_kind_max);
}

/* The value of an element after the end. */
typedef struct tail_value {
    bool known;
    bool same; /* unknown, but constant along the row */
    double value;
} tail_value;

/* Analysis results by value, for the current pad of loads. */
typedef struct known_tail {
    uint32_t before; /* (sched_last_entries) */
    sched_map map;
    tail_value is;
} known_tail;

struct rows_tail_values {
    sched_last_entries latest;
    known_tail *items;
    size_t count, capacity;
};

static tail_value tail_of(rows *r, tile_value value, const sched_map *map);

/* The value that a load gives after the end: its pad, or 0 for types without arithmetic
 * (kernel/memory.c). */
static tail_value tail_of_array(rows *r, tile_value value, const sched_map *map) {
    schedule *s = r->k.s;
    sched_map at = *map;
    sched_shape shape = sched_find_shape(s, value);
    sched_merge_shape(s, &shape, &at);
    const tile_type *type = shape.type;
    tile_scalar scalar = sched_element(s, value)->scalar;
    bool padded = tile_scalar_is_floating(scalar) && tile_scalar_has_arithmetic(scalar);
    bool computed = sched_is_computed(type->rank, &at);
    for (unsigned d = 0; d < type->rank; d++) {
        if (!sched_depends(&at.at[d], r->axis)) continue;
        bool ends =
            !computed && !at.at[d].offset && sched_same_extent(s, sched_dim(s, type, d), r->extent);
        return (tail_value){.known = ends, .value = padded ? r->k.pad : 0};
    }
    return (tail_value){.same = true};
}

/* The index of the reduction of this row; -1 if there is none, or if it has a result for each
 * element. */
static int reduction_of_row(rows *r, tile_value value, const sched_map *map) {
    int reduction = rows_reduction_index(r, value);
    bool along = reduction >= 0 && sched_is_along(r->k.s, r->k.g->reductions[reduction]);
    unsigned rank = reduction >= 0 ? sched_type(r->k.s, value)->rank : 0;
    for (unsigned d = 0; d < rank && !along; d++)
        if (sched_depends(&map->at[d], r->axis)) return -1;
    return reduction;
}

/* The maximum or minimum is only subtracted from its own row. If it is infinite, so that the
 * difference after the end is NaN, the row itself also has a NaN difference. */
static bool is_own_extreme(rows *r, tile_op op, const sched_map *map) {
    schedule *s = r->k.s;
    sched_mapped_value row = sched_skip_broadcasts(s, sched_mapped_operand(s, op, 1, map));
    int reduction = reduction_of_row(r, row.value, &row.map);
    return reduction >= 0 && rows_may_be_infinite(r, (size_t)reduction);
}

/* Returns whether attributes do not change the value at x: none, or `fast` of an exponential, which
 * is exactly 0 at -inf. */
static bool is_exact_at(const tile_function *f, tile_op op, double x) {
    tile_opcode opcode = tile_op_opcode(f, op);
    if (!tile_op_at(f, op)->attr_count) return true;
    return (opcode == TILE_OP_exp || opcode == TILE_OP_exp2) && isinf(x) && x < 0 &&
           tile_op_at(f, op)->attr_count == 1 && tile_op_has_attr(f, op, TILE_ATTR_fast);
}

/* Nothing is known about infinities except for exp and for values that are subtracted. */
static tail_value tail_of_elementwise(rows *r, tile_op op, const sched_map *map) {
    schedule *s = r->k.s;
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    unsigned count = tile_op_operand_count(s->compute, op);
    tail_value operands[3], result = {.same = true};
    bool all = count > 0 && count <= 3;
    for (unsigned i = 0; i < count && i < 3; i++) {
        sched_map at = sched_operand_map(s, op, 0, i, map);
        operands[i] = tail_of(r, tile_op_operand(s->compute, op, i), &at);
        result.same &= operands[i].same;
        all &= operands[i].known;
    }
    const tile_type *from = sched_element(s, tile_first_operand(s->compute, op));
    const tile_type *to = sched_element(s, tile_op_result(s->compute, op, 0));
    bool floats = tile_scalar_is_floating(from->scalar) && tile_scalar_is_floating(to->scalar);
    floats &= tile_scalar_has_arithmetic(to->scalar); /* otherwise infinities would become
                                                         numbers */
    if (!all && floats && opcode == TILE_OP_sub && operands[0].known && isinf(operands[0].value) &&
        is_own_extreme(r, op, map))
        return (tail_value){.known = true, .value = operands[0].value};
    if (!all || !floats || !is_exact_at(s->compute, op, operands[0].value)) return result;
    if (opcode == TILE_OP_cast || opcode == TILE_OP_splat)
        return (tail_value){true, result.same, operands[0].value};
    double x[3] = {0}, y;
    for (unsigned i = 0; i < count; i++) x[i] = operands[i].value;
    if (!tile_fold_float(opcode, TILE_f64, x[0], x[1], x[2], &y)) return result;
    return (tail_value){true, result.same, y};
}

static tail_value tail_of_constant(rows *r, tile_value value) {
    const tile_expr *expr = tile_value_at(r->k.s->compute, value)->expr;
    int64_t integer;
    if (expr->kind == TILE_EXPR_FLOAT) return (tail_value){true, true, expr->number};
    if (tile_expr_is_int(expr, &integer)) return (tail_value){true, true, (double)integer};
    return (tail_value){.same = true};
}

static tail_value find_tail(rows *r, tile_value value, const sched_map *map) {
    schedule *s = r->k.s;
    tile_op op = tile_value_def(s->compute, value);
    int array = sched_find_input(s, r->k.g, value);
    int reduction = reduction_of_row(r, value, map);
    if (reduction >= 0)
        return (tail_value){.same = !sched_is_along(s, r->k.g->reductions[reduction])};
    if (array >= 0) return tail_of_array(r, value, map);
    if (tile_value_at(s->compute, value)->kind == TILE_VALUE_CONSTANT)
        return tail_of_constant(r, value);
    if (!op.id) return (tail_value){.same = true};
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_broadcast:
    case TILE_OP_transpose:
    case TILE_OP_reshape: {
        sched_map at = sched_operand_map(s, op, 0, 0, map);
        return tail_of(r, tile_operand_src(s->compute, op), &at);
    }
    default: break;
    }
    if (tile_op_has_trait(tile_op_opcode(s->compute, op), TILE_TRAIT_ELEMENTWISE))
        return tail_of_elementwise(r, op, map);
    return (tail_value){.known = false};
}

/* Caches the result, because many values may depend on one. */
static tail_value tail_of(rows *r, tile_value value, const sched_map *map) {
    schedule *s = r->k.s;
    unsigned rank = sched_is_tensor(s, value) ? sched_type(s, value)->rank : 0;
    if (!r->tail_values) r->tail_values = TILE_NEW(s->arena, struct rows_tail_values);
    struct rows_tail_values *b = r->tail_values;
    for (uint32_t i = *sched_last_entry_of(s->arena, &b->latest, value); i;
         i = b->items[i - 1].before)
        if (sched_same_map(&b->items[i - 1].map, map, rank)) return b->items[i - 1].is;
    tail_value is = find_tail(r, value, map);
    uint32_t *latest = sched_last_entry_of(s->arena, &b->latest, value);
    b->items = tile_arena_grow(s->arena, b->items, b->count, &b->capacity, sizeof *b->items);
    b->items[b->count++] = (known_tail){*latest, *map, is};
    *latest = (uint32_t)b->count;
    return is;
}

bool rows_is_equal(const tile_function *f, tile_value a, tile_value b, unsigned depth) {
    tile_op x = tile_value_def(f, a), y = tile_value_def(f, b);
    if (a.id == b.id) return true;
    if (!x.id || !y.id || !depth || tile_op_opcode(f, x) != tile_op_opcode(f, y) ||
        tile_value_type(f, a) != tile_value_type(f, b) || tile_op_at(f, x)->attr_count ||
        tile_op_at(f, y)->attr_count || tile_op_operand_count(f, x) != tile_op_operand_count(f, y))
        return false;
    for (unsigned i = 0; i < tile_op_operand_count(f, x); i++)
        if (!rows_is_equal(f, tile_op_operand(f, x, i), tile_op_operand(f, y, i), depth - 1))
            return false;
    return true;
}

/* Returns whether every use subtracts the value from the array whose maximum it is. */
static bool is_only_subtracted(const schedule *s, tile_value value, tile_value source) {
    const tile_function *f = s->compute;
    for (size_t i = 0; i < f->result_count; i++)
        if (f->results[i].value.id == value.id) return false;
    TILE_FOR_EACH_OP (f, op, f->body)
        for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
            if (tile_op_operand(f, op, i).id != value.id) continue;
            tile_opcode opcode = tile_op_opcode(f, op);
            bool fits = opcode == TILE_OP_sub
                            ? i == 1 && rows_is_equal(f, tile_operand_lhs(f, op), source, 4)
                            : opcode == TILE_OP_broadcast &&
                                  is_only_subtracted(s, tile_op_result(f, op, 0), source);
            if (!fits) return false;
        }
    return true;
}

bool rows_may_be_infinite(rows *r, size_t index) {
    tile_value result = tile_op_result(r->k.s->compute, r->k.g->reductions[index], 0);
    if (!r->infinite) r->infinite = TILE_NEW_ARRAY(r->k.s->arena, uint8_t, r->k.g->reduction_count);
    uint8_t *known = &r->infinite[index];
    if (!*known)
        *known = 1 + (rows_ignores_nan(r, index) && !rows_returns_index(r, index) &&
                      is_only_subtracted(r->k.s, result, rows_source(r, index)));
    return *known - 1;
}

/* Returns whether no tile extends after the end of a row. */
static bool never_reaches_tail(const rows *r) {
    int64_t block;
    return r->one_element_along || (r->known > 0 && tile_expr_is_int(r->k.block[r->t], &block) &&
                                    r->known % (block * r->copies) == 0);
}

static bool has_flag(const rows *r, size_t index, tile_attr_id id) {
    return tile_op_has_attr(r->k.s->compute, r->k.g->reductions[index], id);
}

/* A forward scan is not affected by elements after the end. */
static bool is_scan_forward(const rows *r, size_t index) {
    return tile_op_opcode(r->k.s->compute, r->k.g->reductions[index]) == TILE_OP_scan &&
           !has_flag(r, index, TILE_ATTR_reverse);
}

bool rows_is_sort(const rows *r, size_t index) {
    return tile_op_opcode(r->k.s->compute, r->k.g->reductions[index]) == TILE_OP_sort;
}

/* Returns whether elements after the end do not affect the result. */
bool rows_tail_is_neutral(rows *r, size_t index) {
    if (is_scan_forward(r, index)) return true;
    if (rows_is_sort(r, index)) return never_reaches_tail(r);
    sched_map map = sched_identity(&r->k.g->domain);
    tail_value b = tail_of(r, rows_source(r, index), &map);
    if (never_reaches_tail(r)) return true;
    if (!b.known || !tile_scalar_is_floating(rows_type(r, index)->scalar)) return false;
    if (rows_ignores_nan(r, index) && isnan(b.value)) return true;
    double identity = tile_kind_identity(rows_kind(r, index));
    bool exact = !rows_ignores_nan(r, index) || rows_may_be_infinite(r, index);
    return exact && b.value == identity;
}

/* Chooses the pad of loads with which the most reductions need no select. */
void rows_choose_pad(rows *r) {
    const double pads[] = {0, -INFINITY, INFINITY, NAN};
    double best = 0;
    size_t most = 0;
    for (unsigned p = 0; p < 4; p++) {
        size_t count = 0;
        r->k.pad = pads[p];
        r->tail_values = NULL;
        for (size_t i = 0; i < r->k.g->reduction_count; i++) count += rows_tail_is_neutral(r, i);
        if (count > most) best = pads[p];
        if (count > most) most = count;
    }
    r->k.pad = best;
    r->tail_values = NULL;
}
