/* Assigns reductions of rows longer than a tile to loops over the row.
 *
 * A reduction that depends on another one of the same rows would have to wait for it and read the
 * rows again. Some sums can instead be corrected after the loop that computes both:
 *
 *   exp(x - t), t the maximum of x, is computed with the maximum so far, and the previous sum is
 *   multiplied by exp(old - new). Each position of the tile has a separate maximum, so that no
 *   thread waits for another one; positions are corrected when they are combined.
 *   x - m, m the mean of x, is computed as x - c, where c is the element of the row's first tile
 *   that is closest to that tile's mean:
 *     sum of g (x - m)         = sum of g (x - c) + (c - m) sum of g
 *     sum of g (x - m) (y - l) = sum of g (x - c) (y - d) + (d - l) sum of g (x - c)
 *                                + (c - m) (sum of g (y - d) + (d - l) sum of g)
 *   A factor that is constant along the row is applied after the sum.
 *
 * The sum of squares about c exceeds the one about m by n (c - m)^2, and the result loses as many
 * digits. c is no farther from the tile's mean than the tile's own standard deviation. If the tile
 * is a fraction f of the row, the variance is at least f / (1 - f) times the squared distance of
 * the two means. The error therefore grows by about 1 / f at most, and hardly at all unless the row
 * has an unusual beginning. With c = 0 there would be no such bound.
 *
 * An online sum is therefore a product of: factors known from the elements, one exponential, up to
 * two differences from means, and factors of the row. All other dependent reductions use another
 * loop over the row. */
#include "passes/schedule/rows/rows.h"

#include "lib/ir/remark.h"
#include "lib/ir/syntax.h"

typedef struct online_sum_planner {
    rows *r;
    unsigned loop_index;
    const tile_type *type; /* of the computation */
    rows_online_sum *online_sum;
} online_sum_planner;

static tile_op def_of(const online_sum_planner *f, tile_value value, tile_opcode opcode) {
    const tile_function *compute = f->r->k.s->compute;
    tile_op op = tile_value_def(compute, value), none = {0};
    return op.id && tile_op_opcode(compute, op) == opcode ? op : none;
}

static sched_mapped_value operand_of(const online_sum_planner *f, tile_op op, unsigned i,
                                     const sched_map *map) {
    return sched_mapped_operand(f->r->k.s, op, i, map);
}

/* Dependencies of values ----------------------------------------------------------------------- */

/* The last loop with a reduction that the value depends on; 0: none. */
static unsigned depth_of(rows *r, tile_value value) {
    schedule *s = r->k.s;
    tile_op op = tile_value_def(s->compute, value);
    int reduction = rows_reduction_index(r, value);
    unsigned depth = 0;
    if (reduction >= 0) return r->loops[reduction];
    if (!op.id || sched_find_input(s, r->k.g, value) >= 0) return 0;
    if (r->depths[value.id]) return r->depths[value.id] - 1;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++) {
        unsigned own = depth_of(r, tile_op_operand(s->compute, op, i));
        if (own > depth) depth = own;
    }
    r->depths[value.id] = depth + 1;
    return depth;
}

/* Returns whether the value varies along a row, looking back at most `steps` operations. */
static bool varies(const online_sum_planner *f, const sched_mapped_value *at, unsigned steps) {
    rows *r = f->r;
    schedule *s = r->k.s;
    tile_op op = tile_value_def(s->compute, at->value);
    if (!sched_is_tensor(s, at->value)) return false;
    unsigned rank = sched_type(s, at->value)->rank;
    bool along = false;
    for (unsigned d = 0; d < rank; d++) along |= sched_depends(&at->map.at[d], r->axis);
    if (!along) return false;
    if (!op.id || !steps || rows_reduction_index(r, at->value) >= 0 ||
        sched_find_input(s, r->k.g, at->value) >= 0)
        return true;
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_iota: return sched_depends(&at->map.at[sched_axis(s, op)], r->axis);
    case TILE_OP_window:
    case TILE_OP_gather: return true;
    default: break;
    }
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++) {
        sched_mapped_value of = operand_of(f, op, i, &at->map);
        if (varies(f, &of, steps - 1)) return true;
    }
    return false;
}

static bool is_known_early(const online_sum_planner *f, const sched_mapped_value *at) {
    return depth_of(f->r, at->value) < f->loop_index;
}

