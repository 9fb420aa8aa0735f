/* Reductions and products along one axis of what nobody writes, in one walk along it: attention, a
 * log-sum-exp of a product's rows, a product of what is computed of another product's elements.
 *
 * A block has a tile of rows. Their side of the inner products stays in shared memory; in a
 * pipelined loop along the axis come the other sides, and
 *
 *     score = rows x columns                    the walked elements
 *     t'    = max(t, max of score)              folds that need no other one
 *     p     = exp(score - t')                   what they scale (schedule_chain.c)
 *     f     = exp(t - t')                       what corrects what was folded before
 *     s'    = s * f + sum of p
 *     a'    = a * f + p x values
 *
 * Behind it stand the factors of whole rows, and what is computed of the sums.
 *
 * exp(x - t) is 2 to the power of (x - t) * c, c = log2(e): what is no larger than a maximum stays
 * so however large they are, as it would not in an fma of x and t * c. Where x is y times a factor
 * above 0, the maximum is that of y, and the factor part of c. A row of which nothing was seen yet
 * has the maximum -inf, of which nothing can be subtracted: exponents take the lowest finite number
 * instead. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "passes/compute/schedule_given.h"
#include "passes/compute/schedule_online.h"

#include "lib/ir/kinds.h"
#include "lib/ir/syntax.h"

#define LOG2_E 1.4426950408889634

typedef struct online {
    sched_kernel k;
    sched_online *o;
    const tile_expr *rows, *columns; /* of a tile of elements */
    const tile_expr *deep, *wide;
    tile_value left[SCHED_MOST_INNER];      /* the rows' side: shared, or a tile */
    tile_value before[SCHED_MOST_EXPS];     /* exponents' row part, as it was */
    tile_value now[SCHED_MOST_EXPS];        /* as it is */
    tile_value correction[SCHED_MOST_EXPS]; /* of what was folded before; 0: not made */
    tile_value exps[SCHED_MOST_EXPS];       /* 0: not made */
    tile_value carried[SCHED_MOST_FOLDS];   /* of maxima, as they are looked at */
} online;

static const tile_type *f32(const online *w) {
    return tile_type_scalar(w->k.s->context, TILE_f32);
}

static tile_value number(online *w, double value) {
    return tile_build_constant(&w->k.b, f32(w), tile_expr_float(w->k.s->context, value));
}

static void set_tiles(online *w, unsigned row, const tile_expr *rows, unsigned column,
                      const tile_expr *columns) {
    for (unsigned d = 0; d < SCHED_MAX_DIMS; d++) w->k.tile_of[d] = -1;
    sched_set_tile(&w->k, row, 0, rows);
    sched_set_tile(&w->k, column, 1, columns);
}

static void set_elements(online *w) {
    set_tiles(w, w->o->m, w->rows, w->o->n, w->columns);
}

static void set_sums(online *w) {
    set_tiles(w, w->o->m, w->rows, w->k.g->domain.rank - 1, w->wide);
}

static const tile_type *row_type(const online *w) {
    const tile_expr *dims[] = {w->rows, tile_expr_int(w->k.s->context, 1)};
    return sched_tile_type(&w->k, f32(w), dims);
}

/* A value of rows. */
static tile_value row_value(online *w, const sched_wanted *at) {
    return sched_fit(&w->k, sched_value(&w->k, at->value, &at->map, f32(w)), row_type(w));
}

static tile_value fast(online *w, tile_value value) {
    tile_op op = tile_value_def(w->k.f, value);
    if (op.id) tile_op_set_flag(w->k.f, op, TILE_ATTR_fast);
    return value;
}

static tile_value reduce(online *w, tile_op like, tile_value src) {
    tile_builder *to = &w->k.b;
    const tile_segment segments[] = {{src, NULL, 0}, {TILE_NO_VALUE, NULL, 0}};
    const tile_attr axis = {.id = TILE_ATTR_axis, .expr = tile_expr_int(w->k.s->context, 1)};
    tile_op op = tile_build_op_of(to, TILE_OP_reduce, segments, 2, NULL, &axis, 1);
    if (!op.id) return TILE_NO_VALUE;
    tile_op_take_attr(w->k.f, op, w->k.s->compute, like, TILE_ATTR_kind);
    tile_op_set_int(w->k.f, op, TILE_ATTR_axis, 1);
    return tile_op_result(w->k.f, op, 0);
}

/* Products ------------------------------------------------------------------------------------- */

static bool is_half(const tile_type *element) {
    return element->scalar == TILE_f16 || element->scalar == TILE_bf16;
}

