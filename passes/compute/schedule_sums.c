/* Rows tile by tile: each place of a tile has a sum of its own, and these are combined at the end,
 * if there are several along the axis.
 *
 * In parts, the tiles of a row are dealt out to blocks:
 *
 *     %sums = for %part = 0 to split iter (%s = 0.0 : tile<f32[1, columns]>) split (split,
 * strategy) { %own = for %i = %part * rows to %m step split * rows iter (.. : tile<f32[rows,
 * columns]>) { .. } yield %s + reduce_add(%own, axis = 0)
 *     }
 *
 * Each part is an iteration of the outer loop, which split-k gives a block of its own; what blocks
 * hand on is what is left of their tiles, a row. With a split of 1 the outer loop is none. */
#include "passes/compute/schedule_rows.h"

#include "lib/ir/syntax.h"

static tile_value with_nan(rows *r, size_t index, tile_value extreme) {
    if (rows_takes_nan(r, index))
        tile_op_set_flag(r->k.f, tile_value_def(r->k.f, extreme), TILE_ATTR_nan);
    return extreme;
}

static tile_value combine(rows *r, size_t index, tile_value a, tile_value b) {
    tile_builder *to = &r->k.b;
    switch (rows_kind(r, index)) {
    case TILE_WORD_kind_add: return tile_build_add(to, a, b);
    case TILE_WORD_kind_mul: return tile_build_mul(to, a, b);
    case TILE_WORD_kind_min: return with_nan(r, index, tile_build_min(to, a, b));
    case TILE_WORD_kind_max: return with_nan(r, index, tile_build_max(to, a, b));
    case TILE_WORD_kind_and: return tile_build_and(to, a, b);
    case TILE_WORD_kind_or: return tile_build_or(to, a, b);
    case TILE_WORD_kind_xor: return tile_build_xor(to, a, b);
    default: break;
    }
    SCHED_FAIL(r->k.s, r->k.g->reductions[index], "this kind of reduction is not scheduled yet");
    return TILE_NO_VALUE;
}

/* Whether b goes before a, which has a lower coordinate: not where they are equal. */
static tile_value is_better(rows *r, size_t index, tile_value a, tile_value b) {
    tile_builder *to = &r->k.b;
    bool largest = rows_kind(r, index) == TILE_WORD_kind_max;
    tile_value better = largest ? tile_build_gt(to, b, a) : tile_build_lt(to, b, a);
    if (!tile_scalar_is_floating(rows_type(r, index)->scalar)) return better;
    tile_value nan = tile_build_ne(to, a, a), fine = tile_build_eq(to, b, b);
    return tile_build_or(to, better, tile_build_and(to, nan, fine));
}

/* Carried values: one of each reduction of the level, two of those that find a place. */
typedef struct carried {
    size_t reductions[64];
    unsigned count, values;
    tile_value at[128];
} carried;

static void begin_sums(rows *r, unsigned level, carried *c) {
    sched_kernel *k = &r->k;
    k->start[r->axis] = tile_build_int(&k->b, 0);
    for (size_t i = 0; i < k->g->reduction_count; i++) {
        if (r->levels[i] != level) continue;
        if (c->count == 64) {
            SCHED_FAIL(k->s, k->g->reductions[i],
                       "more than 64 reductions of the same rows: compute some of them in another "
                       "compute");
            return;
        }
        c->reductions[c->count++] = i;
        c->at[c->values++] = sched_full(k, rows_identity_of(r, i));
        if (rows_finds_place(r, i)) c->at[c->values++] = sched_full(k, rows_place_along(r));
    }
}

static void add_elements(rows *r, const carried *c, tile_region body, tile_value *next) {
    sched_kernel *k = &r->k;
    for (unsigned i = 0, at = 0; i < c->count; i++) {
        size_t index = c->reductions[i];
        tile_value elements = rows_elements_of(r, index);
        tile_value sum = tile_region_arg(k->f, body, at + 1);
        if (!elements.id) return;
        if (!rows_finds_place(r, index)) {
            next[at++] = combine(r, index, sum, elements);
            continue;
        }
        tile_value better = is_better(r, index, sum, elements);
        tile_value place = tile_region_arg(k->f, body, at + 2);
        next[at++] = tile_build_select(&k->b, better, elements, sum);
        next[at++] = tile_build_select(&k->b, better, sched_full(k, rows_place_along(r)), place);
    }
}

