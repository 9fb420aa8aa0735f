/* Hidden elements of an online loop's rows: masks of the compute, and the end of the axis.
 *
 * A hidden element must have no effect: -inf does not change a maximum, and exp maps it to 0.
 * Coordinates after the end are hidden by the compute's own mask if it has one. Blocks at the start
 * and end in which all elements of all rows of a tile are hidden are skipped. A mask that shows
 * every coordinate up to a last one of the row becomes one comparison, whatever its original form,
 * and split-loops removes it from most blocks.
 *
 * Values at keys that no row of a batch and head sees may be NaN, and 0 times NaN is NaN. The
 * values are therefore truncated at the end of the loop, and the loop begins at the first key that
 * any row sees if that is above 0. Masks other than such bounds are handled by recompute.c. */
#include <math.h>

#include "passes/schedule/online/online_kernel.h"

#include "lib/ir/syntax.h"
#include "lib/ops/kinds.h"

static tile_opcode opcode_of(const schedule *s, tile_op op) {
    return tile_op_opcode(s->compute, op);
}

/* Returns whether the value varies between rows. */
static bool find_rows(schedule *s, const sched_online *o, sched_mapped_value at,
                      sched_visited_values *visits) {
    tile_op op = tile_value_def(s->compute, at.value);
    if (!sched_is_tensor(s, at.value) || !sched_visit_first(s, visits, at.value, &at.map))
        return false;
    if (!op.id || sched_array_of(s, at.value) >= 0 || !sched_is_inline(s, op)) {
        bool depends = false;
        for (unsigned d = 0; d < sched_type(s, at.value)->rank; d++)
            depends |= sched_depends(&at.map.at[d], o->m);
        return depends;
    }
    if (opcode_of(s, op) == TILE_OP_iota) return sched_depends(&at.map.at[sched_axis(s, op)], o->m);
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++)
        if (find_rows(s, o, sched_mapped_operand(s, op, i, &at.map), visits)) return true;
    return false;
}

static bool depends_on_rows(schedule *s, const sched_online *o, sched_mapped_value at) {
    sched_visited_values visits = {NULL, 0, 0, {NULL, 0, 0}};
    return find_rows(s, o, at, &visits);
}

/* Last coordinates ----------------------------------------------------------------------------- */

typedef struct bounds {
    sched_kernel *k;
    const sched_online *o;
    bool checks;     /* the result for one row must also hold for the others */
    tile_value safe; /* i1: no bound overflows between rows; 0: always */
} bounds;

/* last.id 0: none; exact: every coordinate up to last is visible. */
typedef struct bound {
    tile_value last;
    bool exact;
} bound;

static tile_value evaluate(bounds *b, const sched_mapped_value *at) {
    return sched_value(b->k, at->value, &at->map, tile_type_scalar(b->k->s->context, TILE_i32));
}

static bool varies(bounds *b, const sched_mapped_value *at) {
    if (!sched_is_tensor(b->k->s, at->value)) return false;
    return sched_form_of(b->k->s, b->o, at->value, &at->map) != SCHED_INVARIANT;
}

/* Returns whether the value is the coordinate along n. */
static bool is_key(bounds *b, sched_mapped_value at) {
    schedule *s = b->k->s;
    at = sched_skip_broadcasts(b->k->s, at);
    tile_op op = tile_value_def(s->compute, at.value);
    int64_t number;
    if (!op.id || opcode_of(s, op) != TILE_OP_iota ||
        sched_element(s, at.value)->scalar != TILE_i32)
        return false;
    const tile_attr *start = tile_op_attr(s->compute, op, TILE_ATTR_start);
    const tile_attr *step = tile_op_attr(s->compute, op, TILE_ATTR_step);
    const sched_coordinate *place = &at.map.at[sched_axis(s, op)];
    return place->dim == (int)b->o->n && !place->index && !place->offset &&
           (!start || (tile_expr_is_int(start->expr, &number) && !number)) &&
           (!step || tile_expr_is(step->expr, 1));
}

static sched_mapped_value strip_splat(bounds *b, sched_mapped_value at) {
    schedule *s = b->k->s;
    at = sched_skip_broadcasts(b->k->s, at);
    tile_op op = tile_value_def(s->compute, at.value);
    return op.id && opcode_of(s, op) == TILE_OP_splat ? sched_mapped_operand(s, op, 0, &at.map)
                                                      : at;
}