static tile_value load_side(online *w, const sched_side *side) {
    sched_kernel *k = &w->k;
    sched_access access;
    int array = sched_find_input(k->s, k->g, side->from.value);
    k->straight = true;
    bool found = array >= 0 &&
                 sched_find_access(k, (unsigned)array, side->from.value, &side->from.map, &access);
    k->straight = false;
    if (!found) return TILE_NO_VALUE;
    return tile_build_load(&k->b, access.view, access.index, access.rank, TILE_NO_VALUE,
                           sched_full_type(k, side->element));
}

/* Comes to shared memory, where both products' instructions read it. */
static tile_value copy_side(online *w, const sched_side *side) {
    sched_kernel *k = &w->k;
    sched_access access;
    int array = sched_find_input(k->s, k->g, side->from.value);
    tile_type draft = {.kind = TILE_TYPE_SHARED,
                       .scalar = side->element->scalar,
                       .rank = 2,
                       .dims = {k->block[0], k->block[1]}};
    k->straight = true;
    bool found = array >= 0 &&
                 sched_find_access(k, (unsigned)array, side->from.value, &side->from.map, &access);
    k->straight = false;
    if (!found) return TILE_NO_VALUE;
    tile_value shared = tile_build_alloc_shared(&k->b, tile_type_get(k->s->context, &draft));
    tile_build_copy(&k->b, access.view, access.index, access.rank, shared, NULL, 0, TILE_NO_VALUE);
    return shared;
}

/* What the instruction multiplies: 16-bit floats if both sides are of one such type. */
static const tile_type *multiplied(const online *w, const tile_type *a, const tile_type *b) {
    return a == b && is_half(a) ? a : f32(w);
}

/* Whether the array has the columns before the rows: it is read so, by whole boxes of its own
 * dims, and the product turns it. */
static bool is_turned(const online *w, const sched_side *side) {
    const tile_type *type = sched_type(w->k.s, side->from.value);
    unsigned row = 0, column = 0;
    for (unsigned d = 0; d < type->rank; d++) {
        if (side->from.map.at[d].dim == (int)side->row) row = d;
        if (side->from.map.at[d].dim == (int)side->column) column = d;
    }
    return column < row;
}

static void set_side(online *w, const sched_side *side, const tile_expr *rows,
                     const tile_expr *columns) {
    if (is_turned(w, side))
        set_tiles(w, side->column, columns, side->row, rows);
    else
        set_tiles(w, side->row, rows, side->column, columns);
}

static tile_value dot(online *w, tile_value a, bool turned_a, tile_value b, bool turned_b,
                      tile_value sum) {
    const tile_segment segments[] = {{a, NULL, 0}, {b, NULL, 0}, {sum, NULL, 0}};
    const tile_attr flags[] = {{.id = turned_a ? TILE_ATTR_trans_lhs : TILE_ATTR_trans_rhs},
                               {.id = TILE_ATTR_trans_rhs}};
    tile_op op = tile_build_op_of(&w->k.b, TILE_OP_dot, segments, 3, NULL, flags,
                                  (unsigned)turned_a + turned_b);
    if (!op.id) return TILE_NO_VALUE;
    if (turned_a) tile_op_set_flag(w->k.f, op, TILE_ATTR_trans_lhs);
    if (turned_b) tile_op_set_flag(w->k.f, op, TILE_ATTR_trans_rhs);
    tile_op_set_text(w->k.f, op, TILE_ATTR_policy, "rows");
    return tile_op_result(w->k.f, op, 0);
}

static const tile_type *inner_type(const online *w, const sched_inner *inner) {
    return multiplied(w, inner->sides[0].element, inner->sides[1].element);
}

static void take_left(online *w) {
    for (unsigned i = 0; i < w->o->inner_count; i++) {
        const sched_inner *inner = &w->o->inner[i];
        const sched_side *side = &inner->sides[0];
        const tile_type *type = inner_type(w, inner);
        set_side(w, side, w->rows, w->deep);
        w->left[i] = side->element == type ? copy_side(w, side)
                                           : sched_convert(&w->k, load_side(w, side), type);
    }
}

/* The walked elements. */
static void build_inner(online *w, const tile_value *right) {
    sched_kernel *k = &w->k;
    set_elements(w);
    for (unsigned i = 0; i < w->o->inner_count && !k->s->failed; i++) {
        const sched_inner *inner = &w->o->inner[i];
        tile_value zero = tile_build_zero(&k->b, sched_full_type(k, f32(w)));
        tile_value made = dot(w, w->left[i], is_turned(w, &inner->sides[0]), right[i],
                              is_turned(w, &inner->sides[1]), zero);
        sched_remember(k, tile_op_result(k->s->compute, inner->op, 0), &inner->map, f32(w), made);
    }
}

