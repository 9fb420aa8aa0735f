/* Rows tile by tile: each position of a tile has a separate partial sum. If a tile has several
 * positions along the axis, these are combined at the end.
 *
 * With parts, the tiles of a row are distributed over blocks:
 *
 *     %sums = for %part = 0 to split iter (%s = 0.0 : tile<f32[1, columns]>)
 *         split (split, strategy) {
 *       %own = for %i = %part * rows to %m step split * rows
 *           iter (.. : tile<f32[rows, columns]>) { .. }
 *       yield %s + reduce_add(%own, axis = 0)
 *     }
 *
 * If a position of the tile has many terms, they are summed in chunks (kernel/long.c): the loop
 * along the rows is nested in a loop over chunks.
 *
 * Each part is an iteration of the outer loop, which split-k assigns to a separate block. Blocks
 * pass on the remainder of their tiles, one row. With a split of 1 there is no outer loop. */
#include "passes/schedule/rows/rows.h"

#include <string.h>

#include "lib/ir/syntax.h"
#include "passes/schedule/kernel/long.h"

tile_value rows_combine(rows *r, size_t index, tile_value a, tile_value b) {
    tile_value out = sched_combine(&r->k, rows_kind(r, index), rows_propagates_nan(r, index), a, b);
    if (!out.id)
        SCHED_FAIL(r->k.s, r->k.g->reductions[index],
                   "this kind of reduction is not scheduled yet");
    return out;
}

static tile_value is_better(rows *r, size_t index, tile_value a, tile_value b) {
    return sched_is_better(&r->k, rows_kind(r, index), a, b);
}

static void begin_sums(rows *r, unsigned loop_index, rows_loop *w, rows_carried *c) {
    sched_kernel *k = &r->k;
    for (size_t i = 0; i < k->g->reduction_count; i++) {
        if (r->loops[i] != loop_index) continue;
        if (c->count == ROWS_MAX_REDUCTIONS) {
            SCHED_FAIL(k->s, k->g->reductions[i],
                       "more than %d reductions of the same rows: compute some of them in a "
                       "separate compute",
                       TILE_MAX_ROW_REDUCTIONS);
            return;
        }
        c->reductions[c->count++] = i;
        if (r->online_sum[i].is_online) {
            rows_begin_online_sum(r, i, w, c);
            continue;
        }
        k->start[r->axis] = tile_build_int(&k->b, 0);
        c->at[c->values++] = sched_broadcast_to_tile(k, rows_identity_of(r, i));
        if (rows_returns_index(r, i))
            c->at[c->values++] = sched_broadcast_to_tile(k, rows_index_along(r));
    }
}

/* Adds the elements of the tile to the sums that depend on no other reduction; sums: the carried
 * values. */
static void add_elements(rows *r, const rows_carried *c, tile_value *sums) {
    sched_kernel *k = &r->k;
    for (unsigned i = 0, at = 0; i < c->count; at += rows_count_carried(r, c->reductions[i++])) {
        size_t index = c->reductions[i];
        if (r->online_sum[index].is_online) continue;
        tile_value elements = rows_elements_of(r, index), sum = sums[at];
        if (!elements.id) return;
        if (!rows_returns_index(r, index)) {
            sums[at] = rows_combine(r, index, sum, elements);
            continue;
        }
        tile_value better = is_better(r, index, sum, elements);
        sums[at] = tile_build_select(&k->b, better, elements, sum);
        sums[at + 1] = tile_build_select(
            &k->b, better, sched_broadcast_to_tile(k, rows_index_along(r)), sums[at + 1]);
    }
}

static void add_late(rows *r, const rows_carried *c, rows_loop *w, bool first, tile_value *sums) {
    memset(w->exps, 0, sizeof w->exps);
    for (unsigned i = 0, at = 0; i < c->count && !r->k.s->failed; i++) {
        size_t index = c->reductions[i];
        if (r->online_sum[index].is_online) rows_add_online_sum(r, index, w, first, sums + at);
        at += rows_count_carried(r, index);
    }
}

