/* Which reductions of rows that no tile holds need no walk of their own.
 *
 * A reduction that needs another one of the same rows would have to wait for it, and read the rows
 * again. But what is added up may be put right behind the walk that computes both:
 *
 *   exp(x - t), t the largest x, is taken with the largest one so far, and what was summed before
 *   is multiplied by exp(old - new). Each place of the tile has its own largest one, so that no
 *   thread waits for another; places are corrected when they are put together.
 *   x - m, m the mean of x, is taken as x - c, c the element of the row's first tile that is next
 *   to that tile's mean:
 *     sum of g (x - m)         = sum of g (x - c) + (c - m) sum of g
 *     sum of g (x - m) (y - l) = sum of g (x - c) (y - d) + (d - l) sum of g (x - c)
 *                                + (c - m) (sum of g (y - d) + (d - l) sum of g)
 *   A factor that is the same for the whole row comes after the sum.
 *
 * Squares about c are more than those about m by n (c - m)^2, of which the result loses as many
 * digits. The nearest element is no farther from the tile's mean than the tile's own deviation, and
 * a tile that is f of the row, however far it is from the rest, is a part of it: the variance is at
 * least f / (1 - f) of its distance, squared. So the error grows by about 1 / f at most, and by
 * nothing to speak of where rows have no such beginning. With c = 0 there would be no such bound.
 *
 * So a late sum is a product of what is known of the elements, one exponential, up to two
 * differences from means and factors of the row. What is none goes along the row once more. */
#include "passes/schedule/rows/rows.h"

#include "lib/ir/remark.h"
#include "lib/ir/syntax.h"

typedef struct finder {
    rows *r;
    unsigned walk;
    const tile_type *type; /* that is computed in */
    rows_late *late;
} finder;

static tile_op def_of(const finder *f, tile_value value, tile_opcode opcode) {
    const tile_function *compute = f->r->k.s->compute;
    tile_op op = tile_value_def(compute, value), none = {0};
    return op.id && tile_op_opcode(compute, op) == opcode ? op : none;
}

static sched_wanted operand_of(const finder *f, tile_op op, unsigned i, const sched_map *map) {
    return sched_wanted_operand(f->r->k.s, op, i, map);
}

/* What values need ----------------------------------------------------------------------------- */

/* The last walk of a reduction that the value is computed from; 0: of none. */
static unsigned depth_of(rows *r, tile_value value) {
    schedule *s = r->k.s;
    tile_op op = tile_value_def(s->compute, value);
    int reduction = rows_find(r, value);
    unsigned depth = 0;
    if (reduction >= 0) return r->walks[reduction];
    if (!op.id || sched_find_input(s, r->k.g, value) >= 0) return 0;
    if (r->depths[value.id]) return r->depths[value.id] - 1;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++) {
        unsigned own = depth_of(r, tile_op_operand(s->compute, op, i));
        if (own > depth) depth = own;
    }
    r->depths[value.id] = depth + 1;
    return depth;
}

/* Whether it differs from element to element of a row, looking so many operations back. */
static bool varies(const finder *f, const sched_wanted *at, unsigned steps) {
    rows *r = f->r;
    schedule *s = r->k.s;
    tile_op op = tile_value_def(s->compute, at->value);
    if (!sched_is_tensor(s, at->value)) return false;
    unsigned rank = sched_type(s, at->value)->rank;
    bool along = false;
    for (unsigned d = 0; d < rank; d++) along |= sched_depends(&at->map.at[d], r->axis);
    if (!along) return false;
    if (!op.id || !steps || rows_find(r, at->value) >= 0 ||
        sched_find_input(s, r->k.g, at->value) >= 0)
        return true;
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_iota: return sched_depends(&at->map.at[sched_axis(s, op)], r->axis);
    case TILE_OP_window:
    case TILE_OP_gather: return true;
    default: break;
    }
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++) {
        sched_wanted of = operand_of(f, op, i, &at->map);
        if (varies(f, &of, steps - 1)) return true;
    }
    return false;
}