/* Checks that a value added to rows is small. */
static void check_small(bounds *b, const sched_mapped_value *at) {
    tile_builder *to = &b->k->b;
    const tile_value_data *data = tile_value_at(b->k->s->compute, at->value);
    if (data->kind == TILE_VALUE_CONSTANT && sched_is_small(b->k->s, data->expr)) return;
    tile_value value = evaluate(b, at);
    tile_value above = tile_build_ge(to, value, tile_build_int(to, -SCHED_SMALL));
    tile_value below = tile_build_le(to, value, tile_build_int(to, SCHED_SMALL));
    tile_value small = tile_build_and(to, below, above);
    b->safe = b->safe.id ? tile_build_and(to, b->safe, small) : small;
}

/* Checks a bound that grows with the row: it must not overflow. */
static void check_bound(bounds *b, sched_mapped_value at) {
    schedule *s = b->k->s;
    at = sched_skip_broadcasts(b->k->s, at);
    tile_op op = tile_value_def(s->compute, at.value);
    if (!b->checks || !sched_is_tensor(s, at.value) || !op.id || !sched_is_inline(s, op)) return;
    bool adds = opcode_of(s, op) == TILE_OP_add || opcode_of(s, op) == TILE_OP_sub;
    if (!adds && opcode_of(s, op) != TILE_OP_min && opcode_of(s, op) != TILE_OP_max) return;
    for (unsigned i = 0; i < 2; i++) {
        sched_mapped_value part = strip_splat(b, sched_mapped_operand(s, op, i, &at.map));
        if (depends_on_rows(s, b->o, part))
            check_bound(b, part);
        else if (adds)
            check_small(b, &part);
    }
}

/* For a <= b, or a < b (less). */
static bound find_compared(bounds *b, sched_mapped_value small, sched_mapped_value large,
                           bool less) {
    tile_builder *to = &b->k->b;
    const bound none = {TILE_NO_VALUE, false};
    if (!is_key(b, small) || varies(b, &large) ||
        sched_element(b->k->s, large.value)->scalar != TILE_i32)
        return none;
    check_bound(b, large);
    tile_value last = evaluate(b, &large);
    if (less)
        last = tile_build_sub(to, tile_build_max(to, last, tile_build_int(to, 0)),
                              tile_build_int(to, 1));
    return (bound){last, true};
}

static bound find_bound(bounds *b, sched_mapped_value at);
static bool is_growing(schedule *s, const sched_online *o, sched_mapped_value at);

/* For a condition that is true or false for whole rows. */
static bound of_row(bounds *b, const sched_mapped_value *at, tile_value otherwise) {
    tile_builder *to = &b->k->b;
    const tile_type *boolean = tile_type_scalar(b->k->s->context, TILE_i1);
    tile_value seen = sched_value(b->k, at->value, &at->map, boolean);
    if (!seen.id) return (bound){TILE_NO_VALUE, false};
    return (bound){tile_build_select(to, seen, tile_build_int(to, INT32_MAX), otherwise), true};
}

/* For an operand of an `and`. The last row may stand for the others only if the bound grows. */
static bound find_one_of_both(bounds *b, sched_mapped_value at) {
    if (b->checks && !is_growing(b->k->s, b->o, at)) return (bound){TILE_NO_VALUE, false};
    return find_bound(b, at);
}

static bound find_both(bounds *b, tile_op op, const sched_map *map) {
    bound x = find_one_of_both(b, sched_mapped_operand(b->k->s, op, 0, map));
    bound y = find_one_of_both(b, sched_mapped_operand(b->k->s, op, 1, map));
    if (x.last.id && y.last.id)
        return (bound){tile_build_min(&b->k->b, x.last, y.last), x.exact && y.exact};
    return (bound){x.last.id ? x.last : y.last, false};
}

static bound find_either(bounds *b, tile_op op, const sched_map *map) {
    for (unsigned i = 0; i < 2; i++) {
        sched_mapped_value row = sched_mapped_operand(b->k->s, op, i, map);
        if (varies(b, &row)) continue;
        bound other = find_bound(b, sched_mapped_operand(b->k->s, op, 1 - i, map));
        if (!other.last.id) return other;
        return (bound){of_row(b, &row, other.last).last, other.exact};
    }
    return (bound){TILE_NO_VALUE, false};
}

