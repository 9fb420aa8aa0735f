/* Online sums: sums whose terms depend on other reductions of the same loop; see assign_loops.c. */
#include <float.h>
#include <math.h>

#include "passes/schedule/rows/rows.h"

#include "lib/ir/syntax.h"

static tile_value number(rows *r, const tile_type *type, double value) {
    return tile_build_constant(&r->k.b, type, tile_expr_float(r->k.s->context, value));
}

static const tile_type *type_of(const rows *r, tile_value value) {
    return sched_compute_type(r->k.s, sched_element(r->k.s, value));
}

static tile_value value_at(rows *r, const sched_mapped_value *at, const tile_type *type) {
    return sched_value(&r->k, at->value, &at->map, type);
}

/* Carried values: the sum; the sums without one difference or the other; the sum without both. */
typedef struct sums {
    unsigned without[2], weights, count; /* 0: absent */
} sums;

static bool has_weights(const rows_online_sum *online_sum) {
    return online_sum->factor_count || online_sum->exp >= 0;
}

static sums sums_of(const rows_online_sum *online_sum) {
    sums at = {.count = 1};
    bool square = online_sum->centre_count == 2 && online_sum->centres[0] == online_sum->centres[1];
    if (online_sum->centre_count == 2) at.without[0] = at.count++;
    if (online_sum->centre_count == 2) at.without[1] = square ? at.without[0] : at.count++;
    if (online_sum->centre_count && has_weights(online_sum)) at.weights = at.count++;
    return at;
}

unsigned rows_count_carried(const rows *r, size_t index) {
    if (r->online_sum[index].is_online) return sums_of(&r->online_sum[index]).count;
    return rows_returns_index(r, index) ? 2 : 1;
}

/* Before the loop ------------------------------------------------------------------------------ */

/* Makes elements after the end of the row 0. */
static tile_value mask_tail(rows *r, size_t index, tile_value tile) {
    sched_kernel *k = &r->k;
    tile = sched_broadcast_to_tile(k, tile);
    if (!tile.id || rows_tail_is_neutral(r, index)) return tile;
    tile_value end = sched_number(k, sched_expr(k->s, r->extent));
    tile_value inside = tile_build_lt(&k->b, rows_index_along(r), end);
    return tile_build_select(&k->b, inside, tile, number(r, rows_type(r, index), 0));
}

static tile_value combine_final(rows *r, size_t index, tile_value tile) {
    if (r->one_element_along || !tile.id) return tile;
    return tile_op_result(r->k.f, rows_build_along(r, TILE_OP_reduce, tile, rows_op(r, index)), 0);
}

/* Returns the element closest to the tile's mean, so that sums of integers remain integers. */
static tile_value find_nearest(rows *r, const tile_type *type, tile_value x, tile_value mean) {
    tile_builder *to = &r->k.b;
    tile_value end = sched_number(&r->k, sched_expr(r->k.s, r->extent));
    tile_value inside = tile_build_lt(to, rows_index_along(r), end);
    tile_value low = tile_build_and(to, inside, tile_build_le(to, x, mean));
    tile_value high = tile_build_and(to, inside, tile_build_ge(to, x, mean));
    low = rows_reduce(r, tile_build_select(to, low, x, number(r, type, -INFINITY)), "max");
    high = rows_reduce(r, tile_build_select(to, high, x, number(r, type, INFINITY)), "min");
    tile_value above = tile_build_sub(to, high, mean), below = tile_build_sub(to, mean, low);
    return tile_build_select(to, tile_build_le(to, below, above), low, high);
}

/* The mean of a tile. */
static tile_value build_mean(rows *r, size_t index, tile_value x) {
    sched_kernel *k = &r->k;
    tile_value sum = combine_final(r, index, mask_tail(r, index, x));
    tile_value block = sched_number(k, k->block[r->t]);
    tile_value count = tile_build_min(&k->b, sched_number(k, sched_expr(k->s, r->extent)), block);
    count = tile_build_max(&k->b, count, tile_build_int(&k->b, 1));
    return tile_build_div(&k->b, sum, sched_convert(k, count, rows_type(r, index)));
}