/* A loop along the rows. Until leave_loop, the builder inserts before its yield. */
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

/* The distance between the tiles of one step. */
static const tile_expr *tile_step(const rows *r) {
    return r->one_element_along ? tile_expr_int(r->k.s->context, 1) : r->k.block[r->t];
}

static loop enter_loop(rows *r, const tile_value *inits, unsigned count) {
    enum { MAX_COPIES = 16 };
    sched_kernel *k = &r->k;
    const tile_expr *step = tile_expr_multiply(
        k->s->context, tile_expr_int(k->s->context, (int)r->copies), tile_step(r));
    loop l = enter_steps(r, tile_build_int(&k->b, 0), rows_loop_end(r), sched_number(k, step),
                         inits, count);
    if (r->one_element_along && r->known > 1)
        tile_op_set_int(k->f, l.op, TILE_ATTR_unroll, r->known < MAX_COPIES ? r->known : 4);
    return l;
}

static void leave_loop(rows *r, const loop *l, const tile_value *next, unsigned count) {
    tile_build_yield(&r->k.b, next, count);
    r->k.b = l->outside;
    sched_leave(&r->k, l->mark);
}

/* Chunks --------------------------------------------------------------------------------------- */

/* Returns whether a position of the tile has so many terms of an f32 sum that they are summed in
 * chunks. */
static bool has_chunks(const rows *r, const rows_carried *c) {
    int64_t terms = r->known < 0 ? -1 : r->known / r->least;
    bool adds = false;
    for (unsigned i = 0; i < c->count; i++) {
        size_t index = c->reductions[i];
        if (r->online_sum[index].is_online) return false;
        adds |=
            rows_kind(r, index) == TILE_WORD_kind_add && rows_type(r, index)->scalar == TILE_f32;
    }
    return adds && !r->one_element_along && r->least < ROWS_MANY && sched_needs_chunks(terms);
}

/* Builds a loop over chunks of the steps from *begin to *end, which become those of one chunk. */
static loop enter_chunks(rows *r, const rows_carried *c, tile_value *begin, tile_value *end,
                         tile_value step) {
    sched_kernel *k = &r->k;
    tile_builder *b = &k->b;
    tile_value zero = tile_build_int(b, 0), one = tile_build_int(b, 1);
    tile_value all = tile_build_max(b, tile_build_sub(b, *end, *begin), zero);
    tile_value steps = tile_build_ceildiv(b, all, step), chunk = sched_chunk(k, steps);
    loop l = enter_steps(r, zero, tile_build_ceildiv(b, steps, chunk), one, c->at, c->values);
    tile_value length = tile_build_mul(b, chunk, step), number = k->start[r->axis];
    *begin = tile_build_add(b, *begin, tile_build_mul(b, number, length));
    tile_value left = tile_build_sub(b, *end, *begin);
    *end = tile_build_add(b, *begin, tile_build_min(b, length, left));
    return l;
}

/* Adds the chunk's sums, from the inner loop, to those of previous chunks. Returns the outer
 * loop. */
static tile_op leave_chunks(rows *r, const rows_carried *c, const loop *l, tile_op inner) {
    tile_builder *b = &r->k.b;
    tile_region body = tile_op_region(r->k.f, l->op, 0);
    tile_value next[ROWS_MAX_CARRIED];
    for (unsigned i = 0, at = 0; i < c->count; at += rows_count_carried(r, c->reductions[i++])) {
        size_t index = c->reductions[i];
        tile_value before = tile_region_arg(r->k.f, body, at + 1);
        tile_value own = tile_op_result(r->k.f, inner, at);
        if (!rows_returns_index(r, index)) {
            next[at] = rows_combine(r, index, before, own);
            continue;
        }
        tile_value better = is_better(r, index, before, own);
        next[at] = tile_build_select(b, better, own, before);
        next[at + 1] = tile_build_select(b, better, tile_op_result(r->k.f, inner, at + 1),
                                         tile_region_arg(r->k.f, body, at + 2));
    }
    leave_loop(r, l, next, c->values);
    return l->op;
}