static sched_wanted operand_of(online *w, tile_op op, unsigned index, const sched_map *map) {
    return (sched_wanted){tile_op_operand(w->k.s->compute, op, index),
                          sched_operand_map(w->k.s, op, 0, index, map)};
}

static sched_form form_of(online *w, const sched_wanted *at) {
    if (sched_type(w->k.s, at->value)->kind != TILE_TYPE_TENSOR) return SCHED_SAME;
    return sched_form_of(w->k.s, w->o, at->value, &at->map);
}

/* Exponents ------------------------------------------------------------------------------------ */

/* The leaf of whose elements a factor was taken out, so that maxima lack it, too; NULL: none. */
static const sched_leaf *scaled_leaf(const online *w, const sched_exp *e) {
    const sched_leaf *leaf = sched_find_leaf(w->o, e->x.value);
    return leaf && leaf->by.value.id ? leaf : NULL;
}

/* What the difference of x and rho is multiplied by. */
static tile_value build_factor(online *w, const sched_exp *e) {
    sched_kernel *k = &w->k;
    const sched_leaf *leaf = scaled_leaf(w, e);
    bool natural = tile_op_opcode(k->s->compute, e->op) == TILE_OP_exp;
    tile_value factor = natural ? number(w, LOG2_E) : TILE_NO_VALUE;
    const sched_wanted *more[] = {&e->by, leaf ? &leaf->by : NULL};
    for (unsigned i = 0; i < 2; i++) {
        if (!more[i] || !more[i]->value.id) continue;
        tile_value by = sched_value(k, more[i]->value, &more[i]->map, f32(w));
        if (by.id) factor = factor.id ? tile_build_mul(&k->b, by, factor) : by;
    }
    return factor;
}

static tile_value multiply_exponent(online *w, const sched_exp *e, tile_value difference) {
    tile_value factor = build_factor(w, e);
    return factor.id ? tile_build_mul(&w->k.b, difference, factor) : difference;
}

/* rho without the factor that its maximum lacks: maxima of such, and of what is known before. */
static tile_value build_reference(online *w, sched_wanted at, const sched_leaf *leaf) {
    sched_kernel *k = &w->k;
    schedule *s = k->s;
    tile_op op = tile_value_def(s->compute, at.value);
    const sched_fold *fold = op.id ? sched_find_fold(w->o, op) : NULL;
    if (!leaf) return row_value(w, &at);
    if (fold) return w->carried[fold - w->o->folds];
    if (form_of(w, &at) == SCHED_ROW) {
        sched_wanted first = operand_of(w, op, 0, &at.map);
        tile_value a = build_reference(w, first, leaf);
        if (tile_op_opcode(s->compute, op) != TILE_OP_max || !a.id) return a;
        return tile_build_max(&k->b, a, build_reference(w, operand_of(w, op, 1, &at.map), leaf));
    }
    tile_value by = sched_value(k, leaf->by.value, &leaf->by.map, f32(w)), row = row_value(w, &at);
    return by.id && row.id ? tile_build_div(&k->b, row, by) : TILE_NO_VALUE;
}

static bool is_fast(const online *w, const sched_exp *e) {
    return tile_op_has_attr(w->k.s->compute, e->op, TILE_ATTR_fast);
}

/* rho as it is subtracted; in an fma, with the factor. */
static tile_value build_row(online *w, const sched_exp *e) {
    tile_value rho = build_reference(w, e->rho, scaled_leaf(w, e));
    if (rho.id && is_fast(w, e)) rho = multiply_exponent(w, e, rho);
    return rho.id ? tile_build_max(&w->k.b, rho, number(w, -FLT_MAX)) : rho;
}

static tile_value build_exponent(online *w, const sched_exp *e, tile_value x, tile_value row) {
    tile_builder *to = &w->k.b;
    if (!is_fast(w, e)) return multiply_exponent(w, e, tile_build_sub(to, x, row));
    tile_value factor = build_factor(w, e);
    return factor.id ? tile_build_fma(to, x, factor, tile_build_neg(to, row))
                     : tile_build_sub(to, x, row);
}

static tile_value build_exp(online *w, unsigned index) {
    sched_kernel *k = &w->k;
    const sched_exp *e = &w->o->exps[index];
    const sched_leaf *leaf = scaled_leaf(w, e);
    if (w->exps[index].id) return w->exps[index];
    tile_value x = leaf ? leaf->tile : sched_full(k, sched_value(k, e->x.value, &e->x.map, f32(w)));
    if (!x.id) return x;
    return w->exps[index] = fast(w, tile_build_exp2(&k->b, build_exponent(w, e, x, w->now[index])));
}