/* A loop along the rows; the builder stands in it, before its yield, until leave_loop. */
typedef struct loop {
    tile_op op;
    tile_builder outside;
    size_t mark;
} loop;

static loop enter_steps(rows *r, tile_value begin, tile_value end, tile_value step,
                        const tile_value *inits, unsigned count) {
    sched_kernel *k = &r->k;
    loop l = {.mark = sched_enter(k)};
    l.op = tile_build_for_loop(&k->b, begin, end, step, inits, count);
    l.outside = k->b;
    tile_region body = tile_op_region(k->f, l.op, 0);
    k->b = tile_builder_at_end(k->f, body);
    k->start[r->axis] = tile_region_arg(k->f, body, 0);
    return l;
}

static loop enter_loop(rows *r, const tile_value *inits, unsigned count) {
    enum { MOST_COPIES = 16 };
    sched_kernel *k = &r->k;
    const tile_expr *step = r->walked ? tile_expr_int(k->s->context, 1) : k->block[r->t];
    loop l = enter_steps(r, tile_build_int(&k->b, 0), sched_number(k, sched_expr(k->s, r->extent)),
                         sched_number(k, step), inits, count);
    if (r->walked && r->known > 1)
        tile_op_set_int(k->f, l.op, TILE_ATTR_unroll, r->known < MOST_COPIES ? r->known : 4);
    return l;
}

static void leave_loop(rows *r, const loop *l, const tile_value *next, unsigned count) {
    tile_build_yield(&r->k.b, next, count);
    r->k.b = l->outside;
    sched_leave(&r->k, l->mark);
}

/* Of equal ones the lowest coordinate; where all are NaN, the first. */
static tile_value find_place(rows *r, tile_value values, tile_value places, tile_value best) {
    tile_builder *b = &r->k.b;
    sched_kernel *k = &r->k;
    tile_value here = tile_build_eq(b, values, best);
    const tile_type *type = tile_value_type(k->f, values);
    if (tile_scalar_is_floating(type->scalar))
        here = tile_build_or(b, here, sched_full(k, tile_build_ne(b, best, best)));
    tile_value candidates = tile_build_select(b, here, places, tile_build_int(b, INT32_MAX));
    const tile_segment segments[] = {{candidates, NULL, 0}, {TILE_NO_VALUE, NULL, 0}};
    const tile_attr axis = {.id = TILE_ATTR_axis, .expr = tile_expr_int(k->s->context, r->t)};
    tile_op op = tile_build_op_of(b, TILE_OP_reduce, segments, 2, NULL, &axis, 1);
    tile_op_set_text(k->f, op, TILE_ATTR_kind, "min");
    tile_op_set_int(k->f, op, TILE_ATTR_axis, r->t);
    return tile_op_result(k->f, op, 0);
}

/* What is left of a tile's places of reduction i, whose carried values begin at *at. */
static tile_value finish_sum(rows *r, const carried *c, unsigned i, unsigned *at, tile_op op,
                             tile_value *place) {
    size_t index = c->reductions[i];
    tile_value sums = tile_op_result(r->k.f, op, (*at)++);
    *place = rows_finds_place(r, index) ? tile_op_result(r->k.f, op, (*at)++) : TILE_NO_VALUE;
    if (r->walked) return sums;
    tile_op along = rows_build_along(r, TILE_OP_reduce, sums, r->k.g->reductions[index]);
    tile_value best = tile_op_result(r->k.f, along, 0);
    if (place->id) *place = find_place(r, sums, *place, best);
    return best;
}

static void finish_sums(rows *r, const carried *c, tile_op op) {
    for (unsigned i = 0, at = 0; i < c->count; i++) {
        tile_value place, best = finish_sum(r, c, i, &at, op, &place);
        rows_remember_results(r, c->reductions[i], best, place);
    }
}