enum { STEPS = 12 };

/* Constant along the row, and not known before the end of the loop. */
static bool is_per_row(const online_sum_planner *f, const sched_mapped_value *at) {
    return !is_known_early(f, at) && !varies(f, at, STEPS);
}

static bool is_invariant(const online_sum_planner *f, const sched_mapped_value *at) {
    return is_known_early(f, at) && !varies(f, at, STEPS);
}

/* nan: also one that propagates NaN. */
static tile_op reduction_of(const online_sum_planner *f, const sched_mapped_value *at,
                            tile_word kind, bool nan) {
    tile_op op = def_of(f, at->value, TILE_OP_reduce), none = {0};
    const tile_function *compute = f->r->k.s->compute;
    bool fits = op.id && rows_reduction_index(f->r, at->value) >= 0 &&
                tile_op_word(compute, op, TILE_ATTR_kind) == kind &&
                (nan || !tile_op_has_attr(compute, op, TILE_ATTR_nan));
    return fits ? op : none;
}

static bool reduces(const online_sum_planner *f, tile_op op, tile_value x) {
    const tile_function *compute = f->r->k.s->compute;
    return op.id && rows_is_equal(compute, tile_operand_src(compute, op), x, 4);
}

/* Differences from means ----------------------------------------------------------------------- */

/* Returns whether row is a sum of x times a constant of the row. It is then not finite if an x is
 * infinite. */
static bool is_mean(const online_sum_planner *f, sched_mapped_value row, tile_value x) {
    row = sched_skip_broadcasts(f->r->k.s, row);
    tile_op op = tile_value_def(f->r->k.s->compute, row.value);
    if (reduces(f, reduction_of(f, &row, TILE_WORD_kind_add, false), x)) return true;
    if (!op.id || tile_op_at(f->r->k.s->compute, op)->attr_count) return false;
    switch (tile_op_opcode(f->r->k.s->compute, op)) {
    case TILE_OP_div: {
        sched_mapped_value by = operand_of(f, op, 1, &row.map);
        return is_invariant(f, &by) && is_mean(f, operand_of(f, op, 0, &row.map), x);
    }
    case TILE_OP_mul:
        for (unsigned i = 0; i < 2; i++) {
            sched_mapped_value by = operand_of(f, op, i, &row.map);
            if (is_invariant(f, &by) && is_mean(f, operand_of(f, op, 1 - i, &row.map), x))
                return true;
        }
        return false;
    default: return false;
    }
}

static bool same_mapped_value(const online_sum_planner *f, const sched_mapped_value *a,
                              const sched_mapped_value *b) {
    return a->value.id == b->value.id &&
           sched_same_map(&a->map, &b->map, sched_type(f->r->k.s, a->value)->rank);
}

static bool add_centre(online_sum_planner *f, const sched_mapped_value *x,
                       const sched_mapped_value *mean) {
    rows *r = f->r;
    unsigned i = 0;
    while (i < r->centre_count && !(same_mapped_value(f, &r->centres[i].x, x) &&
                                    same_mapped_value(f, &r->centres[i].mean, mean)))
        i++;
    if (i == ROWS_MAX_ONLINE_SUMS || f->online_sum->centre_count == ROWS_MAX_CENTRES) return false;
    if (i == r->centre_count) r->centres[r->centre_count++] = (rows_centered){*x, *mean};
    f->online_sum->centres[f->online_sum->centre_count++] = (int)i;
    return true;
}

static bool plan_difference(online_sum_planner *f, tile_op op, const sched_map *map) {
    sched_mapped_value side[2] = {operand_of(f, op, 0, map), operand_of(f, op, 1, map)};
    for (unsigned i = 0; i < 2; i++) {
        if (!is_known_early(f, &side[i]) || !is_per_row(f, &side[1 - i])) continue;
        sched_mapped_value x = sched_skip_broadcasts(f->r->k.s, side[i]),
                           mean = sched_skip_broadcasts(f->r->k.s, side[1 - i]);
        f->online_sum->negative ^= i == 1;
        return is_mean(f, mean, x.value) && add_centre(f, &x, &mean);
    }
    return false;
}

/* Exponentials --------------------------------------------------------------------------------- */