static tile_value correction_of(online *w, unsigned index) {
    tile_builder *to = &w->k.b;
    if (w->correction[index].id) return w->correction[index];
    tile_value fall = tile_build_sub(to, w->before[index], w->now[index]);
    if (!is_fast(w, &w->o->exps[index])) fall = multiply_exponent(w, &w->o->exps[index], fall);
    return w->correction[index] = fast(w, tile_build_exp2(to, fall));
}

/* What is scaled ------------------------------------------------------------------------------- */

/* A tile, by which exponentials it is to be corrected, and what was left out of it. */
typedef struct scaled {
    tile_value tile;
    unsigned exps; /* a bit for each */
    sched_post posts[SCHED_MOST_POSTS];
    unsigned post_count;
} scaled;

static tile_value build_scaled(online *w, sched_wanted at, const tile_type *element, scaled *out);

static void add_post(online *w, scaled *out, const sched_wanted *row, bool divides) {
    if (out->post_count == SCHED_MOST_POSTS) {
        SCHED_FAIL(w->k.s, w->k.g->root,
                   "more than %d factors of whole rows: compute some of them in another compute",
                   SCHED_MOST_POSTS);
        return;
    }
    out->posts[out->post_count++] = (sched_post){*row, divides};
}

static tile_value build_multiplied(online *w, tile_op op, const sched_map *map,
                                   const tile_type *element, scaled *out) {
    tile_opcode opcode = tile_op_opcode(w->k.s->compute, op);
    sched_wanted a = operand_of(w, op, 0, map), b = operand_of(w, op, 1, map);
    if (form_of(w, &b) == SCHED_ROW) {
        add_post(w, out, &b, opcode == TILE_OP_div);
        return build_scaled(w, a, element, out);
    }
    if (form_of(w, &a) == SCHED_ROW) {
        add_post(w, out, &a, false);
        return build_scaled(w, b, element, out);
    }
    tile_value x = build_scaled(w, a, f32(w), out), y = build_scaled(w, b, f32(w), out);
    if (!x.id || !y.id) return TILE_NO_VALUE;
    tile_value made =
        opcode == TILE_OP_div ? tile_build_div(&w->k.b, x, y) : tile_build_mul(&w->k.b, x, y);
    return sched_convert(&w->k, made, element);
}

static tile_value build_scaled(online *w, sched_wanted at, const tile_type *element, scaled *out) {
    sched_kernel *k = &w->k;
    schedule *s = k->s;
    if (s->failed) return TILE_NO_VALUE;
    if (form_of(w, &at) != SCHED_SCALED) return sched_value(k, at.value, &at.map, element);
    tile_op op = tile_value_def(s->compute, at.value);
    int exp = sched_find_exp(w->o, op);
    if (exp >= 0) {
        out->exps |= 1u << exp;
        return sched_convert(k, build_exp(w, (unsigned)exp), element);
    }
    sched_wanted first = operand_of(w, op, 0, &at.map);
    switch (tile_op_opcode(s->compute, op)) {
    case TILE_OP_mul:
    case TILE_OP_div: return build_multiplied(w, op, &at.map, element, out);
    case TILE_OP_cast: {
        tile_value from = build_scaled(w, first, f32(w), out);
        return sched_convert(k, sched_convert(k, from, sched_element(s, at.value)), element);
    }
    case TILE_OP_neg: {
        tile_value from = build_scaled(w, first, f32(w), out);
        return from.id ? sched_convert(k, tile_build_neg(&k->b, from), element) : from;
    }
    case TILE_OP_select: {
        tile_value seen =
            sched_value(k, first.value, &first.map, tile_type_scalar(s->context, TILE_i1));
        tile_value from = build_scaled(w, operand_of(w, op, 1, &at.map), f32(w), out);
        if (!seen.id || !from.id) return TILE_NO_VALUE;
        return sched_convert(k, tile_build_select(&k->b, seen, from, number(w, 0)), element);
    }
    default: return build_scaled(w, first, element, out);
    }
}

/* Folds ---------------------------------------------------------------------------------------- */

static bool is_largest(const online *w, const sched_fold *fold) {
    return !fold->product &&
           tile_op_word(w->k.s->compute, fold->op, TILE_ATTR_kind) == TILE_WORD_kind_max;
}

static const sched_leaf *leaf_of(const online *w, const sched_fold *fold) {
    return fold->leaf < 0 ? NULL : &w->o->leaves[fold->leaf];
}

static tile_value result_of(const online *w, const sched_fold *fold) {
    return tile_op_result(w->k.s->compute, fold->op, 0);
}