void rows_build_tile_by_tile(rows *r) {
    size_t mark = sched_enter(&r->k);
    for (unsigned level = 1; level <= r->last && !r->k.s->failed; level++) {
        carried c = {.count = 0};
        tile_value next[128] = {{0}};
        begin_sums(r, level, &c);
        loop l = enter_loop(r, c.at, c.values);
        add_elements(r, &c, tile_op_region(r->k.f, l.op, 0), next);
        leave_loop(r, &l, next, c.values);
        finish_sums(r, &c, l.op);
    }
    rows_store_outputs(r, true);
    if (rows_has_long_output(r)) {
        loop l = enter_loop(r, NULL, 0);
        rows_store_outputs(r, false);
        leave_loop(r, &l, NULL, 0);
    }
    sched_leave(&r->k, mark);
}

/* In parts ------------------------------------------------------------------------------------- */

/* What is left of a tile along the axis. */
static const tile_type *row_type(const rows *r, const tile_type *element) {
    const tile_expr *dims[SCHED_MAX_TILE];
    for (unsigned t = 0; t < r->k.tile_rank; t++)
        dims[t] = t == r->t ? tile_expr_int(r->k.s->context, 1) : r->k.block[t];
    return sched_tile_type(&r->k, element, dims);
}

/* The part's own rows, combined with what stands before; next: what the outer loop goes on with. */
static void add_part(rows *r, const tile_expr *split, tile_region parts, tile_value *next) {
    sched_kernel *k = &r->k;
    const tile_expr *rows_of_all = tile_expr_multiply(k->s->context, split, k->block[r->t]);
    tile_value end = sched_number(k, sched_expr(k->s, r->extent)), more[128] = {{0}};
    tile_value begin =
        tile_build_mul(&k->b, tile_region_arg(k->f, parts, 0), sched_number(k, k->block[r->t]));
    carried c = {.count = 0};
    begin_sums(r, 1, &c);
    loop l = enter_steps(r, begin, end, sched_number(k, rows_of_all), c.at, c.values);
    add_elements(r, &c, tile_op_region(k->f, l.op, 0), more);
    leave_loop(r, &l, more, c.values);
    for (unsigned i = 0, at = 0; i < c.count && !k->s->failed; i++) {
        tile_value place, best = finish_sum(r, &c, i, &at, l.op, &place);
        size_t index = c.reductions[i];
        tile_value before = tile_region_arg(k->f, parts, i + 1);
        if (rows_finds_place(r, index))
            next[i] = tile_build_max(&k->b, before, rows_build_key(r, index, best, place));
        else
            next[i] = combine(r, index, before, best);
    }
}

/* What the outer loop carries of a reduction begins so. */
static tile_value first_part(rows *r, size_t index) {
    bool key = rows_finds_place(r, index);
    const tile_type *type = key ? tile_type_scalar(r->k.s->context, TILE_i64) : rows_type(r, index);
    return tile_build_splat(&r->k.b, key ? rows_least_key(r) : rows_identity_of(r, index),
                            row_type(r, type));
}

static void remember_part(rows *r, size_t index, tile_value part) {
    if (rows_finds_place(r, index))
        rows_remember_results(r, index, rows_value_of_key(r, index, part),
                              rows_place_of_key(r, part));
    else
        rows_remember_results(r, index, part, TILE_NO_VALUE);
}

void rows_build_in_parts(rows *r, const tile_expr *split, const tile_expr *strategy) {
    sched_kernel *k = &r->k;
    size_t mark = sched_enter(k), count = k->g->reduction_count;
    tile_value *values = TILE_NEW_ARRAY(k->s->arena, tile_value, 2 * count + 1);
    for (size_t i = 0; i < count; i++) values[i] = first_part(r, i);
    loop l = enter_steps(r, tile_build_int(&k->b, 0), sched_number(k, split),
                         tile_build_int(&k->b, 1), values, (unsigned)count);
    tile_op_set_expr(k->f, l.op, TILE_ATTR_split, split);
    tile_op_set_expr(k->f, l.op, TILE_ATTR_strategy, strategy);
    add_part(r, split, tile_op_region(k->f, l.op, 0), values + count);
    leave_loop(r, &l, values + count, (unsigned)count);
    for (size_t i = 0; i < count; i++) remember_part(r, i, tile_op_result(k->f, l.op, (unsigned)i));
    rows_store_outputs(r, true);
    sched_leave(k, mark);
}