/* The last coordinate at which a row may see elements. */
static bound find_bound(bounds *b, sched_mapped_value at) {
    schedule *s = b->k->s;
    at = sched_skip_broadcasts(b->k->s, at);
    if (!varies(b, &at)) return of_row(b, &at, tile_build_int(&b->k->b, -1));
    tile_op op = tile_value_def(s->compute, at.value);
    if (!op.id || !sched_is_inline(s, op)) return (bound){TILE_NO_VALUE, false};
    switch (opcode_of(s, op)) {
    case TILE_OP_and: return find_both(b, op, &at.map);
    case TILE_OP_or: return find_either(b, op, &at.map);
    case TILE_OP_le:
    case TILE_OP_lt:
        return find_compared(b, sched_mapped_operand(s, op, 0, &at.map),
                             sched_mapped_operand(s, op, 1, &at.map),
                             opcode_of(s, op) == TILE_OP_lt);
    case TILE_OP_ge:
    case TILE_OP_gt:
        return find_compared(b, sched_mapped_operand(s, op, 1, &at.map),
                             sched_mapped_operand(s, op, 0, &at.map),
                             opcode_of(s, op) == TILE_OP_gt);
    default: return (bound){TILE_NO_VALUE, false};
    }
}

/* The end of the loop -------------------------------------------------------------------------- */

/* Returns whether it is a row index within its head, if several heads are packed into the rows. */
static bool is_row_of_head(const sched_online *o, const sched_coordinate *at) {
    return o->packed && at->index && at->index->kind == SCHED_REM && !at->offset &&
           at->index->a.dim == (int)o->m && !at->index->a.index && !at->index->a.offset;
}

/* Returns whether it does not decrease from row to row within each head, so that the last row has
 * the maximum. */
static bool grows_once(schedule *s, const sched_online *o, sched_mapped_value at,
                       sched_visited_values *visits) {
    tile_op op = tile_value_def(s->compute, at.value);
    if (!depends_on_rows(s, o, at)) return true;
    if (!sched_visit_first(s, visits, at.value, &at.map))
        return true; /* already checked, or being
                        checked */
    if (!op.id || sched_array_of(s, at.value) >= 0 || !sched_is_inline(s, op)) return false;
    sched_mapped_value a = {{0}, {{{0, NULL, NULL}}}}, b = a;
    unsigned count = tile_op_operand_count(s->compute, op);
    if (count > 0) a = sched_mapped_operand(s, op, 0, &at.map);
    if (count > 1) b = sched_mapped_operand(s, op, 1, &at.map);
    switch (opcode_of(s, op)) {
    case TILE_OP_iota: {
        const tile_attr *start = tile_op_attr(s->compute, op, TILE_ATTR_start);
        const tile_attr *step = tile_op_attr(s->compute, op, TILE_ATTR_step);
        const sched_coordinate *place = &at.map.at[sched_axis(s, op)];
        return !sched_depends(place, o->m) || ((!place->index || is_row_of_head(o, place)) &&
                                               (!step || tile_expr_is(step->expr, 1)) &&
                                               (!start || sched_is_small(s, start->expr)));
    }
    case TILE_OP_splat:
    case TILE_OP_broadcast: return grows_once(s, o, a, visits);
    case TILE_OP_add:
    case TILE_OP_min:
    case TILE_OP_max: return grows_once(s, o, a, visits) && grows_once(s, o, b, visits);
    case TILE_OP_sub: return grows_once(s, o, a, visits) && !depends_on_rows(s, o, b);
    default: return false;
    }
}

static bool grows(schedule *s, const sched_online *o, sched_mapped_value at) {
    sched_visited_values visits = {NULL, 0, 0, {NULL, 0, 0}};
    return grows_once(s, o, at, &visits);
}

/* Returns whether a mask hides everything after a coordinate that does not decrease from row to
 * row. */