/* What is carried of a maximum may lack a factor. */
static void remember_row(online *w, const sched_fold *fold, tile_value carried) {
    const sched_leaf *leaf = is_largest(w, fold) ? leaf_of(w, fold) : NULL;
    if (leaf && leaf->by.value.id) {
        tile_value by = sched_value(&w->k, leaf->by.value, &leaf->by.map, f32(w));
        if (by.id) carried = tile_build_mul(&w->k.b, carried, by);
    }
    sched_remember(&w->k, result_of(w, fold), &fold->map, f32(w), carried);
}

/* Elements behind the end do not count. */
static tile_value hide_end(online *w, const sched_fold *fold, tile_value tile) {
    if (leaf_of(w, fold) || !tile.id) return tile;
    tile_value inside = sched_build_inside(&w->k, w->o);
    const tile_type *type = tile_value_type(w->k.f, tile);
    tile_type draft = {.kind = TILE_TYPE_SCALAR, .scalar = type->scalar};
    tile_value zero = tile_build_zero(&w->k.b, tile_type_get(w->k.s->context, &draft));
    return tile_build_select(&w->k.b, inside, tile, zero);
}

static tile_value fold_early(online *w, const sched_fold *fold, tile_value carried) {
    sched_kernel *k = &w->k;
    const sched_leaf *leaf = leaf_of(w, fold);
    tile_value tile =
        is_largest(w, fold)
            ? leaf->tile
            : sched_full(k, sched_value(k, fold->source.value, &fold->source.map, f32(w)));
    if (!is_largest(w, fold)) tile = hide_end(w, fold, tile);
    if (!tile.id) return tile;
    tile_value more = reduce(w, fold->op, tile);
    if (is_largest(w, fold)) return tile_build_max(&k->b, carried, more);
    return tile_build_add(&k->b, carried, fast(w, more));
}

static tile_value corrected(online *w, tile_value carried, unsigned exps) {
    for (unsigned i = 0; i < w->o->exp_count; i++)
        if (exps & 1u << i) carried = tile_build_mul(&w->k.b, carried, correction_of(w, i));
    return carried;
}

static tile_value fold_sum(online *w, const sched_fold *fold, tile_value carried, scaled *out) {
    tile_value tile = sched_full(&w->k, build_scaled(w, fold->source, f32(w), out));
    tile = hide_end(w, fold, tile);
    if (!tile.id) return tile;
    carried = corrected(w, carried, out->exps);
    return tile_build_add(&w->k.b, carried, fast(w, reduce(w, fold->op, tile)));
}

/* The sums of a product of what is left and of the values' block. */
static tile_value fold_product(online *w, const sched_fold *fold, tile_value carried,
                               tile_value right, scaled *out) {
    sched_kernel *k = &w->k;
    sched_wanted lhs = fold->source;
    const tile_type *own = sched_element(k->s, sched_narrow(k->s, lhs.value));
    const tile_type *type = multiplied(w, own, fold->rhs.element);
    tile_value tile = hide_end(w, fold, sched_full(k, build_scaled(w, lhs, type, out)));
    if (!tile.id || !right.id) return TILE_NO_VALUE;
    return dot(w, tile, false, sched_convert(k, right, type), is_turned(w, &fold->rhs),
               corrected(w, carried, out->exps));
}

/* The walk ------------------------------------------------------------------------------------- */

/* What the loop has of the columns, and of the values. */
static void load_right(online *w, tile_value *columns, tile_value *values) {
    sched_online *o = w->o;
    for (unsigned i = 0; i < o->inner_count; i++) {
        set_side(w, &o->inner[i].sides[1], w->deep, w->columns);
        columns[i] =
            sched_convert(&w->k, load_side(w, &o->inner[i].sides[1]), inner_type(w, &o->inner[i]));
    }
    for (unsigned i = 0; i < o->fold_count; i++) {
        if (!o->folds[i].product) continue;
        set_side(w, &o->folds[i].rhs, w->columns, w->wide);
        values[i] = load_side(w, &o->folds[i].rhs);
    }
}

static void build_rows(online *w, const tile_value *carried, tile_value *rows) {
    sched_online *o = w->o;
    size_t mark = sched_enter(&w->k);
    for (unsigned i = 0; i < o->fold_count; i++)
        if (!o->folds[i].late && !o->folds[i].product) {
            w->carried[i] = carried[i];
            remember_row(w, &o->folds[i], carried[i]);
        }
    for (unsigned i = 0; i < o->exp_count; i++) rows[i] = build_row(w, &o->exps[i]);
    sched_leave(&w->k, mark);
}