/* The element of the first tile that is closest to the tile's mean, or 0 if it is not finite. Sums
 * are correct for any reference value. */
static tile_value build_near(rows *r, size_t index, const rows_centered *centre) {
    sched_kernel *k = &r->k;
    const tile_type *type = rows_type(r, index);
    size_t mark = sched_enter(k);
    k->start[r->axis] = tile_build_int(&k->b, 0);
    tile_value shifted_mean = sched_broadcast_to_tile(k, value_at(r, &centre->x, type));
    if (shifted_mean.id && !r->one_element_along)
        shifted_mean = find_nearest(r, type, shifted_mean, build_mean(r, index, shifted_mean));
    sched_leave(k, mark);
    if (!shifted_mean.id) return shifted_mean;
    tile_value finite =
        tile_build_lt(&k->b, tile_build_abs(&k->b, shifted_mean), number(r, type, INFINITY));
    return tile_build_select(&k->b, finite, shifted_mean, number(r, type, 0));
}

void rows_begin_online_sum(rows *r, size_t index, rows_loop *loop_index, rows_carried *c) {
    const rows_online_sum *online_sum = &r->online_sum[index];
    for (unsigned i = 0; i < online_sum->centre_count; i++) {
        unsigned centre = (unsigned)online_sum->centres[i];
        if (!loop_index->shifted_mean[centre].id)
            loop_index->shifted_mean[centre] = build_near(r, index, &r->centres[centre]);
    }
    for (unsigned i = rows_count_carried(r, index); i > 0; i--)
        c->at[c->values++] = sched_broadcast_to_tile(&r->k, number(r, rows_type(r, index), 0));
}

/* Corrections ---------------------------------------------------------------------------------- */

/* The top that is subtracted, made finite: a row that so far contains only -inf has no finite
 * maximum. */
static tile_value build_top(rows *r, const rows_exponential *e) {
    tile_builder *to = &r->k.b;
    const tile_type *type = type_of(r, e->x.value);
    double most = type->scalar == TILE_f64 ? DBL_MAX : FLT_MAX;
    tile_value top = value_at(r, &e->top, type);
    if (!top.id) return top;
    /* A bound that is not an element's value may be infinite although the elements are finite. */
    if (!sched_is_row_maximum(r->k.s, e->top.value))
        top = tile_build_min(to, top, number(r, type, most));
    return tile_build_max(to, top, number(r, type, -most));
}

static tile_value build_exp(rows *r, const rows_exponential *e, tile_value difference) {
    sched_kernel *k = &r->k;
    const tile_op_data *data = tile_op_at(k->s->compute, e->op);
    tile_value by = e->by.value.id ? value_at(r, &e->by, type_of(r, e->x.value)) : TILE_NO_VALUE;
    if (by.id) difference = tile_build_mul(&k->b, difference, by);
    const tile_segment segments[] = {{difference, NULL, 0}};
    tile_op op = tile_build_op_of(&k->b, tile_op_opcode(k->s->compute, e->op), segments, 1, NULL,
                                  data->attrs, data->attr_count);
    for (unsigned i = 0; op.id && i < data->attr_count; i++)
        tile_op_take_attr(k->f, op, k->s->compute, e->op, data->attrs[i].id);
    return tile_op_result(k->f, op, 0);
}

/* During the loop, the carried values stand for the results of its reductions. */
static void remember_carried(rows *r, const rows_carried *c, const tile_value *carried) {
    sched_kernel *k = &r->k;
    sched_map map = sched_identity(&k->g->domain);
    map.at[r->axis] = sched_zero_coordinate();
    for (unsigned i = 0, at = 0; i < c->count; i++) {
        size_t index = c->reductions[i];
        if (!r->online_sum[index].is_online)
            sched_remember(k, tile_op_result(k->s->compute, rows_op(r, index), 0), &map,
                           rows_type(r, index), carried[at]);
        at += rows_count_carried(r, index);
    }
}