/* Returns whether the row's value is the maximum of x, or larger. With a NaN in x it may be NaN:
 * the sum is NaN then, because one of its terms is, unless a select hides that term. */
static bool is_upper_bound(const online_sum_planner *f, sched_mapped_value row, tile_value x) {
    row = sched_skip_broadcasts(f->r->k.s, row);
    tile_op op = def_of(f, row.value, TILE_OP_max);
    for (unsigned i = 0; op.id && i < 2; i++) {
        sched_mapped_value other = operand_of(f, op, i, &row.map);
        if (tile_op_at(f->r->k.s->compute, op)->attr_count) return false;
        if (is_invariant(f, &other) && is_upper_bound(f, operand_of(f, op, 1 - i, &row.map), x))
            return true;
    }
    return reduces(f, reduction_of(f, &row, TILE_WORD_kind_max, !f->online_sum->seen.value.id), x);
}

static bool find_exponent(const online_sum_planner *f, sched_mapped_value at,
                          rows_exponential *out) {
    at = sched_skip_broadcasts(f->r->k.s, at);
    tile_op op = def_of(f, at.value, TILE_OP_mul);
    for (unsigned i = 0; op.id && !out->by.value.id && i < 2; i++) {
        sched_mapped_value by = operand_of(f, op, i, &at.map);
        if (!is_invariant(f, &by) || !sched_is_positive(f->r->k.s, by.value, 8)) continue;
        out->by = by;
        return find_exponent(f, operand_of(f, op, 1 - i, &at.map), out);
    }
    if (!(op = def_of(f, at.value, TILE_OP_sub)).id) return false;
    out->x = sched_skip_broadcasts(f->r->k.s, operand_of(f, op, 0, &at.map));
    out->top = sched_skip_broadcasts(f->r->k.s, operand_of(f, op, 1, &at.map));
    return is_known_early(f, &out->x) && is_per_row(f, &out->top) &&
           is_upper_bound(f, out->top, out->x.value);
}

static bool take_exp(online_sum_planner *f, tile_op op, const sched_map *map) {
    rows *r = f->r;
    rows_exponential out = {.op = op};
    unsigned i = 0;
    if (f->online_sum->exp >= 0 || !find_exponent(f, operand_of(f, op, 0, map), &out)) return false;
    while (i < r->exp_count && r->exps[i].op.id != op.id) i++;
    if (i == ROWS_MAX_ONLINE_SUMS) return false;
    if (i == r->exp_count) r->exps[r->exp_count++] = out;
    f->online_sum->exp = (int)i;
    return true;
}

/* Products ------------------------------------------------------------------------------------- */

static bool add_factor(online_sum_planner *f, const sched_mapped_value *at, bool divides) {
    rows_online_sum *online_sum = f->online_sum;
    if (is_known_early(f, at)) {
        if (online_sum->factor_count == ROWS_MAX_FACTORS) return false;
        online_sum->factors[online_sum->factor_count++] = (sched_deferred_factor){*at, divides};
        return true;
    }
    if (!is_per_row(f, at) || online_sum->deferred_count == SCHED_MAX_DEFERRED) return false;
    online_sum->deferred[online_sum->deferred_count++] = (sched_deferred_factor){*at, divides};
    return true;
}

static bool plan_term(online_sum_planner *f, sched_mapped_value at);

static bool is_computed_so(const online_sum_planner *f, tile_value value) {
    schedule *s = f->r->k.s;
    return sched_compute_type(s, sched_element(s, value)) == f->type;
}

/* Returns whether the cast is exact. */
static bool keeps_all_elements(const online_sum_planner *f, tile_op op) {
    schedule *s = f->r->k.s;
    return !tile_op_at(s->compute, op)->attr_count &&
           sched_element(s, tile_op_result(s->compute, op, 0)) == f->type &&
           is_computed_so(f, tile_first_operand(s->compute, op));
}

/* A select between a value and 0. NaN of the selected value must not be introduced by a correction
 * after the loop, where the select no longer hides it. */