static void build_step(online *w, tile_region body, tile_value *next, scaled *left) {
    sched_online *o = w->o;
    tile_value columns[SCHED_MOST_INNER], values[SCHED_MOST_FOLDS], carried[SCHED_MOST_FOLDS];
    for (unsigned i = 0; i < o->fold_count; i++) carried[i] = tile_region_arg(w->k.f, body, i + 1);
    memset(w->correction, 0, sizeof w->correction);
    memset(w->exps, 0, sizeof w->exps);
    load_right(w, columns, values);
    build_inner(w, columns);
    sched_build_leaves(&w->k, o);
    build_rows(w, carried, w->before);
    for (unsigned i = 0; i < o->fold_count; i++)
        if (!o->folds[i].late && !o->folds[i].product)
            next[i] = fold_early(w, &o->folds[i], carried[i]);
    if (w->k.s->failed) return;
    build_rows(w, next, w->now);
    for (unsigned i = 0; i < o->fold_count && !w->k.s->failed; i++) {
        sched_fold *fold = &o->folds[i];
        if (fold->product)
            next[i] = fold_product(w, fold, carried[i], values[i], &left[i]);
        else if (fold->late)
            next[i] = fold_sum(w, fold, carried[i], &left[i]);
    }
}

static void set_loop_clauses(online *w, tile_op loop) {
    tile_function *f = w->k.f;
    tile_op_set_expr(f, loop, TILE_ATTR_pipelined, tile_expr_param(w->k.s->context, "stages"));
    if (tile_op_opcode(w->k.s->compute, w->k.g->root) == TILE_OP_matmul)
        tile_op_set_text(f, loop, TILE_ATTR_consumers, "in_turn");
}

/* Each fold begins with what changes nothing. */
static tile_value begin_fold(online *w, const sched_fold *fold) {
    set_sums(w);
    const tile_type *type = fold->product ? sched_full_type(&w->k, f32(w)) : row_type(w);
    return tile_build_splat(&w->k.b, number(w, is_largest(w, fold) ? -INFINITY : 0), type);
}

static tile_op build_walk(online *w, tile_value end, scaled *left) {
    sched_kernel *k = &w->k;
    sched_online *o = w->o;
    tile_value inits[SCHED_MOST_FOLDS], next[SCHED_MOST_FOLDS] = {{0}};
    for (unsigned i = 0; i < o->fold_count; i++) inits[i] = begin_fold(w, &o->folds[i]);
    tile_op loop = tile_build_for_loop(&k->b, tile_build_int(&k->b, 0), end,
                                       sched_number(k, w->columns), inits, o->fold_count);
    set_loop_clauses(w, loop);
    tile_builder outside = k->b;
    tile_region body = tile_op_region(k->f, loop, 0);
    k->b = tile_builder_at_end(k->f, body);
    k->b.loc = outside.loc;
    size_t mark = sched_enter(k);
    k->start[o->n] = tile_region_arg(k->f, body, 0);
    build_step(w, body, next, left);
    if (!k->s->failed) tile_build_yield(&k->b, next, o->fold_count);
    k->b = outside;
    sched_leave(k, mark);
    return loop;
}

/* Behind it ------------------------------------------------------------------------------------ */

static tile_value with_posts(online *w, tile_value sums, const scaled *left) {
    sched_kernel *k = &w->k;
    for (unsigned i = 0; i < left->post_count && sums.id; i++) {
        const sched_post *post = &left->posts[i];
        tile_value row = row_value(w, &post->row);
        if (!row.id) return row;
        sums =
            post->divides ? sched_divide(k, sums, row, f32(w)) : tile_build_mul(&k->b, sums, row);
    }
    return sums;
}

static sched_map whole_map(const online *w, const sched_map *map) {
    sched_map out = *map;
    out.at[w->o->m].dim = (int)w->o->m;
    out.at[w->k.g->domain.rank - 1].dim = (int)w->k.g->domain.rank - 1;
    return out;
}

static void remember_folds(online *w, tile_op loop, const scaled *left) {
    sched_online *o = w->o;
    set_sums(w);
    for (unsigned i = 0; i < o->fold_count && !w->k.s->failed; i++) {
        const sched_fold *fold = &o->folds[i];
        tile_value sums = with_posts(w, tile_op_result(w->k.f, loop, i), &left[i]);
        if (!sums.id) return;
        if (!fold->product) {
            remember_row(w, fold, sums);
            continue;
        }
        sched_map whole = whole_map(w, &fold->map);
        sched_remember(&w->k, result_of(w, fold), &fold->map, f32(w), sums);
        sched_remember(&w->k, result_of(w, fold), &whole, f32(w), sums);
    }
}