static bool is_growing(schedule *s, const sched_online *o, sched_mapped_value at) {
    tile_op op = tile_value_def(s->compute, at.value);
    if (sched_form_of(s, o, at.value, &at.map) == SCHED_INVARIANT)
        return !depends_on_rows(s, o, at);
    if (!op.id || !tile_op_operand_count(s->compute, op)) return false;
    sched_mapped_value a = sched_mapped_operand(s, op, 0, &at.map), b = a;
    if (tile_op_operand_count(s->compute, op) > 1) b = sched_mapped_operand(s, op, 1, &at.map);
    switch (opcode_of(s, op)) {
    case TILE_OP_splat:
    case TILE_OP_broadcast: return is_growing(s, o, a);
    case TILE_OP_and: return is_growing(s, o, a) || is_growing(s, o, b);
    case TILE_OP_or: return is_growing(s, o, a) && is_growing(s, o, b);
    case TILE_OP_le:
    case TILE_OP_lt: return grows(s, o, b) && grows(s, o, a);
    case TILE_OP_ge:
    case TILE_OP_gt: return grows(s, o, a) && grows(s, o, b);
    default: return false;
    }
}

/* Returns whether all carried reductions depend only on elements that masks show. */
static bool is_all_masked(const sched_online *o) {
    for (unsigned i = 0; i < o->fold_count; i++)
        if (o->folds[i].masked_input < 0 ||
            !o->masked_inputs[o->folds[i].masked_input].seen.value.id)
            return false;
    return o->masked_input_count > 0;
}

/* Returns whether blocks at the end may be skipped for some rows. */
static bool ends_early(schedule *s, const sched_online *o) {
    bool early = is_all_masked(o);
    for (unsigned i = 0; i < o->masked_input_count && early; i++)
        early = o->masked_inputs[i].seen.value.id && is_growing(s, o, o->masked_inputs[i].seen);
    return early;
}

/* Returns whether a mask compares with a value that varies between rows. */
static bool find_comparison(schedule *s, const sched_online *o, sched_mapped_value at,
                            sched_visited_values *visits) {
    tile_op op = tile_value_def(s->compute, at.value);
    if (!sched_is_tensor(s, at.value) || !sched_visit_first(s, visits, at.value, &at.map))
        return false;
    if (sched_form_of(s, o, at.value, &at.map) == SCHED_INVARIANT) return depends_on_rows(s, o, at);
    if (!op.id || sched_array_of(s, at.value) >= 0) return false;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++)
        if (find_comparison(s, o, sched_mapped_operand(s, op, i, &at.map), visits)) return true;
    return false;
}

static bool compares_rows(schedule *s, const sched_online *o, sched_mapped_value at) {
    sched_visited_values visits = {NULL, 0, 0, {NULL, 0, 0}};
    return find_comparison(s, o, at, &visits);
}

bool sched_bounds_vary(schedule *s, const sched_online *o) {
    bool vary = false;
    for (unsigned i = 0; i < o->masked_input_count && is_all_masked(o); i++)
        vary |= compares_rows(s, o, o->masked_inputs[i].seen);
    return vary;
}

/* Returns whether a mask shows more to later rows. */
static bool shows_more(bounds *b, sched_mapped_value at) {
    schedule *s = b->k->s;
    at = sched_skip_broadcasts(b->k->s, at);
    tile_op op = tile_value_def(s->compute, at.value);
    if (!op.id || !varies(b, &at) || tile_op_operand_count(s->compute, op) != 2) return false;
    sched_mapped_value x = sched_mapped_operand(s, op, 0, &at.map),
                       y = sched_mapped_operand(s, op, 1, &at.map);
    switch (opcode_of(s, op)) {
    case TILE_OP_and:
    case TILE_OP_or: return shows_more(b, x) || shows_more(b, y);
    case TILE_OP_le:
    case TILE_OP_lt: return is_key(b, x) && depends_on_rows(s, b->o, y);
    case TILE_OP_ge:
    case TILE_OP_gt: return is_key(b, y) && depends_on_rows(s, b->o, x);
    default: return false;
    }
}

bool sched_bound_grows_with_row(sched_kernel *k, const sched_online *o) {
    bounds b = {.k = k, .o = o};
    bool later = false;
    for (unsigned i = 0; i < o->masked_input_count && !o->packed && ends_early(k->s, o); i++)
        later |= shows_more(&b, o->masked_inputs[i].seen);
    return later;
}

static bool is_scalar(const sched_kernel *k, tile_value value) {
    return value.id && tile_value_type(k->f, value)->kind == TILE_TYPE_SCALAR;
}

/* The last existing row of the tile: keys after its bound are seen by no row. With packed heads,
 * the last row of all, because a tile may end at any row of a head. */