/* Computes the tops of the loop's exponentials from the carried values. */
static void build_tops(rows *r, unsigned loop_index, const rows_carried *c,
                       const tile_value *carried, tile_value *tops) {
    size_t mark = sched_enter(&r->k);
    remember_carried(r, c, carried);
    for (unsigned i = 0; i < r->exp_count && !r->k.s->failed; i++)
        if (rows_is_of_loop(r, i, loop_index))
            tops[i] = sched_broadcast_to_tile(&r->k, build_top(r, &r->exps[i]));
    sched_leave(&r->k, mark);
}

void rows_rescale(rows *r, unsigned loop_index, const rows_carried *c, const tile_value *before,
                  const tile_value *now, rows_loop *w) {
    tile_value old[ROWS_MAX_ONLINE_SUMS] = {{0}};
    build_tops(r, loop_index, c, now, w->now);
    if (before) build_tops(r, loop_index, c, before, old);
    for (unsigned i = 0; i < r->exp_count && before && !r->k.s->failed; i++)
        if (old[i].id)
            w->correction[i] =
                build_exp(r, &r->exps[i], tile_build_sub(&r->k.b, old[i], w->now[i]));
}

/* In the loop ---------------------------------------------------------------------------------- */

static tile_value exp_of(rows *r, unsigned index, rows_loop *w) {
    const rows_exponential *e = &r->exps[index];
    if (w->exps[index].id) return w->exps[index];
    tile_value x = sched_broadcast_to_tile(&r->k, value_at(r, &e->x, type_of(r, e->x.value)));
    if (!x.id) return x;
    return w->exps[index] = build_exp(r, e, tile_build_sub(&r->k.b, x, w->now[index]));
}

static tile_value times(rows *r, tile_value a, tile_value b) {
    return a.id ? tile_build_mul(&r->k.b, a, b) : b;
}

/* The factors of the differences; 0: none. */
static tile_value weight_of(rows *r, size_t index, rows_loop *w) {
    const rows_online_sum *online_sum = &r->online_sum[index];
    tile_value weight =
        online_sum->exp >= 0 ? exp_of(r, (unsigned)online_sum->exp, w) : TILE_NO_VALUE;
    for (unsigned i = 0; i < online_sum->factor_count && !r->k.s->failed; i++) {
        const sched_deferred_factor *factor = &online_sum->factors[i];
        tile_value more = value_at(r, &factor->row, rows_type(r, index));
        if (!more.id) return more;
        if (factor->divides && !weight.id) weight = number(r, rows_type(r, index), 1);
        weight = factor->divides ? tile_build_div(&r->k.b, weight, more) : times(r, weight, more);
    }
    if (!online_sum->seen.value.id || !weight.id) return weight;
    tile_value seen = value_at(r, &online_sum->seen, tile_type_scalar(r->k.s->context, TILE_i1));
    return seen.id ? tile_build_select(&r->k.b, seen, sched_broadcast_to_tile(&r->k, weight),
                                       number(r, rows_type(r, index), 0))
                   : seen;
}

/* sum * correction + a * b, without factors and terms that are absent. */
static void add(rows *r, tile_value *sum, tile_value correction, tile_value a, tile_value b) {
    tile_builder *to = &r->k.b;
    if (correction.id && !b.id)
        *sum = tile_build_fma(to, *sum, correction, a);
    else if (correction.id)
        *sum = tile_build_mul(to, *sum, correction);
    if (b.id)
        *sum = tile_build_fma(to, a, b, *sum);
    else if (!correction.id)
        *sum = tile_build_add(to, *sum, a);
}