static void store_outputs(online *w) {
    sched_kernel *k = &w->k;
    schedule *s = k->s;
    sched_map identity = sched_identity(&k->g->domain), whole = whole_map(w, &identity);
    for (size_t i = 0; i < k->g->output_count && !s->failed; i++) {
        const sched_output *output = &k->g->outputs[i];
        tile_value value = s->arrays[output->array].value;
        unsigned rank = sched_type(s, value)->rank;
        bool plain = rank == k->g->domain.rank && sched_same_map(&output->map, &identity, rank) &&
                     !sched_is_one(k->g->domain.extents[rank - 1]);
        tile_value tile = sched_value(k, value, &output->map, sched_element(s, value));
        if (tile.id && plain) tile = sched_full(k, tile);
        if (tile.id) sched_store(k, output->array, plain ? &whole : &output->map, tile);
    }
}

/* Points ----------------------------------------------------------------------------------------
 */

static int power_above(int64_t extent, int least) {
    int block = least;
    while (block < extent) block *= 2;
    return block;
}

typedef struct point {
    int rows, columns, stages, warps;
} point;

/* Whether it fits shared memory, and the registers that the sums take. */
static bool fits(const online *w, const point *p, int bytes) {
    int64_t deep = w->deep->integer, wide = w->wide->integer;
    int64_t most = deep > wide ? deep : wide, inner = w->o->inner_count;
    if (bytes == 2 && p->columns * most > 16384) return false;
    int64_t stage = p->columns * (inner * deep + wide);
    return (p->rows * inner * deep + p->stages * stage) * bytes <= (bytes == 2 ? 166000 : 90000);
}

static void add_points(online *w, bool half) {
    int most = w->deep->integer > w->wide->integer ? (int)w->deep->integer : (int)w->wide->integer;
    const point first = {most <= 128 ? 128 : 16384 / most,
                         most <= 64    ? 128
                         : most <= 128 ? 64
                                       : 8192 / most,
                         2, 8};
    const point halves[] = {first,           {128, 128, 2, 8}, {128, 64, 3, 8}, {64, 64, 2, 4},
                            {128, 32, 2, 8}, {64, 32, 2, 4},   {16, 32, 1, 4}};
    const point wholes[] = {{32, 32, 2, 4}, {64, 32, 2, 8}, {16, 32, 2, 4}, {32, 16, 1, 4},
                            {16, 16, 2, 4}, {16, 16, 1, 4}, {16, 16, 1, 2}};
    enum { POINTS = sizeof halves / sizeof *halves };
    const tile_expr *params[] = {
        sched_add_param(&w->k, "block_m"), sched_add_param(&w->k, "block_n"),
        sched_add_param(&w->k, "stages"), sched_add_param(&w->k, "num_warps")};
    int points[POINTS * 4];
    unsigned count = 0;
    for (unsigned i = 0; i < POINTS && count < 5; i++) {
        const point *p = half ? &halves[i] : &wholes[i];
        bool there = !fits(w, p, half ? 2 : 4);
        for (unsigned b = 0; b < count; b++) there |= memcmp(points + 4 * b, p, sizeof *p) == 0;
        if (!there) memcpy(points + 4 * count++, p, sizeof *p);
    }
    if (!count) memcpy(points, &wholes[POINTS - 1], sizeof *wholes);
    sched_add_tune(&w->k, params, 4, points, count ? count : 1);
    sched_set_warps(&w->k, params[3]);
    w->rows = params[0];
    w->columns = params[1];
}

/* Of the first product [m, n], of the last one [m, its columns, n]. */
static void fix_tile(online *w, tile_op op, bool last, sched_fixed *fixed) {
    schedule *s = w->k.s;
    const tile_attr *tile = tile_op_attr(s->compute, op, TILE_ATTR_tile);
    const char *const names[] = {"block_m", "block_n"};
    for (unsigned i = 0; tile && i < 2; i++) {
        unsigned at = last ? 2 * i : i;
        if (at >= tile->count) continue;
        const tile_expr *value = tile_expr_int(s->context, tile->list[at]);
        const tile_expr *other = sched_find_fixed(fixed, names[i]);
        if (other && other != value)
            SCHED_FAIL(s, op, "%s: another operation of the same kernel has another `tile`",
                       tile_op_name(s->compute, op));
        if (!other) sched_fix(fixed, TILE_ATTR_tile, names[i], value);
    }
}