static tile_value last_row(sched_kernel *k, const sched_online *o, const tile_expr *block) {
    tile_builder *to = &k->b;
    tile_value rows = sched_number(k, sched_expr(k->s, k->g->domain.extents[o->m]));
    if (o->packed) return tile_build_sub(to, rows, tile_build_int(to, 1));
    /* A tile's extent is a power of two and its start a multiple of it, so its last row fits an
     * i32. */
    tile_value last = tile_build_sub(to, tile_build_add(to, k->start[o->m], sched_number(k, block)),
                                     tile_build_int(to, 1));
    return tile_build_min(to, last, tile_build_sub(to, rows, tile_build_int(to, 1)));
}

/* The last coordinate that the last row of the tile sees; 0: it is not a known number. */
static tile_value build_last(sched_kernel *k, sched_online *o, const tile_expr *block) {
    tile_builder *to = &k->b;
    size_t mark = sched_enter(k);
    tile_value start = k->start[o->m], last = TILE_NO_VALUE;
    int t = k->tile_of[o->m];
    bounds b = {.k = k, .o = o, .checks = true};
    k->single = true;
    k->tile_of[o->m] = -1;
    k->start[o->m] = last_row(k, o, block);
    for (unsigned i = 0; i < o->masked_input_count; i++) {
        bound here = find_bound(&b, o->masked_inputs[i].seen);
        if (!is_scalar(k, here.last)) {
            last = TILE_NO_VALUE;
            break;
        }
        last = last.id ? tile_build_max(to, last, here.last) : here.last;
    }
    k->single = false;
    if (b.safe.id && !is_scalar(k, b.safe)) last = TILE_NO_VALUE;
    if (b.safe.id && last.id)
        last = tile_build_select(to, b.safe, last, tile_build_int(to, INT32_MAX));
    k->tile_of[o->m] = t;
    k->start[o->m] = start;
    sched_leave(k, mark);
    return last;
}

tile_value sched_build_bounds(sched_kernel *k, sched_online *o, const tile_expr *block) {
    tile_builder *to = &k->b;
    tile_value extent = sched_number(k, sched_expr(k->s, o->extent)), end = extent;
    tile_value final = tile_build_sub(to, extent, tile_build_int(to, 1));
    bounds b = {.k = k, .o = o};
    if (ends_early(k->s, o)) {
        tile_value last = build_last(k, o, block);
        o->ends = last.id != 0;
        if (last.id)
            end = tile_build_max(
                to, tile_build_add(to, tile_build_min(to, last, final), tile_build_int(to, 1)),
                tile_build_int(to, 0));
    }
    for (unsigned i = 0; i < o->masked_input_count; i++) {
        sched_masked_input *masked_input = &o->masked_inputs[i];
        bound here = {TILE_NO_VALUE, true};
        if (masked_input->seen.value.id) here = find_bound(&b, masked_input->seen);
        masked_input->exact = here.exact && (here.last.id || !masked_input->seen.value.id);
        masked_input->last =
            masked_input->exact && here.last.id ? tile_build_min(to, here.last, final) : final;
    }
    return end;
}

/* The start of the loop ------------------------------------------------------------------------ */

/* Matches the coordinate along n plus a value that is constant for all elements. */
static bool find_key(bounds *b, sched_mapped_value at, sched_mapped_value *more) {
    schedule *s = b->k->s;
    at = sched_skip_broadcasts(b->k->s, at);
    if (is_key(b, at)) return true;
    tile_op op = tile_value_def(s->compute, at.value);
    if (!op.id || opcode_of(s, op) != TILE_OP_add || more->value.id) return false;
    for (unsigned i = 0; i < 2; i++) {
        sched_mapped_value same = strip_splat(b, sched_mapped_operand(s, op, i, &at.map));
        if (sched_is_tensor(s, same.value) ||
            !is_key(b, sched_mapped_operand(s, op, 1 - i, &at.map)))
            continue;
        *more = same;
        return true;
    }
    return false;
}