/* One of a step's tiles: its start and the values that are already built for it. */
typedef struct copy {
    tile_value start;
    sched_known *known;
    size_t count;
} copy;

static size_t enter_copy(rows *r, copy *own, tile_value begin, unsigned index) {
    sched_kernel *k = &r->k;
    size_t mark = sched_enter(k);
    if (!own->start.id && index) {
        tile_value by =
            sched_number(k, tile_expr_multiply(k->s->context, tile_expr_int(k->s->context, index),
                                               tile_step(r)));
        own->start = tile_build_add(&k->b, begin, by);
    }
    k->start[r->axis] = index ? own->start : begin;
    for (size_t i = 0; i < own->count; i++) {
        const sched_known *known = &own->known[i];
        tile_value value = {known->value};
        sched_remember(k, value, &known->map, known->element, known->tile);
    }
    return mark;
}

static void leave_copy(rows *r, copy *own, size_t mark) {
    sched_kernel *k = &r->k;
    own->count = k->known_count - mark;
    own->known = TILE_NEW_ARRAY(k->s->arena, sched_known, own->count + 1);
    if (own->count) memcpy(own->known, k->known + mark, own->count * sizeof *own->known);
    sched_leave(k, mark);
}

/* One step of the loop: the maxima of all its tiles are computed before the sums that depend on
 * them. */
static void build_step(rows *r, unsigned loop_index, const rows_carried *c, tile_region body,
                       rows_loop *w, tile_value *next) {
    sched_kernel *k = &r->k;
    copy copies[ROWS_MAX_COPIES] = {{{0}, NULL, 0}};
    tile_value begin = tile_region_arg(k->f, body, 0), before[ROWS_MAX_CARRIED];
    bool online_sum = false;
    for (unsigned i = 0; i < c->values; i++)
        next[i] = before[i] = tile_region_arg(k->f, body, i + 1);
    for (unsigned i = 0; i < c->count; i++) online_sum |= r->online_sum[c->reductions[i]].is_online;
    for (unsigned u = 0; u < r->copies && !k->s->failed; u++) {
        size_t mark = enter_copy(r, &copies[u], begin, u);
        add_elements(r, c, next);
        leave_copy(r, &copies[u], mark);
    }
    if (online_sum && !k->s->failed) rows_rescale(r, loop_index, c, before, next, w);
    for (unsigned u = 0; online_sum && u < r->copies && !k->s->failed; u++) {
        size_t mark = enter_copy(r, &copies[u], begin, u);
        add_late(r, c, w, u == 0, next);
        leave_copy(r, &copies[u], mark);
    }
}

/* The lowest coordinate with the best value; the first coordinate if all elements are NaN. */
static tile_value find_place(rows *r, tile_value values, tile_value places, tile_value best) {
    tile_builder *b = &r->k.b;
    sched_kernel *k = &r->k;
    tile_value here = tile_build_eq(b, values, best);
    const tile_type *type = tile_value_type(k->f, values);
    if (tile_scalar_is_floating(type->scalar))
        here = tile_build_or(b, here, sched_broadcast_to_tile(k, tile_build_ne(b, best, best)));
    tile_value candidates = tile_build_select(b, here, places, tile_build_int(b, INT32_MAX));
    const tile_segment segments[] = {{candidates, NULL, 0}, {TILE_NO_VALUE, NULL, 0}};
    const tile_attr axis = {.id = TILE_ATTR_axis, .expr = tile_expr_int(k->s->context, r->t)};
    tile_op op = tile_build_op_of(b, TILE_OP_reduce, segments, 2, NULL, &axis, 1);
    tile_op_set_text(k->f, op, TILE_ATTR_kind, "min");
    tile_op_set_int(k->f, op, TILE_ATTR_axis, r->t);
    return tile_op_result(k->f, op, 0);
}

