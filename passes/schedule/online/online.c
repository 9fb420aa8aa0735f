/* Reductions and products along one axis of values that are not stored, computed in one online loop
 * along the axis. Examples are attention, a log-sum-exp of a product's rows, and a product whose
 * operand is a function of another product's elements.
 *
 * A block has a tile of rows. The row operands of the inner products stay in shared memory. A
 * pipelined loop along the axis loads the column operands and computes:
 *
 *     score = rows x columns                    elements of the inner product
 *     t'    = max(t, max of score)              reductions that depend on no other one
 *     p     = exp(score - t')                   rescaled values (cut/classify.c)
 *     f     = exp(t - t')                       correction of the previous sums
 *     s'    = s * f + sum of p
 *     a'    = a * f + p x values
 *
 * After the loop, the factors that are constant per row are applied, and functions of the sums are
 * computed.
 *
 * exp(x - t) is 2^((x - t) * c), c = log2(e). With `fast` this is an fma, x * c - w, where w is the
 * rounded t * c. All of p, s and a then have the factor 2^(t * c - w), if f is also computed from
 * the rounded products. The factor cancels in quotients. Sums that are not divided are multiplied
 * by 2^(w - t * c), whose exponent an fma computes exactly. If x is y times a positive factor, the
 * maximum is taken over y, and the factor becomes part of c. The maximum of a row without visible
 * elements so far is -inf, which cannot be subtracted; exponents use the lowest finite number
 * instead. */
#include <math.h>
#include <string.h>

#include "passes/schedule/online/online_kernel.h"
#include "passes/schedule/kernel/given.h"

#include "lib/ir/syntax.h"
#include "lib/ops/kinds.h"

const tile_type *online_f32(const online_kernel *w) {
    return tile_type_scalar(w->k.s->context, TILE_f32);
}

tile_value online_number(online_kernel *w, double value) {
    return tile_build_constant(&w->k.b, online_f32(w), tile_expr_float(w->k.s->context, value));
}

static void set_tiles(online_kernel *w, unsigned row, const tile_expr *rows, unsigned column,
                      const tile_expr *columns) {
    for (unsigned d = 0; d < SCHED_MAX_DIMS; d++) w->k.tile_of[d] = -1;
    sched_set_tile(&w->k, row, 0, rows);
    sched_set_tile(&w->k, column, 1, columns);
}

void online_set_elements(online_kernel *w) {
    set_tiles(w, w->o->m, w->rows, w->o->n, w->columns);
}

static void set_sums(online_kernel *w) {
    set_tiles(w, w->o->m, w->rows, w->k.g->domain.rank - 1, w->wide);
}

static const tile_type *row_type(const online_kernel *w) {
    const tile_expr *dims[] = {w->rows, tile_expr_int(w->k.s->context, 1)};
    return sched_tile_type(&w->k, online_f32(w), dims);
}

tile_value online_row_value(online_kernel *w, const sched_mapped_value *at) {
    return sched_broadcast_to(&w->k, sched_value(&w->k, at->value, &at->map, online_f32(w)),
                              row_type(w));
}

tile_value online_set_fast(online_kernel *w, tile_value value) {
    tile_op op = tile_value_def(w->k.f, value);
    if (op.id) tile_op_set_flag(w->k.f, op, TILE_ATTR_fast);
    return value;
}