/* small <= key + more: returns the first such key. Neither sum overflows. */
static tile_value first_of(bounds *b, sched_mapped_value small, sched_mapped_value large,
                           bool less) {
    enum { FAR = 1 << 30 };
    tile_builder *to = &b->k->b;
    sched_mapped_value more = {{0}, {{{0, NULL, NULL}}}};
    if (!find_key(b, large, &more) || varies(b, &small) || !grows(b->k->s, b->o, small) ||
        sched_element(b->k->s, small.value)->scalar != TILE_i32)
        return TILE_NO_VALUE;
    check_bound(b, small);
    tile_value first = evaluate(b, &small);
    if (less)
        first = tile_build_add(to, tile_build_min(to, first, tile_build_int(to, FAR)),
                               tile_build_int(to, 1));
    if (!more.value.id) return first;
    tile_value by = tile_build_min(to, evaluate(b, &more), tile_build_int(to, FAR));
    by = tile_build_max(to, by, tile_build_int(to, -FAR));
    first = tile_build_max(to, first, tile_build_int(to, -FAR));
    return tile_build_sub(to, tile_build_min(to, first, tile_build_int(to, FAR)), by);
}

/* The first coordinate that a row may see; 0: unknown. */
static tile_value find_first(bounds *b, sched_mapped_value at) {
    schedule *s = b->k->s;
    at = sched_skip_broadcasts(b->k->s, at);
    tile_op op = tile_value_def(s->compute, at.value);
    if (!op.id || !varies(b, &at) || tile_op_operand_count(s->compute, op) != 2)
        return TILE_NO_VALUE;
    sched_mapped_value x = sched_mapped_operand(s, op, 0, &at.map),
                       y = sched_mapped_operand(s, op, 1, &at.map);
    switch (opcode_of(s, op)) {
    case TILE_OP_and: {
        tile_value a = find_first(b, x), c = find_first(b, y);
        return a.id && c.id ? tile_build_max(&b->k->b, a, c) : a.id ? a : c;
    }
    case TILE_OP_le:
    case TILE_OP_lt: return first_of(b, x, y, opcode_of(s, op) == TILE_OP_lt);
    case TILE_OP_ge:
    case TILE_OP_gt: return first_of(b, y, x, opcode_of(s, op) == TILE_OP_gt);
    default: return TILE_NO_VALUE;
    }
}

/* The minimum over the masks; later rows see no key before it. */
static tile_value build_first(sched_kernel *k, const sched_online *o, tile_value row) {
    size_t mark = sched_enter(k);
    tile_value first = TILE_NO_VALUE, start = k->start[o->m];
    int t = k->tile_of[o->m];
    bounds b = {.k = k, .o = o, .checks = true};
    bool all = is_all_masked(o);
    k->single = true;
    k->tile_of[o->m] = -1;
    k->start[o->m] = row;
    for (unsigned i = 0; i < o->masked_input_count && all; i++) {
        tile_value here = find_first(&b, o->masked_inputs[i].seen);
        all = is_scalar(k, here);
        if (all) first = first.id ? tile_build_min(&k->b, first, here) : here;
    }
    k->single = false;
    all &= !b.safe.id || is_scalar(k, b.safe);
    if (b.safe.id && all) first = tile_build_select(&k->b, b.safe, first, tile_build_int(&k->b, 0));
    k->tile_of[o->m] = t;
    k->start[o->m] = start;
    sched_leave(k, mark);
    return all ? first : TILE_NO_VALUE;
}

/* Returns whether n is not the contiguous dim of the array, so that a block of keys may begin
 * anywhere. */
static bool has_key_rows(schedule *s, const sched_online *o, const sched_mapped_value *at) {
    unsigned rank = sched_type(s, at->value)->rank;
    return rank && !sched_depends(&at->map.at[rank - 1], o->n);
}

/* Returns whether accesses have the same width wherever a block of keys begins. */
static bool may_begin_anywhere(sched_kernel *k, const sched_online *o) {
    bool may = true;
    for (unsigned i = 0; i < o->inner_count; i++)
        may &= has_key_rows(k->s, o, &o->inner[i].sides[1].from);
    for (unsigned i = 0; i < o->fold_count; i++)
        may &= !o->folds[i].product || has_key_rows(k->s, o, &o->folds[i].rhs.from);
    for (size_t i = 0; i < o->form_count; i++)
        if (o->forms[i].form == SCHED_PER_ELEMENT &&
            sched_find_input(k->s, k->g, o->forms[i].at.value) >= 0)
            may &=
                has_key_rows(k->s, o, &o->forms[i].at) || !depends_on_rows(k->s, o, o->forms[i].at);
    return may;
}

/* The start is a multiple of the block, or exactly the first visible key if no row sees earlier
 * keys. */