static bool plan_select(online_sum_planner *f, tile_op op, const sched_map *map) {
    schedule *s = f->r->k.s;
    sched_mapped_value seen = operand_of(f, op, 0, map), shown = operand_of(f, op, 1, map);
    double otherwise;
    if (f->online_sum->seen.value.id || !is_known_early(f, &seen) ||
        !sched_is_number(s, tile_operand_no(s->compute, op), &otherwise) || otherwise != 0 ||
        f->online_sum->exp >= 0 || f->online_sum->centre_count || f->online_sum->deferred_count)
        return false;
    f->online_sum->seen = seen;
    return plan_term(f, shown) && !f->online_sum->centre_count && !f->online_sum->deferred_count &&
           (f->online_sum->exp < 0 || sched_has_floor(s, f->r->exps[f->online_sum->exp].top.value));
}

static bool plan_term(online_sum_planner *f, sched_mapped_value at) {
    schedule *s = f->r->k.s;
    tile_op op = tile_value_def(s->compute, at.value);
    if (!is_computed_so(f, at.value)) return false;
    if (is_known_early(f, &at) || is_per_row(f, &at)) return add_factor(f, &at, false);
    if (!op.id || rows_reduction_index(f->r, at.value) >= 0) return false;
    sched_mapped_value first = operand_of(f, op, 0, &at.map);
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_cast: return keeps_all_elements(f, op) && plan_term(f, first);
    case TILE_OP_broadcast:
    case TILE_OP_transpose: return plan_term(f, first);
    case TILE_OP_neg: f->online_sum->negative ^= true; return plan_term(f, first);
    case TILE_OP_mul: return plan_term(f, first) && plan_term(f, operand_of(f, op, 1, &at.map));
    case TILE_OP_div: {
        sched_mapped_value by = operand_of(f, op, 1, &at.map);
        return add_factor(f, &by, true) && plan_term(f, first);
    }
    case TILE_OP_select: return plan_select(f, op, &at.map);
    case TILE_OP_sub: return plan_difference(f, op, &at.map);
    case TILE_OP_exp:
    case TILE_OP_exp2: return take_exp(f, op, &at.map);
    default: return false;
    }
}

/* Loops ---------------------------------------------------------------------------------------- */

static bool plan_online_sum(rows *r, size_t index, unsigned loop_index) {
    schedule *s = r->k.s;
    tile_op op = rows_op(r, index);
    const rows before = *r;
    rows_online_sum online_sum = {.is_online = true, .exp = -1};
    online_sum_planner f = {r, loop_index, rows_type(r, index), &online_sum};
    sched_mapped_value source = {rows_source(r, index), sched_identity(&r->k.g->domain)};
    bool floats = f.type->scalar == TILE_f32 || f.type->scalar == TILE_f64;
    if (tile_op_opcode(s->compute, op) != TILE_OP_reduce || !floats ||
        rows_kind(r, index) != TILE_WORD_kind_add || rows_propagates_nan(r, index) ||
        r->online_sum_count == ROWS_MAX_ONLINE_SUMS)
        return false;
    if (!plan_term(&f, source)) {
        *r = before;
        return false;
    }
    r->online_sum[index] = online_sum;
    r->online_sum_count++;
    return true;
}

void rows_assign_loops(rows *r) {
    schedule *s = r->k.s;
    size_t count = r->k.g->reduction_count;
    r->loops = TILE_NEW_ARRAY(s->arena, unsigned, count + 1);
    r->online_sum = TILE_NEW_ARRAY(s->arena, rows_online_sum, count + 1);
    r->depths = TILE_NEW_ARRAY(s->arena, unsigned, s->compute->value_count);
    for (unsigned level = 1; level <= r->last; level++)
        for (size_t i = 0; i < count; i++) {
            if (r->levels[i] != level) continue;
            unsigned needs = depth_of(r, rows_source(r, i));
            r->loops[i] = needs && plan_online_sum(r, i, needs) ? needs : needs + 1;
            if (r->loops[i] > r->last_loop) r->last_loop = r->loops[i];
        }
}

bool rows_is_of_loop(rows *r, unsigned exp, unsigned loop_index) {
    return depth_of(r, r->exps[exp].top.value) == loop_index;
}

void rows_remark_loops(rows *r) {
    for (size_t i = 0; i < r->k.g->reduction_count; i++)
        if (r->loops[i] > 1)
            tile_missed_at(
                r->k.s->compute, rows_op(r, i), "not in one loop",
                "rewrite it with sums of products of exp(x - reduce_max(x)), differences from the "
                "mean and factors of the row, which need not wait",
                "it needs the result of another reduction of the same rows, so the rows are read "
                "again");
}