void rows_add_online_sum(rows *r, size_t index, rows_loop *w, bool first, tile_value *sum) {
    const rows_online_sum *online_sum = &r->online_sum[index];
    const tile_type *type = rows_type(r, index);
    const sums at = sums_of(online_sum);
    const tile_value none = TILE_NO_VALUE;
    tile_value correction = first && online_sum->exp >= 0 ? w->correction[online_sum->exp] : none;
    tile_value d[ROWS_MAX_CENTRES] = {{0}}, weight = weight_of(r, index, w);
    if (!weight.id && !online_sum->centre_count) weight = number(r, type, 1);
    if (weight.id) weight = mask_tail(r, index, weight);
    for (unsigned i = 0; i < online_sum->centre_count && !r->k.s->failed; i++) {
        tile_value x = value_at(r, &r->centres[online_sum->centres[i]].x, type);
        if (!x.id) return;
        if (i && online_sum->centres[0] == online_sum->centres[1])
            d[i] = d[0];
        else
            d[i] = mask_tail(r, index,
                             tile_build_sub(&r->k.b, sched_broadcast_to_tile(&r->k, x),
                                            w->shifted_mean[online_sum->centres[i]]));
    }
    if (r->k.s->failed) return;
    tile_value a = d[0].id ? times(r, weight, d[0]) : weight;
    add(r, &sum[0], correction, a, d[1]);
    if (at.without[0])
        add(r, &sum[at.without[0]], correction, weight.id ? weight : d[1], weight.id ? d[1] : none);
    if (at.without[1] > at.without[0]) add(r, &sum[at.without[1]], correction, a, none);
    if (at.weights) add(r, &sum[at.weights], correction, weight, none);
}

/* After the loop ------------------------------------------------------------------------------- */

/* With an infinite element the mean is infinite or NaN, and its difference is NaN. Plain squares
 * need no select, because they already give NaN. */
static tile_value if_finite(rows *r, tile_value by, tile_value sum) {
    tile_builder *to = &r->k.b;
    const tile_type *type = tile_value_type(r->k.f, by);
    tile_type draft = {.kind = TILE_TYPE_SCALAR, .scalar = type->scalar};
    type = tile_type_get(r->k.s->context, &draft);
    tile_value finite = tile_build_lt(to, tile_build_abs(to, by), number(r, type, INFINITY));
    return tile_build_select(to, finite, sum, number(r, type, NAN));
}

/* Shifts the differences from the reference values to the means. without[0] lacks the first
 * difference, without[1] the second. */
static tile_value move_centres(rows *r, size_t index, const rows_loop *w, const tile_value *sum) {
    sched_kernel *k = &r->k;
    tile_builder *to = &k->b;
    const rows_online_sum *online_sum = &r->online_sum[index];
    const tile_type *type = rows_type(r, index);
    const sums at = sums_of(online_sum);
    tile_value count = at.weights
                           ? sum[at.weights]
                           : sched_convert(k, sched_number(k, sched_expr(k->s, r->extent)), type);
    tile_value by[ROWS_MAX_CENTRES] = {{0}}, sum_of_all;
    for (unsigned i = 0; i < online_sum->centre_count; i++) {
        tile_value mean = value_at(r, &r->centres[online_sum->centres[i]].mean, type);
        if (!mean.id) return mean;
        by[i] = tile_build_sub(to, w->shifted_mean[online_sum->centres[i]], mean);
    }
    if (online_sum->centre_count == 1)
        return if_finite(r, by[0], tile_build_fma(to, by[0], count, sum[0]));
    tile_value inner = tile_build_fma(to, by[1], count, sum[at.without[0]]);
    if (at.without[0] == at.without[1]) {
        inner = tile_build_add(to, inner, sum[at.without[0]]);
        sum_of_all = tile_build_fma(to, by[0], inner, sum[0]);
        return at.weights ? if_finite(r, by[0], sum_of_all) : sum_of_all;
    }
    sum_of_all = tile_build_fma(to, by[1], sum[at.without[1]], sum[0]);
    sum_of_all = tile_build_fma(to, by[0], inner, sum_of_all);
    return if_finite(r, by[0], if_finite(r, by[1], sum_of_all));
}