static bool is_early(const finder *f, const sched_wanted *at) {
    return depth_of(f->r, at->value) < f->walk;
}

enum { STEPS = 12 };

/* Of the row, and not known before the walk's end. */
static bool is_row(const finder *f, const sched_wanted *at) {
    return !is_early(f, at) && !varies(f, at, STEPS);
}

static bool is_same(const finder *f, const sched_wanted *at) {
    return is_early(f, at) && !varies(f, at, STEPS);
}

static tile_op reduction_of(const finder *f, const sched_wanted *at, tile_word kind) {
    tile_op op = def_of(f, at->value, TILE_OP_reduce), none = {0};
    const tile_function *compute = f->r->k.s->compute;
    bool fits = op.id && rows_find(f->r, at->value) >= 0 &&
                tile_op_word(compute, op, TILE_ATTR_kind) == kind &&
                !tile_op_has_attr(compute, op, TILE_ATTR_nan);
    return fits ? op : none;
}

static bool reduces(const finder *f, tile_op op, tile_value x) {
    const tile_function *compute = f->r->k.s->compute;
    return op.id && rows_is_equal(compute, tile_operand_src(compute, op), x, 4);
}

/* Differences from means ----------------------------------------------------------------------- */

/* A sum of x, times what is the same for the row: where an x is infinite it is no number less. */
static bool is_mean(const finder *f, sched_wanted row, tile_value x) {
    row = sched_behind_broadcasts(f->r->k.s, row);
    tile_op op = tile_value_def(f->r->k.s->compute, row.value);
    if (reduces(f, reduction_of(f, &row, TILE_WORD_kind_add), x)) return true;
    if (!op.id || tile_op_at(f->r->k.s->compute, op)->attr_count) return false;
    switch (tile_op_opcode(f->r->k.s->compute, op)) {
    case TILE_OP_div: {
        sched_wanted by = operand_of(f, op, 1, &row.map);
        return is_same(f, &by) && is_mean(f, operand_of(f, op, 0, &row.map), x);
    }
    case TILE_OP_mul:
        for (unsigned i = 0; i < 2; i++) {
            sched_wanted by = operand_of(f, op, i, &row.map);
            if (is_same(f, &by) && is_mean(f, operand_of(f, op, 1 - i, &row.map), x)) return true;
        }
        return false;
    default: return false;
    }
}

static bool same_wanted(const finder *f, const sched_wanted *a, const sched_wanted *b) {
    return a->value.id == b->value.id &&
           sched_same_map(&a->map, &b->map, sched_type(f->r->k.s, a->value)->rank);
}

static bool add_centre(finder *f, const sched_wanted *x, const sched_wanted *mean) {
    rows *r = f->r;
    unsigned i = 0;
    while (i < r->centre_count &&
           !(same_wanted(f, &r->centres[i].x, x) && same_wanted(f, &r->centres[i].mean, mean)))
        i++;
    if (i == ROWS_MOST_LATE || f->late->centre_count == ROWS_MOST_CENTRES) return false;
    if (i == r->centre_count) r->centres[r->centre_count++] = (rows_centre){*x, *mean};
    f->late->centres[f->late->centre_count++] = (int)i;
    return true;
}

static bool take_difference(finder *f, tile_op op, const sched_map *map) {
    sched_wanted side[2] = {operand_of(f, op, 0, map), operand_of(f, op, 1, map)};
    for (unsigned i = 0; i < 2; i++) {
        if (!is_early(f, &side[i]) || !is_row(f, &side[1 - i])) continue;
        sched_wanted x = sched_behind_broadcasts(f->r->k.s, side[i]),
                     mean = sched_behind_broadcasts(f->r->k.s, side[1 - i]);
        f->late->negative ^= i == 1;
        return is_mean(f, mean, x.value) && add_centre(f, &x, &mean);
    }
    return false;
}