static tile_value reduce(online_kernel *w, tile_op like, tile_value src) {
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

/* Returns whether no other block reads the operand: few rows fit one tile. */
static bool is_read_once(const online_kernel *w, const sched_product_operand *side) {
    unsigned rank = sched_type(w->k.s, side->from.value)->rank;
    bool all = w->few_rows;
    for (unsigned d = 0; d < w->o->m; d++) {
        bool found = tile_expr_is(w->k.g->domain.extents[d], 1);
        for (unsigned i = 0; i < rank; i++) found |= sched_depends(&side->from.map.at[i], d);
        all &= found;
    }
    return all;
}

bool online_find_access(online_kernel *w, const sched_product_operand *side, sched_access *access) {
    sched_kernel *k = &w->k;
    int array = sched_find_input(k->s, k->g, side->from.value);
    k->straight = true;
    bool found = array >= 0 &&
                 sched_find_access(k, (unsigned)array, side->from.value, &side->from.map, access);
    k->straight = false;
    return found;
}

/* shown: the part of the view that is read; 0: all of it. */
static tile_value load_side(online_kernel *w, const sched_product_operand *side, tile_value shown) {
    sched_kernel *k = &w->k;
    sched_access access;
    if (!online_find_access(w, side, &access)) return TILE_NO_VALUE;
    tile_value tile =
        tile_build_load(&k->b, shown.id ? shown : access.view, access.index, access.rank,
                        TILE_NO_VALUE, sched_full_type(k, side->element));
    if (tile.id && is_read_once(w, side))
        tile_op_set_text(k->f, tile_value_def(k->f, tile), TILE_ATTR_cache, "evict_first");
    return tile;
}

/* Copies the operand to shared memory, where the instructions of both products read it. */
static tile_value copy_side(online_kernel *w, const sched_product_operand *side) {
    sched_kernel *k = &w->k;
    sched_access access;
    tile_type draft = {.kind = TILE_TYPE_SHARED,
                       .scalar = side->element->scalar,
                       .rank = 2,
                       .dims = {k->block[0], k->block[1]}};
    if (!online_find_access(w, side, &access)) return TILE_NO_VALUE;
    tile_value shared = tile_build_alloc_shared(&k->b, tile_type_get(k->s->context, &draft));
    tile_build_copy(&k->b, access.view, access.index, access.rank, shared, NULL, 0, TILE_NO_VALUE);
    return shared;
}

const tile_type *online_multiplied(const online_kernel *w, const tile_type *a, const tile_type *b) {
    return a == b && sched_is_half(a) ? a : online_f32(w);
}

/* Returns whether the array has the columns before the rows. Whole boxes of its own dims are then
 * loaded, and the product transposes them. */
bool online_is_transposed(const online_kernel *w, const sched_product_operand *side) {
    schedule *s = w->k.s;
    int array = sched_find_input(s, w->k.g, side->from.value);
    sched_shape shape = {.type = sched_type(s, side->from.value)};
    unsigned row = 0, column = 0, order[TILE_MAX_RANK];
    if (array >= 0) shape = sched_shape_of(s, (unsigned)array, side->from.value);
    sched_memory_order(s, &shape, order);
    for (unsigned d = 0; d < shape.type->rank; d++) {
        if (sched_depends(&side->from.map.at[order[d]], side->row)) row = d;
        if (sched_depends(&side->from.map.at[order[d]], side->column)) column = d;
    }
    return column < row;
}

void online_set_operand_tile(online_kernel *w, const sched_product_operand *side,
                             const tile_expr *rows, const tile_expr *columns) {
    if (online_is_transposed(w, side))
        set_tiles(w, side->column, columns, side->row, rows);
    else
        set_tiles(w, side->row, rows, side->column, columns);
}

/* product: the compute's. */
static tile_value dot(online_kernel *w, tile_op product, tile_value a, bool turned_a, tile_value b,
                      bool turned_b, tile_value sum) {
    const tile_segment segments[] = {{a, NULL, 0}, {b, NULL, 0}, {sum, NULL, 0}};
    const tile_attr flags[] = {{.id = turned_a ? TILE_ATTR_trans_lhs : TILE_ATTR_trans_rhs},
                               {.id = TILE_ATTR_trans_rhs}};
    tile_op op = tile_build_op_of(&w->k.b, TILE_OP_dot, segments, 3, NULL, flags,
                                  (unsigned)turned_a + turned_b);
    if (!op.id) return TILE_NO_VALUE;
    tile_word precision = tile_op_word(w->k.s->compute, product, TILE_ATTR_precision);
    if (precision && tile_value_type(w->k.f, a)->scalar == TILE_f32)
        tile_op_set_text(w->k.f, op, TILE_ATTR_precision, tile_attr_word_text(precision));
    if (turned_a) tile_op_set_flag(w->k.f, op, TILE_ATTR_trans_lhs);
    if (turned_b) tile_op_set_flag(w->k.f, op, TILE_ATTR_trans_rhs);
    /* The accumulators of all columns of a long head are too many for the warp of a row. */
    if (!online_is_deep(w)) tile_op_set_text(w->k.f, op, TILE_ATTR_policy, "rows");
    return tile_op_result(w->k.f, op, 0);
}

const tile_type *online_inner_type(const online_kernel *w, const sched_inner_product *inner) {
    return online_multiplied(w, inner->sides[0].element, inner->sides[1].element);
}

static void load_left(online_kernel *w) {
    for (unsigned i = 0; i < w->o->inner_count; i++) {
        const sched_inner_product *inner = &w->o->inner[i];
        const sched_product_operand *side = &inner->sides[0];
        const tile_type *type = online_inner_type(w, inner);
        online_set_operand_tile(w, side, w->rows, w->deep);
        w->left[i] = side->element == type
                         ? copy_side(w, side)
                         : sched_convert(&w->k, load_side(w, side, TILE_NO_VALUE), type);
    }
}

/* Computes the elements of the inner products. */
static void build_inner(online_kernel *w, const tile_value *right) {
    sched_kernel *k = &w->k;
    online_set_elements(w);
    for (unsigned i = 0; i < w->o->inner_count && !k->s->failed; i++) {
        const sched_inner_product *inner = &w->o->inner[i];
        tile_value zero = tile_build_zero(&k->b, sched_full_type(k, online_f32(w)));
        tile_value made = dot(w, inner->op, w->left[i], online_is_transposed(w, &inner->sides[0]),
                              right[i], online_is_transposed(w, &inner->sides[1]), zero);
        sched_remember(k, tile_op_result(k->s->compute, inner->op, 0), &inner->map, online_f32(w),
                       made);
    }
}

/* Carried reductions --------------------------------------------------------------------------- */

bool online_is_largest(const online_kernel *w, const sched_carried_reduction *fold) {
    return !fold->product &&
           tile_op_word(w->k.s->compute, fold->op, TILE_ATTR_kind) == TILE_WORD_kind_max;
}

static const sched_masked_input *masked_input_of(const online_kernel *w,
                                                 const sched_carried_reduction *fold) {
    return fold->masked_input < 0 ? NULL : &w->o->masked_inputs[fold->masked_input];
}

static tile_value result_of(const online_kernel *w, const sched_carried_reduction *fold) {
    return tile_op_result(w->k.s->compute, fold->op, 0);
}

/* Caches the carried value as the row's result; a carried maximum may lack a factor. */
static void remember_row(online_kernel *w, const sched_carried_reduction *fold,
                         tile_value carried) {
    const sched_masked_input *masked_input =
        online_is_largest(w, fold) ? masked_input_of(w, fold) : NULL;
    if (masked_input && masked_input->by.value.id) {
        tile_value by =
            sched_value(&w->k, masked_input->by.value, &masked_input->by.map, online_f32(w));
        if (by.id) carried = tile_build_mul(&w->k.b, carried, by);
    }
    sched_remember(&w->k, result_of(w, fold), &fold->map, online_f32(w), carried);
}

/* The identity of a maximum: NaN if a row of NaN must give NaN, because max ignores it. */
static double least_of(const sched_carried_reduction *fold) {
    return fold->propagates_nan ? NAN : -INFINITY;
}

/* Elements after the end must have no effect. If there is a masked input, they are already -inf. */
static tile_value mask_tail(online_kernel *w, const sched_carried_reduction *fold,
                            tile_value tile) {
    if (!tile.id || (masked_input_of(w, fold) && !fold->propagates_nan)) return tile;
    tile_value inside = sched_build_in_bounds(&w->k, w->o);
    const tile_type *type = tile_value_type(w->k.f, tile);
    tile_type draft = {.kind = TILE_TYPE_SCALAR, .scalar = type->scalar};
    tile_value none = online_is_largest(w, fold)
                          ? online_number(w, least_of(fold))
                          : tile_build_zero(&w->k.b, tile_type_get(w->k.s->context, &draft));
    return tile_build_select(&w->k.b, inside, tile, none);
}

static tile_value reduce_maxima(online_kernel *w, const sched_carried_reduction *fold,
                                tile_value carried) {
    sched_kernel *k = &w->k;
    const sched_masked_input *masked_input = masked_input_of(w, fold);
    tile_value tile =
        masked_input && online_is_largest(w, fold)
            ? masked_input->tile
            : sched_broadcast_to_tile(
                  k, sched_value(k, fold->source.value, &fold->source.map, online_f32(w)));
    tile = mask_tail(w, fold, tile);
    if (!tile.id) return tile;
    tile_value more = reduce(w, fold->op, tile);
    if (online_is_largest(w, fold)) return tile_build_max(&k->b, carried, more);
    return tile_build_add(&k->b, carried, online_set_fast(w, more));
}

tile_value online_rescale(online_kernel *w, tile_value carried, unsigned exps) {
    for (unsigned i = 0; i < w->o->exp_count; i++)
        if (exps & 1u << i) carried = tile_build_mul(&w->k.b, carried, online_rescale_factor(w, i));
    return carried;
}

static tile_value fold_sum(online_kernel *w, const sched_carried_reduction *fold,
                           tile_value carried, rescaled_value *out) {
    tile_value tile =
        sched_broadcast_to_tile(&w->k, online_build_scaled(w, fold->source, online_f32(w), out));
    tile = mask_tail(w, fold, tile);
    if (!tile.id) return tile;
    carried = online_rescale(w, carried, out->exps);
    return tile_build_add(&w->k.b, carried, online_set_fast(w, reduce(w, fold->op, tile)));
}

/* Accumulates a product of rescaled elements and a block of values. */
static tile_value fold_product(online_kernel *w, unsigned index, tile_value carried,
                               tile_value right, rescaled_value *out) {
    sched_kernel *k = &w->k;
    const sched_carried_reduction *fold = &w->o->folds[index];
    sched_mapped_value lhs = fold->source;
    const tile_type *own = sched_element(k->s, sched_narrow(k->s, lhs.value));
    const tile_type *type = online_multiplied(w, own, fold->rhs.element);
    tile_value tile =
        mask_tail(w, fold, sched_broadcast_to_tile(k, online_build_scaled(w, lhs, type, out)));
    right = w->recomputing ? online_load_visible(w, index, type) : sched_convert(k, right, type);
    if (!tile.id || !right.id) return TILE_NO_VALUE;
    return dot(w, fold->op, tile, false, right, online_is_transposed(w, &fold->rhs),
               online_rescale(w, carried, out->exps));
}

/* The loop ------------------------------------------------------------------------------------- */

/* The part of an operand before the end of the loop. The builder must be before the loop. */
static tile_value operand_part(online_kernel *w, const sched_product_operand *side,
                               tile_value end) {
    sched_kernel *k = &w->k;
    sched_access access;
    if (!online_find_access(w, side, &access)) return TILE_NO_VALUE;
    unsigned dim = access.rank - k->tile_rank + (unsigned)k->tile_of[w->o->n];
    return sched_part_view(k, (unsigned)sched_find_input(k->s, k->g, side->from.value), access.view,
                           dim, end);
}

static bool masks_keys(const online_kernel *w, tile_value end) {
    return tile_value_as_expr(w->k.f, end) != sched_expr(w->k.s, w->o->extent);
}

static bool is_zero(const online_kernel *w, tile_value value) {
    int64_t number;
    return tile_value_is_int(w->k.f, value, &number) && !number;
}

/* No row of the tile sees keys from `end` on, so loads stop there: 0 times such a value might be
 * NaN. Elements of the other operands are masked anyway, and share the bound. */
static void mask_keys(online_kernel *w, tile_value begin, tile_value end) {
    sched_kernel *k = &w->k;
    sched_online *o = w->o;
    size_t mark = sched_enter(k);
    k->start[o->n] = begin;
    for (unsigned i = 0; i < o->inner_count && !k->s->failed; i++) {
        online_set_operand_tile(w, &o->inner[i].sides[1], w->deep, w->columns);
        w->keys[i] = operand_part(w, &o->inner[i].sides[1], end);
    }
    for (unsigned i = 0; i < o->fold_count && !k->s->failed; i++) {
        if (!o->folds[i].product) continue;
        online_set_operand_tile(w, &o->folds[i].rhs, w->columns, w->wide);
        w->values[i] = operand_part(w, &o->folds[i].rhs, end);
    }
    sched_leave(k, mark);
    online_set_elements(w);
}

/* Returns whether the array is also read as values, possibly by the same load. */
static bool is_value(const online_kernel *w, const sched_product_operand *side) {
    const sched_online *o = w->o;
    bool found = false;
    for (unsigned i = 0; i < o->fold_count; i++)
        found |= o->folds[i].product && sched_same_part(w->k.s, &o->folds[i].rhs.from, &side->from);
    return found;
}

/* Loads the loop's blocks of columns and values. */
static void load_right(online_kernel *w, tile_value *columns, tile_value *values) {
    sched_online *o = w->o;
    for (unsigned i = 0; i < o->inner_count; i++) {
        online_set_operand_tile(w, &o->inner[i].sides[1], w->deep, w->columns);
        const sched_product_operand *keys = &o->inner[i].sides[1];
        if (w->recomputing) {
            columns[i] = online_copy_visible(w, keys, w->keys[i], w->key_buffers[i], TILE_NO_VALUE,
                                             online_inner_type(w, &o->inner[i]));
            continue;
        }
        tile_value side = load_side(w, keys, w->keys[i]);
        if (side.id && w->keys[i].id && !is_value(w, keys))
            tile_op_set_flag(w->k.f, tile_value_def(w->k.f, side), TILE_ATTR_masked);
        columns[i] = sched_convert(&w->k, side, online_inner_type(w, &o->inner[i]));
    }
    for (unsigned i = 0; i < o->fold_count; i++) {
        if (!o->folds[i].product || w->recomputing) continue;
        online_set_operand_tile(w, &o->folds[i].rhs, w->columns, w->wide);
        values[i] = load_side(w, &o->folds[i].rhs, w->values[i]);
    }
}

void online_build_rows(online_kernel *w, const tile_value *carried, tile_value *rows) {
    sched_online *o = w->o;
    size_t mark = sched_enter(&w->k);
    for (unsigned i = 0; i < o->fold_count; i++)
        if (!o->folds[i].rescaled && !o->folds[i].product) {
            w->carried[i] = carried[i];
            remember_row(w, &o->folds[i], carried[i]);
        }
    for (unsigned i = 0; i < o->exp_count; i++) rows[i] = online_build_row(w, &o->exps[i]);
    sched_leave(&w->k, mark);
}

/* Loads inputs that are constant along the axis before the loop. */
static void load_invariant(online_kernel *w) {
    sched_kernel *k = &w->k;
    online_set_elements(w);
    for (size_t i = 0; i < w->o->form_count; i++) {
        const sched_classified_value *form = &w->o->forms[i];
        tile_value value = form->at.value;
        if (form->form == SCHED_INVARIANT && sched_find_input(k->s, k->g, value) >= 0)
            sched_value(k, value, &form->at.map, sched_element(k->s, value));
    }
}

static void build_step(online_kernel *w, tile_region body, tile_value *next, rescaled_value *left) {
    sched_online *o = w->o;
    tile_value columns[SCHED_MAX_INNER_PRODUCTS], values[SCHED_MAX_CARRIED],
        carried[SCHED_MAX_CARRIED];
    for (unsigned i = 0; i < o->fold_count; i++) carried[i] = tile_region_arg(w->k.f, body, i + 1);
    memset(w->correction, 0, sizeof w->correction);
    memset(w->exps, 0, sizeof w->exps);
    load_right(w, columns, values);
    build_inner(w, columns);
    sched_build_masked_inputs(&w->k, o);
    online_build_rows(w, carried, w->before);
    for (unsigned i = 0; i < o->fold_count; i++)
        if (!o->folds[i].rescaled && !o->folds[i].product)
            next[i] = reduce_maxima(w, &o->folds[i], carried[i]);
    if (w->k.s->failed) return;
    online_build_rows(w, next, w->now);
    for (unsigned i = 0; i < o->fold_count && !w->k.s->failed; i++) {
        sched_carried_reduction *fold = &o->folds[i];
        if (fold->product)
            next[i] = fold_product(w, i, carried[i], values[i], &left[i]);
        else if (fold->rescaled)
            next[i] = fold_sum(w, fold, carried[i], &left[i]);
    }
}

static void set_loop_clauses(online_kernel *w, tile_op loop) {
    tile_function *f = w->k.f;
    tile_op_set_expr(f, loop, TILE_ATTR_pipelined, tile_expr_param(w->k.s->context, "stages"));
    if (!w->few_rows && tile_op_opcode(w->k.s->compute, w->k.g->root) == TILE_OP_matmul)
        tile_op_set_text(f, loop, TILE_ATTR_consumers, "ordered");
}

tile_value online_identity_of(online_kernel *w, const sched_carried_reduction *fold) {
    set_sums(w);
    const tile_type *type = fold->product ? sched_full_type(&w->k, online_f32(w)) : row_type(w);
    double none = online_is_largest(w, fold) ? least_of(fold) : 0;
    return tile_build_splat(&w->k.b, online_number(w, none), type);
}

tile_op online_build_loop(online_kernel *w, tile_value begin, tile_value end,
                          rescaled_value *left) {
    sched_kernel *k = &w->k;
    sched_online *o = w->o;
    tile_value inits[SCHED_MAX_CARRIED], next[SCHED_MAX_CARRIED] = {{0}};
    for (unsigned i = 0; i < o->fold_count; i++) inits[i] = online_identity_of(w, &o->folds[i]);
    tile_op loop =
        tile_build_for_loop(&k->b, begin, end, sched_number(k, w->columns), inits, o->fold_count);
    if (!w->recomputing) set_loop_clauses(w, loop);
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

/* After the loop ------------------------------------------------------------------------------- */

/* The value, a scalar or a tile, if the axis has elements; else `otherwise`. */
static tile_value if_not_empty(online_kernel *w, tile_value value, double otherwise) {
    tile_builder *to = &w->k.b;
    int64_t extent;
    if (tile_expr_is_int(w->o->extent, &extent) && extent > 0) return value;
    tile_value any = sched_number(&w->k, sched_expr(w->k.s, w->o->extent));
    any = tile_build_gt(to, any, tile_build_int(to, 0));
    return tile_build_select(to, any, value, online_number(w, otherwise));
}

/* Applies the deferred factors of the row. If there is a factor of exponentials, all factors are
 * multiplied with each other first, so that sums are multiplied once. */
static tile_value apply_deferred(online_kernel *w, tile_value sums, const rescaled_value *left) {
    sched_kernel *k = &w->k;
    tile_value restored = online_build_final_scale(w, left->exps);
    tile_value *product = restored.id ? &restored : &sums;
    for (unsigned i = 0; i < left->deferred_count && sums.id; i++) {
        const sched_deferred_factor *deferred_factor = &left->deferred[i];
        tile_value row = online_row_value(w, &deferred_factor->row);
        if (!row.id) return row;
        /* Sums without terms are 0, whatever the factor is. */
        if (!deferred_factor->divides || !sched_is_positive(k->s, deferred_factor->row.value, 8))
            row = if_not_empty(w, row, 1);
        *product = deferred_factor->divides ? sched_divide(k, *product, row, online_f32(w))
                                            : tile_build_mul(&k->b, *product, row);
    }
    return restored.id ? tile_build_mul(&k->b, sums, restored) : sums;
}

/* If all elements of a row are -inf, the compute has exp(-inf - -inf), which is NaN. */
static tile_value restore_nan(online_kernel *w, tile_value sums, const rescaled_value *left) {
    tile_builder *to = &w->k.b;
    for (unsigned i = 0; i < w->o->exp_count && sums.id; i++) {
        const sched_exponential *e = &w->o->exps[i];
        if (!(left->exps & 1u << i) || sched_has_floor(w->k.s, e->rho.value)) continue;
        tile_value rho = online_row_value(w, &e->rho);
        if (!rho.id) return rho;
        tile_value none = tile_build_eq(to, rho, online_number(w, -INFINITY));
        none = tile_build_select(to, none, if_not_empty(w, online_number(w, NAN), 0),
                                 online_number(w, 0));
        sums = tile_build_add(to, sums, none);
    }
    return sums;
}

/* The maximum of a row of NaN is NaN, unless masks hide blocks of it or it has no elements. */
static tile_value restore_masked(online_kernel *w, const sched_carried_reduction *fold,
                                 tile_value carried) {
    tile_builder *to = &w->k.b;
    if (!fold->propagates_nan || !w->all.id) return carried;
    tile_value shown = tile_build_max(to, carried, online_number(w, -INFINITY));
    return tile_build_select(to, w->all, carried, shown);
}

static void remember_folds(online_kernel *w, const tile_value *folds, const rescaled_value *left) {
    sched_online *o = w->o;
    set_sums(w);
    for (unsigned i = 0; i < o->fold_count && !w->k.s->failed; i++) {
        const sched_carried_reduction *fold = &o->folds[i];
        if (!fold->product && !fold->rescaled) w->carried[i] = folds[i];
        tile_value sums = restore_nan(w, restore_masked(w, fold, folds[i]), &left[i]);
        sums = apply_deferred(w, sums, &left[i]);
        if (!sums.id) return;
        if (!fold->product) {
            remember_row(w, fold, sums);
            continue;
        }
        sched_map whole = online_whole_map(w, &fold->map);
        sched_remember(&w->k, result_of(w, fold), &fold->map, online_f32(w), sums);
        sched_remember(&w->k, result_of(w, fold), &whole, online_f32(w), sums);
    }
}

void online_finish(online_kernel *w, const tile_value *folds, const rescaled_value *left) {
    remember_folds(w, folds, left);
    online_store_outputs(w);
}

/* The kernel ----------------------------------------------------------------------------------- */

/* i1: the rows have elements, and the loop visits all of them. */
static tile_value build_all(online_kernel *w, tile_value begin, tile_value end) {
    tile_builder *to = &w->k.b;
    bool tells = false;
    for (unsigned i = 0; i < w->o->fold_count; i++) tells |= w->o->folds[i].propagates_nan;
    if (!tells) return TILE_NO_VALUE;
    tile_value extent = sched_number(&w->k, sched_expr(w->k.s, w->o->extent));
    tile_value zero = tile_build_int(to, 0);
    tile_value all =
        tile_build_and(to, tile_build_le(to, begin, zero), tile_build_ge(to, end, extent));
    return tile_build_and(to, all, tile_build_gt(to, extent, zero));
}

void sched_make_online(schedule *s, sched_group *g, const char *name) {
    online_kernel w = {.packed = online_pack_rows(s, g)};
    rescaled_value left[SCHED_MAX_CARRIED];
    tile_value folds[SCHED_MAX_CARRIED];
    memset(left, 0, sizeof left);
    w.o = g->online;
    sched_kernel_open(&w.k, s, g, name);
    online_add_points(&w);
    online_fix_points(&w);
    if (s->failed) return;
    online_set_grid(&w);
    load_left(&w);
    online_set_elements(&w);
    tile_value begin = sched_build_begin(&w.k, w.o, w.columns);
    tile_value end = sched_build_bounds(&w.k, w.o, w.rows);
    tile_value seen = end;
    w.all = build_all(&w, begin, end);
    end = online_set_order(&w, begin, end);
    if (masks_keys(&w, seen) && !sched_last_row_sees_last_key(s, g, w.o))
        mask_keys(&w, begin, is_zero(&w, begin) ? end : seen);
    online_locate_columns(&w, &begin, &end);
    load_invariant(&w);
    tile_op loop = online_build_loop(&w, begin, end, left);
    if (s->failed) return;
    for (unsigned i = 0; i < w.o->fold_count; i++) folds[i] = tile_op_result(w.k.f, loop, i);
    online_recompute(&w, begin, end, folds);
    if (s->failed) return;
    online_combine_parts(&w, folds, left);
}