/* If all elements of a row are -inf, the compute has exp(-inf - -inf), which is NaN. If the top is
 * inf but no element is, all terms are 0, except those of infinite elements, which are NaN. */
static tile_value restore_nan(rows *r, const rows_exponential *e, tile_value sum) {
    tile_builder *to = &r->k.b;
    const tile_type *type = type_of(r, e->x.value);
    bool floor = sched_has_floor(r->k.s, e->top.value),
         is_row_maximum = sched_is_row_maximum(r->k.s, e->top.value);
    if (floor && is_row_maximum) return sum;
    tile_value top = value_at(r, &e->top, type);
    if (!top.id) return top;
    if (!is_row_maximum) {
        tile_value none = tile_build_mul(to, sum, number(r, type, 0));
        sum = tile_build_select(to, tile_build_eq(to, top, number(r, type, INFINITY)), none, sum);
    }
    if (floor) return sum;
    tile_value lost = tile_build_eq(to, top, number(r, type, -INFINITY));
    return tile_build_select(to, lost, number(r, type, NAN), sum);
}

static tile_value apply_deferred(rows *r, size_t index, tile_value sum) {
    sched_kernel *k = &r->k;
    const rows_online_sum *online_sum = &r->online_sum[index];
    for (unsigned i = 0; i < online_sum->deferred_count; i++) {
        tile_value row = value_at(r, &online_sum->deferred[i].row, rows_type(r, index));
        if (!row.id) return row;
        sum = online_sum->deferred[i].divides ? tile_build_div(&k->b, sum, row)
                                              : tile_build_mul(&k->b, sum, row);
    }
    return online_sum->negative ? tile_build_neg(&k->b, sum) : sum;
}

/* For a row without elements the sum is 0, whatever its mean is. */
static tile_value if_not_empty(rows *r, size_t index, tile_value sum) {
    sched_kernel *k = &r->k;
    if (r->known > 0) return sum;
    tile_value any = tile_build_gt(&k->b, sched_number(k, sched_expr(k->s, r->extent)),
                                   tile_build_int(&k->b, 0));
    return tile_build_select(&k->b, any, sum, number(r, rows_type(r, index), 0));
}

void rows_finish_online_sum(rows *r, size_t index, const rows_loop *w, const tile_value *sum) {
    sched_kernel *k = &r->k;
    const rows_online_sum *online_sum = &r->online_sum[index];
    const rows_exponential *e = online_sum->exp < 0 ? NULL : &r->exps[online_sum->exp];
    tile_value whole[4] = {{0}}, correction = TILE_NO_VALUE;
    if (e && !r->one_element_along) {
        tile_value top = build_top(r, e);
        if (!top.id) return;
        correction = build_exp(r, e, tile_build_sub(&k->b, w->now[online_sum->exp], top));
    }
    for (unsigned i = 0; i < rows_count_carried(r, index); i++) {
        tile_value tile = correction.id ? tile_build_mul(&k->b, sum[i], correction) : sum[i];
        whole[i] = combine_final(r, index, tile);
    }
    tile_value value = online_sum->centre_count ? move_centres(r, index, w, whole) : whole[0];
    if (value.id && e) value = restore_nan(r, e, value);
    if (value.id) value = apply_deferred(r, index, value);
    if (!value.id) return;
    value = if_not_empty(r, index, value);
    value = r->one_element_along
                ? sched_broadcast_to_tile(k, value)
                : sched_broadcast_to(k, value, rows_row_type(r, rows_type(r, index)));
    rows_remember_results(r, index, value, TILE_NO_VALUE);
}