/* Exponentials --------------------------------------------------------------------------------- */

/* Whether the row's value is the largest x, or larger. */
static bool is_above(const finder *f, sched_wanted row, tile_value x) {
    row = sched_behind_broadcasts(f->r->k.s, row);
    tile_op op = def_of(f, row.value, TILE_OP_max);
    for (unsigned i = 0; op.id && i < 2; i++) {
        sched_wanted other = operand_of(f, op, i, &row.map);
        if (tile_op_at(f->r->k.s->compute, op)->attr_count) return false;
        if (is_same(f, &other) && is_above(f, operand_of(f, op, 1 - i, &row.map), x)) return true;
    }
    return reduces(f, reduction_of(f, &row, TILE_WORD_kind_max), x);
}

static bool find_exponent(const finder *f, sched_wanted at, rows_exp *out) {
    at = sched_behind_broadcasts(f->r->k.s, at);
    tile_op op = def_of(f, at.value, TILE_OP_mul);
    for (unsigned i = 0; op.id && !out->by.value.id && i < 2; i++) {
        sched_wanted by = operand_of(f, op, i, &at.map);
        if (!is_same(f, &by) || !sched_is_positive(f->r->k.s, by.value, 8)) continue;
        out->by = by;
        return find_exponent(f, operand_of(f, op, 1 - i, &at.map), out);
    }
    if (!(op = def_of(f, at.value, TILE_OP_sub)).id) return false;
    out->x = sched_behind_broadcasts(f->r->k.s, operand_of(f, op, 0, &at.map));
    out->top = sched_behind_broadcasts(f->r->k.s, operand_of(f, op, 1, &at.map));
    return is_early(f, &out->x) && is_row(f, &out->top) && is_above(f, out->top, out->x.value);
}

static bool take_exp(finder *f, tile_op op, const sched_map *map) {
    rows *r = f->r;
    rows_exp out = {.op = op};
    unsigned i = 0;
    if (f->late->exp >= 0 || !find_exponent(f, operand_of(f, op, 0, map), &out)) return false;
    while (i < r->exp_count && r->exps[i].op.id != op.id) i++;
    if (i == ROWS_MOST_LATE) return false;
    if (i == r->exp_count) r->exps[r->exp_count++] = out;
    f->late->exp = (int)i;
    return true;
}

/* Products ------------------------------------------------------------------------------------- */

static bool add_factor(finder *f, const sched_wanted *at, bool divides) {
    rows_late *late = f->late;
    if (is_early(f, at)) {
        if (late->factor_count == ROWS_MOST_FACTORS) return false;
        late->factors[late->factor_count++] = (sched_post){*at, divides};
        return true;
    }
    if (!is_row(f, at) || late->post_count == SCHED_MOST_POSTS) return false;
    late->posts[late->post_count++] = (sched_post){*at, divides};
    return true;
}

static bool take(finder *f, sched_wanted at);

static bool is_computed_so(const finder *f, tile_value value) {
    schedule *s = f->r->k.s;
    return sched_working(s, sched_element(s, value)) == f->type;
}

/* A cast that rounds nothing. */
static bool keeps_all(const finder *f, tile_op op) {
    schedule *s = f->r->k.s;
    return !tile_op_at(s->compute, op)->attr_count &&
           sched_element(s, tile_op_result(s->compute, op, 0)) == f->type &&
           is_computed_so(f, tile_first_operand(s->compute, op));
}

/* Of it or 0: NaN of what is chosen must not be put right behind the walk, where it would not be
 * hidden any more. */
static bool take_choice(finder *f, tile_op op, const sched_map *map) {
    schedule *s = f->r->k.s;
    sched_wanted seen = operand_of(f, op, 0, map), shown = operand_of(f, op, 1, map);
    double otherwise;
    if (f->late->seen.value.id || !is_early(f, &seen) ||
        !sched_is_number(s, tile_operand_no(s->compute, op), &otherwise) || otherwise != 0 ||
        f->late->exp >= 0 || f->late->centre_count || f->late->post_count)
        return false;
    f->late->seen = seen;
    return take(f, shown) && !f->late->centre_count && !f->late->post_count &&
           (f->late->exp < 0 || sched_has_floor(s, f->r->exps[f->late->exp].top.value));
}