tile_value sched_build_begin(sched_kernel *k, sched_online *o, const tile_expr *block) {
    tile_builder *to = &k->b;
    tile_value none = tile_build_int(to, 0), step = sched_number(k, block);
    tile_value first = build_first(k, o, o->packed ? none : k->start[o->m]);
    if (!first.id) return none;
    first = tile_build_max(to, first, none);
    tile_value aligned = tile_build_mul(to, tile_build_div(to, first, step), step);
    tile_value all = may_begin_anywhere(k, o) ? build_first(k, o, none) : TILE_NO_VALUE;
    if (!all.id) return aligned;
    o->begins = true;
    return tile_build_select(to, tile_build_gt(to, all, none), first, aligned);
}

/* Other masks ---------------------------------------------------------------------------------- */

/* Determines which kinds of bounds a mask consists of. False if it is not only bounds. */
static bool find_kinds(bounds *b, sched_mapped_value at, bool *upper, bool *lower) {
    schedule *s = b->k->s;
    at = sched_skip_broadcasts(b->k->s, at);
    if (!varies(b, &at)) return true;
    tile_op op = tile_value_def(s->compute, at.value);
    if (!op.id || !sched_is_inline(s, op) || tile_op_operand_count(s->compute, op) != 2)
        return false;
    tile_opcode opcode = opcode_of(s, op);
    bool transposed = opcode == TILE_OP_ge || opcode == TILE_OP_gt;
    sched_mapped_value x = sched_mapped_operand(s, op, transposed, &at.map),
                       y = sched_mapped_operand(s, op, !transposed, &at.map),
                       more = {{0}, {{{0, NULL, NULL}}}};
    if (opcode == TILE_OP_and || opcode == TILE_OP_or) /* or: with a condition of whole rows */
        return (opcode == TILE_OP_and || !varies(b, &x) || !varies(b, &y)) &&
               find_kinds(b, x, upper, lower) && find_kinds(b, y, upper, lower);
    if (!transposed && opcode != TILE_OP_le && opcode != TILE_OP_lt) return false;
    bool ends = is_key(b, x) && !varies(b, &y);
    bool begins = !ends && find_key(b, y, &more) && !varies(b, &x);
    *upper |= ends;
    *lower |= begins;
    return ends || begins;
}

bool sched_mask_hides_keys(sched_kernel *k, const sched_online *o,
                           const sched_masked_input *masked_input) {
    bounds b = {.k = k, .o = o};
    bool upper = false, lower = false;
    return !find_kinds(&b, masked_input->seen, &upper, &lower) || (upper && !o->ends) ||
           (lower && !o->begins);
}

/* In the loop ---------------------------------------------------------------------------------- */

tile_value sched_build_in_bounds(sched_kernel *k, const sched_online *o) {
    const sched_coordinate key = sched_dim_coordinate(o->n);
    tile_value end = sched_number(k, sched_expr(k->s, o->extent));
    return tile_build_lt(&k->b, sched_coordinate_tile(k, &key), end);
}

static void build_masked_input(sched_kernel *k, const sched_online *o,
                               sched_masked_input *masked_input) {
    tile_builder *to = &k->b;
    tile_context *context = k->s->context;
    const tile_type *type = tile_type_scalar(context, TILE_f32);
    const sched_coordinate key = sched_dim_coordinate(o->n);
    tile_value shown = sched_broadcast_to_tile(
        k, sched_value(k, masked_input->shown.value, &masked_input->shown.map, type));
    tile_value seen = tile_build_le(to, sched_coordinate_tile(k, &key), masked_input->last);
    if (!shown.id) return;
    if (!masked_input->exact)
        seen = tile_build_and(to, seen,
                              sched_value(k, masked_input->seen.value, &masked_input->seen.map,
                                          tile_type_scalar(context, TILE_i1)));
    tile_value hidden =
        tile_build_constant(to, type, tile_expr_float(context, masked_input->zero ? 0 : -INFINITY));
    masked_input->tile_seen = seen;
    masked_input->tile = tile_build_select(to, seen, shown, hidden);
    if (!masked_input->by.value.id)
        sched_remember(k, masked_input->whole.value, &masked_input->whole.map, type,
                       masked_input->tile);
}

void sched_build_masked_inputs(sched_kernel *k, sched_online *o) {
    for (unsigned i = 0; i < o->masked_input_count && !k->s->failed; i++)
        build_masked_input(k, o, &o->masked_inputs[i]);
}