static void fix_points(online *w) {
    schedule *s = w->k.s;
    sched_fixed fixed = {.count = 0};
    for (unsigned i = 0; i <= w->o->inner_count; i++) {
        bool last = i == w->o->inner_count;
        tile_op op = last ? w->k.g->root : w->o->inner[i].op;
        if (tile_op_opcode(s->compute, op) != TILE_OP_matmul) continue;
        sched_fixed own = {.count = 0};
        fix_tile(w, op, last, &fixed);
        sched_fix_attrs(s, op, &own);
        for (unsigned n = 0; n < own.count; n++) {
            const tile_expr *other = sched_find_fixed(&fixed, own.at[n].name);
            if (other && other != own.at[n].value)
                SCHED_FAIL(s, op, "%s: another operation of the same kernel has another `%s`",
                           tile_op_name(s->compute, op), tile_attr_keyword(own.at[n].said));
            else if (!other)
                sched_fix(&fixed, own.at[n].said, own.at[n].name, own.at[n].value);
        }
    }
    if (!s->failed) sched_fix_points(s, w->k.f, &fixed);
}

/* Whether tensor cores multiply all of it. */
static bool is_all_half(const online *w) {
    bool half = true;
    for (unsigned i = 0; i < w->o->inner_count; i++)
        half &= is_half(inner_type(w, &w->o->inner[i]));
    for (unsigned i = 0; i < w->o->fold_count; i++) {
        const sched_fold *fold = &w->o->folds[i];
        const tile_type *own = sched_element(w->k.s, sched_narrow(w->k.s, fold->source.value));
        if (fold->product) half &= is_half(multiplied(w, own, fold->rhs.element));
    }
    return half;
}

/* The grid --------------------------------------------------------------------------------------
 */

/* x: the rows' tile, the longest ones first where later rows see more; y: the last batch dim; z:
 * the others. */
static void set_grid(online *w) {
    sched_kernel *k = &w->k;
    tile_context *context = k->s->context;
    const tile_expr *rest = tile_expr_int(context, 1);
    const tile_expr *rows = sched_expr(k->s, k->g->domain.extents[w->o->m]);
    unsigned dims[TILE_MAX_RANK], count = 0;
    for (unsigned d = 0; d < SCHED_MAX_DIMS; d++) k->start[d] = tile_build_int(&k->b, 0);
    for (unsigned d = w->o->m; d-- > 0;)
        if (!sched_is_one(k->g->domain.extents[d])) dims[count++] = d;
    for (unsigned i = 1; i < count; i++)
        rest = tile_expr_multiply(context, sched_expr(k->s, k->g->domain.extents[dims[i]]), rest);
    const tile_expr *grid[] = {
        tile_expr_op(context, TILE_OP_ceildiv, rows, w->rows, NULL),
        count ? sched_expr(k->s, k->g->domain.extents[dims[0]]) : tile_expr_int(context, 1), rest};
    tile_function_set_grid(k->f, count > 1 ? 3 : count ? 2 : 1, grid);
    tile_value x = tile_build_block_id(&k->b), left = {x.id + 2};
    if (sched_ends_early(k->s, w->o)) {
        tile_value last = tile_build_sub(&k->b, sched_number(k, grid[0]), tile_build_int(&k->b, 1));
        x = tile_build_max(&k->b, tile_build_sub(&k->b, last, x), tile_build_int(&k->b, 0));
    }
    if (count) k->start[dims[0]] = (tile_value){left.id - 1};
    for (unsigned i = 1; i < count; i++) {
        k->start[dims[i]] = left;
        if (i + 1 == count) break;
        tile_value extent = sched_number(k, sched_expr(k->s, k->g->domain.extents[dims[i]]));
        extent = tile_build_max(&k->b, extent, tile_build_int(&k->b, 1));
        k->start[dims[i]] = tile_build_rem(&k->b, left, extent);
        left = tile_build_div(&k->b, left, extent);
    }
    k->start[w->o->m] = tile_build_mul(&k->b, x, sched_number(k, w->rows));
}

void sched_make_online(schedule *s, sched_group *g, const char *name) {
    enum { LEAST = 16 }; /* of what mma multiplies */
    online w = {.o = g->online};
    scaled left[SCHED_MOST_FOLDS];
    memset(left, 0, sizeof left);
    sched_kernel_open(&w.k, s, g, name);
    w.deep = tile_expr_int(s->context, power_above(w.o->deep, LEAST));
    bool product = tile_op_opcode(s->compute, g->root) == TILE_OP_matmul;
    w.wide = tile_expr_int(s->context, product ? power_above(w.o->wide, LEAST) : 1);
    add_points(&w, is_all_half(&w));
    fix_points(&w);
    if (s->failed) return;
    set_grid(&w);
    take_left(&w);
    set_elements(&w);
    tile_value end = sched_build_bounds(&w.k, w.o, w.rows);
    tile_op loop = build_walk(&w, end, left);
    if (s->failed) return;
    remember_folds(&w, loop, left);
    store_outputs(&w);
}