static bool take(finder *f, sched_wanted at) {
    schedule *s = f->r->k.s;
    tile_op op = tile_value_def(s->compute, at.value);
    if (!is_computed_so(f, at.value)) return false;
    if (is_early(f, &at) || is_row(f, &at)) return add_factor(f, &at, false);
    if (!op.id || rows_find(f->r, at.value) >= 0) return false;
    sched_wanted first = operand_of(f, op, 0, &at.map);
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_cast: return keeps_all(f, op) && take(f, first);
    case TILE_OP_broadcast:
    case TILE_OP_transpose: return take(f, first);
    case TILE_OP_neg: f->late->negative ^= true; return take(f, first);
    case TILE_OP_mul: return take(f, first) && take(f, operand_of(f, op, 1, &at.map));
    case TILE_OP_div: {
        sched_wanted by = operand_of(f, op, 1, &at.map);
        return add_factor(f, &by, true) && take(f, first);
    }
    case TILE_OP_select: return take_choice(f, op, &at.map);
    case TILE_OP_sub: return take_difference(f, op, &at.map);
    case TILE_OP_exp:
    case TILE_OP_exp2: return take_exp(f, op, &at.map);
    default: return false;
    }
}

/* Walks ---------------------------------------------------------------------------------------- */

static bool take_late(rows *r, size_t index, unsigned walk) {
    schedule *s = r->k.s;
    tile_op op = rows_op(r, index);
    const rows before = *r;
    rows_late late = {.is_late = true, .exp = -1};
    finder f = {r, walk, rows_type(r, index), &late};
    sched_wanted source = {rows_source(r, index), sched_identity(&r->k.g->domain)};
    bool floats = f.type->scalar == TILE_f32 || f.type->scalar == TILE_f64;
    if (tile_op_opcode(s->compute, op) != TILE_OP_reduce || !floats ||
        rows_kind(r, index) != TILE_WORD_kind_add || rows_takes_nan(r, index) ||
        r->late_count == ROWS_MOST_LATE)
        return false;
    if (!take(&f, source)) {
        *r = before;
        return false;
    }
    r->late[index] = late;
    r->late_count++;
    return true;
}

void rows_find_walks(rows *r) {
    schedule *s = r->k.s;
    size_t count = r->k.g->reduction_count;
    r->walks = TILE_NEW_ARRAY(s->arena, unsigned, count + 1);
    r->late = TILE_NEW_ARRAY(s->arena, rows_late, count + 1);
    r->depths = TILE_NEW_ARRAY(s->arena, unsigned, s->compute->value_count);
    for (unsigned level = 1; level <= r->last; level++)
        for (size_t i = 0; i < count; i++) {
            if (r->levels[i] != level) continue;
            unsigned needs = depth_of(r, rows_source(r, i));
            r->walks[i] = needs && take_late(r, i, needs) ? needs : needs + 1;
            if (r->walks[i] > r->last_walk) r->last_walk = r->walks[i];
        }
}

bool rows_is_of_walk(rows *r, unsigned exp, unsigned walk) {
    return depth_of(r, r->exps[exp].top.value) == walk;
}

void rows_remark_walks(rows *r) {
    for (size_t i = 0; i < r->k.g->reduction_count; i++)
        if (r->walks[i] > 1)
            tile_missed_at(
                r->k.s->compute, rows_op(r, i), "not in one walk",
                "sums of products of exp(x - reduce_max(x)), differences from the mean and factors "
                "of the row need not wait",
                "it needs the result of another reduction of the same rows, so the rows are read "
                "again");
}