/* Combines a tile's positions of reduction i, whose carried values begin at *at. */
static tile_value finish_sum(rows *r, const rows_carried *c, unsigned i, unsigned *at, tile_op op,
                             tile_value *place) {
    size_t index = c->reductions[i];
    tile_value sums = tile_op_result(r->k.f, op, (*at)++);
    *place = rows_returns_index(r, index) ? tile_op_result(r->k.f, op, (*at)++) : TILE_NO_VALUE;
    if (r->one_element_along) return sums;
    tile_op along = rows_build_along(r, TILE_OP_reduce, sums, r->k.g->reductions[index]);
    tile_value best = tile_op_result(r->k.f, along, 0);
    if (place->id) *place = find_place(r, sums, *place, best);
    return best;
}

static void finish_sums(rows *r, unsigned loop_index, const rows_carried *c, rows_loop *w,
                        tile_op op) {
    tile_value results[ROWS_MAX_CARRIED];
    bool online_sum = false;
    for (unsigned i = 0; i < c->values; i++) results[i] = tile_op_result(r->k.f, op, i);
    for (unsigned i = 0; i < c->count; i++) online_sum |= r->online_sum[c->reductions[i]].is_online;
    if (online_sum) rows_rescale(r, loop_index, c, NULL, results, w);
    for (unsigned i = 0, at = 0; i < c->count; i++) {
        tile_value place, best;
        if (r->online_sum[c->reductions[i]].is_online) {
            at += rows_count_carried(r, c->reductions[i]);
            continue;
        }
        best = finish_sum(r, c, i, &at, op, &place);
        rows_remember_results(r, c->reductions[i], best, place);
    }
    for (unsigned i = 0, at = 0; i < c->count && !r->k.s->failed; i++) {
        size_t index = c->reductions[i];
        if (r->online_sum[index].is_online) rows_finish_online_sum(r, index, w, results + at);
        at += rows_count_carried(r, index);
    }
}

static void build_walk(rows *r, unsigned loop_index) {
    rows_carried c = {.count = 0};
    rows_loop w = {.shifted_mean = {{0}}};
    tile_value next[ROWS_MAX_CARRIED] = {{0}};
    begin_sums(r, loop_index, &w, &c);
    if (r->k.s->failed) return;
    bool chunks = has_chunks(r, &c);
    loop outer, l;
    if (chunks) {
        tile_value begin = tile_build_int(&r->k.b, 0), step = sched_number(&r->k, tile_step(r));
        tile_value end = rows_loop_end(r);
        outer = enter_chunks(r, &c, &begin, &end, step);
        l = enter_steps(r, begin, end, step, c.at, c.values);
    } else {
        l = enter_loop(r, c.at, c.values);
    }
    build_step(r, loop_index, &c, tile_op_region(r->k.f, l.op, 0), &w, next);
    leave_loop(r, &l, next, c.values);
    tile_op sums = chunks ? leave_chunks(r, &c, &outer, l.op) : l.op;
    if (!r->k.s->failed) finish_sums(r, loop_index, &c, &w, sums);
}

void rows_build_tile_by_tile(rows *r) {
    size_t mark = sched_enter(&r->k);
    rows_remark_loops(r);
    for (unsigned loop_index = 1; loop_index <= r->last_loop && !r->k.s->failed; loop_index++)
        build_walk(r, loop_index);
    rows_store_outputs(r, true);
    if (rows_has_long_output(r)) {
        loop l = enter_loop(r, NULL, 0);
        tile_value begin = r->k.start[r->axis];
        for (unsigned u = 0; u < r->copies; u++) {
            copy own = {{0}, NULL, 0};
            size_t inner = enter_copy(r, &own, begin, u);
            rows_store_outputs(r, false);
            leave_copy(r, &own, inner);
        }
        leave_loop(r, &l, NULL, 0);
    }
    sched_leave(&r->k, mark);
}

/* In parts ------------------------------------------------------------------------------------- */

const tile_type *rows_row_type(const rows *r, const tile_type *element) {
    const tile_expr *dims[SCHED_MAX_TILE];
    for (unsigned t = 0; t < r->k.tile_rank; t++)
        dims[t] = t == r->t ? tile_expr_int(r->k.s->context, 1) : r->k.block[t];
    return sched_tile_type(&r->k, element, dims);
}

/* The sums of a part's tiles. */
static tile_op sum_part(rows *r, const rows_carried *c, tile_value begin, tile_value end,
                        tile_value step) {
    tile_value more[ROWS_MAX_CARRIED];
    bool chunks = has_chunks(r, c);
    loop outer;
    if (chunks) outer = enter_chunks(r, c, &begin, &end, step);
    loop l = enter_steps(r, begin, end, step, c->at, c->values);
    for (unsigned i = 0; i < c->values; i++)
        more[i] = tile_region_arg(r->k.f, tile_op_region(r->k.f, l.op, 0), i + 1);
    add_elements(r, c, more);
    leave_loop(r, &l, more, c->values);
    return chunks ? leave_chunks(r, c, &outer, l.op) : l.op;
}

/* Adds several tiles that begin at `begin`. All of them are loaded before any is added: otherwise
 * the assembler waits for one load before it issues the next one, to save registers. */
static void add_tiles(rows *r, const rows_carried *c, tile_value begin, tile_value *sums) {
    enum { TILES = ROWS_MAX_COPIES };
    tile_value elements[TILES][ROWS_MAX_REDUCTIONS];
    copy copies[TILES] = {{{0}, NULL, 0}};
    for (unsigned u = 0; u < TILES; u++) {
        size_t mark = enter_copy(r, &copies[u], begin, u);
        for (unsigned i = 0; i < c->count; i++)
            elements[u][i] = rows_elements_of(r, c->reductions[i]);
        leave_copy(r, &copies[u], mark);
    }
    for (unsigned i = 0; i < c->count && !r->k.s->failed; i++) {
        for (unsigned apart = 1; apart < TILES; apart *= 2)
            for (unsigned u = 0; u < TILES; u += 2 * apart)
                elements[u][i] =
                    rows_combine(r, c->reductions[i], elements[u][i], elements[u + apart][i]);
        sums[i] = rows_combine(r, c->reductions[i], sums[i], elements[0][i]);
    }
}

/* The part of a long row: a step has several tiles, of `along` elements together. */
static void sum_long_part(rows *r, tile_value begin, tile_value step, tile_value *results) {
    sched_kernel *k = &r->k;
    const tile_expr *along = k->block[r->t];
    rows_carried c = {.count = 0};
    tile_value more[ROWS_MAX_CARRIED];
    sched_set_tile(k, r->axis, r->t,
                   tile_expr_op(k->s->context, TILE_OP_div, along,
                                tile_expr_int(k->s->context, ROWS_MAX_COPIES), NULL));
    begin_sums(r, 1, NULL, &c);
    loop l =
        enter_steps(r, begin, sched_number(k, sched_expr(k->s, r->extent)), step, c.at, c.values);
    tile_region body = tile_op_region(k->f, l.op, 0);
    for (unsigned i = 0; i < c.values; i++) more[i] = tile_region_arg(k->f, body, i + 1);
    add_tiles(r, &c, tile_region_arg(k->f, body, 0), more);
    leave_loop(r, &l, more, c.values);
    for (unsigned i = 0, at = 0; i < c.count && !k->s->failed; i++) {
        tile_value place;
        results[c.reductions[i]] = finish_sum(r, &c, i, &at, l.op, &place);
    }
    sched_set_tile(k, r->axis, r->t, along);
}

/* Several short rows, which fit their tile. */
static void sum_short_rows(rows *r, tile_value *results) {
    size_t mark = sched_enter(&r->k);
    r->k.start[r->axis] = tile_build_int(&r->k.b, 0);
    for (size_t i = 0; i < r->k.g->reduction_count && !r->k.s->failed; i++) {
        tile_op op = rows_build_along(r, TILE_OP_reduce, rows_elements_of(r, i), rows_op(r, i));
        results[i] = tile_op_result(r->k.f, op, 0);
    }
    sched_leave(&r->k, mark);
}

/* results: by reduction, the sums of the part that begins at `begin`. */
static void sum_lengths(rows *r, tile_value begin, tile_value step, tile_value *results) {
    sched_kernel *k = &r->k;
    const size_t count = k->g->reduction_count;
    const tile_type **types = TILE_NEW_ARRAY(k->s->arena, const tile_type *, count + 1);
    for (size_t i = 0; i < count; i++) types[i] = rows_row_type(r, rows_type(r, i));
    tile_op both = tile_build_if_else(&k->b, rows_has_several(r), types, (unsigned)count);
    tile_builder outside = k->b;
    for (unsigned i = 0; i < 2; i++) {
        k->b = tile_builder_at_end(k->f, tile_op_region(k->f, both, i));
        if (i)
            sum_long_part(r, begin, step, results);
        else
            sum_short_rows(r, results);
        tile_build_yield(&k->b, results, (unsigned)count);
    }
    k->b = outside;
    for (size_t i = 0; i < count; i++) results[i] = tile_op_result(k->f, both, (unsigned)i);
}

bool rows_return_index(const rows *r) {
    for (size_t i = 0; i < r->k.g->reduction_count; i++)
        if (rows_returns_index(r, i)) return true;
    return false;
}

/* Combines the part's own rows with the previous parts; next: the carried values of the outer
 * loop. */
static void add_part(rows *r, const tile_expr *split, tile_region parts, tile_value *next) {
    sched_kernel *k = &r->k;
    const tile_expr *rows_of_all = tile_expr_multiply(k->s->context, split, k->block[r->t]);
    tile_value end = rows_loop_end(r);
    tile_value begin =
        tile_build_mul(&k->b, tile_region_arg(k->f, parts, 0), sched_number(k, k->block[r->t]));
    if (r->short_rows && !rows_return_index(r)) {
        sum_lengths(r, begin, sched_number(k, rows_of_all), next);
        for (size_t i = 0; i < k->g->reduction_count && !k->s->failed; i++)
            next[i] = rows_combine(r, i, tile_region_arg(k->f, parts, (unsigned)i + 1), next[i]);
        return;
    }
    rows_carried c = {.count = 0};
    begin_sums(r, 1, NULL, &c);
    tile_op sums = sum_part(r, &c, begin, end, sched_number(k, rows_of_all));
    for (unsigned i = 0, at = 0; i < c.count && !k->s->failed; i++) {
        tile_value place, best = finish_sum(r, &c, i, &at, sums, &place);
        size_t index = c.reductions[i];
        tile_value before = tile_region_arg(k->f, parts, i + 1);
        if (rows_returns_index(r, index))
            next[i] = tile_build_max(&k->b, before, rows_build_key(r, index, best, place));
        else
            next[i] = rows_combine(r, index, before, best);
    }
}

/* The initial carried value of a reduction in the outer loop. */
static tile_value first_part(rows *r, size_t index) {
    bool key = rows_returns_index(r, index);
    const tile_type *type = key ? tile_type_scalar(r->k.s->context, TILE_i64) : rows_type(r, index);
    return tile_build_splat(&r->k.b, key ? rows_least_key(r) : rows_identity_of(r, index),
                            rows_row_type(r, type));
}

static void remember_part(rows *r, size_t index, tile_value part) {
    if (rows_returns_index(r, index))
        rows_remember_results(r, index, rows_value_of_key(r, index, part),
                              rows_index_of_key(r, part));
    else
        rows_remember_results(r, index, part, TILE_NO_VALUE);
}

void rows_build_split(rows *r, const tile_expr *split, const tile_expr *strategy) {
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
