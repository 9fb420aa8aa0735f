/* A second loop, used if values at hidden keys made the results of the first one NaN.
 *
 * If masks are comparisons, the loop skips all keys before the first and after the last one that
 * any row sees. Keys hidden by other masks, such as a padding array, are visited. Their weights are
 * 0, but 0 times an infinite or NaN value is NaN. Selecting the values of each block would cost as
 * much as the softmax. The loop therefore multiplies them unmasked. If sums of products turn out to
 * be NaN, the block runs a slower second loop, in which values at keys that no row of the tile sees
 * are 0. Row sums do not depend on values, so a loop without sums of products needs no
 * repetition. */
#include "passes/schedule/online/online_kernel.h"

#include "lib/ir/syntax.h"
#include "lib/ops/kinds.h"

/* Is the loop repeated? ------------------------------------------------------------------------ */

static tile_value reduce_max(online_kernel *w, tile_value src, unsigned axis) {
    tile_builder *to = &w->k.b;
    const tile_segment segments[] = {{src, NULL, 0}, {TILE_NO_VALUE, NULL, 0}};
    const tile_attr at = {.id = TILE_ATTR_axis, .expr = tile_expr_int(w->k.s->context, axis)};
    tile_op op = tile_build_op_of(to, TILE_OP_reduce, segments, 2, NULL, &at, 1);
    if (!op.id) return TILE_NO_VALUE;
    tile_op_set_text(w->k.f, op, TILE_ATTR_kind, "max");
    tile_op_set_int(w->k.f, op, TILE_ATTR_axis, axis);
    return tile_op_result(w->k.f, op, 0);
}

/* i32: 1 where the condition holds. */
static tile_value as_number(online_kernel *w, tile_value condition) {
    tile_builder *to = &w->k.b;
    return tile_build_select(to, condition, tile_build_int(to, 1), tile_build_int(to, 0));
}

/* i32 [1, 1]: positive if a sum of products is NaN. */
static tile_value count_nan(online_kernel *w, const tile_value *folds) {
    tile_value most = TILE_NO_VALUE;
    for (unsigned i = 0; i < w->o->fold_count; i++) {
        if (!w->o->folds[i].product) continue;
        tile_value spoilt = as_number(w, tile_build_ne(&w->k.b, folds[i], folds[i]));
        spoilt = reduce_max(w, reduce_max(w, spoilt, 1), 0);
        if (!spoilt.id) return spoilt;
        most = most.id ? tile_build_max(&w->k.b, most, spoilt) : spoilt;
    }
    return most;
}

/* An element of a tile, uniform across all threads. */
static tile_value take_element(online_kernel *w, tile_value tile) {
    tile_builder *to = &w->k.b;
    tile_type draft = *tile_value_type(w->k.f, tile);
    const tile_value at[] = {tile_build_int(to, 0), tile_build_int(to, 0)};
    draft.kind = TILE_TYPE_SHARED;
    draft.layout = NULL;
    tile_value shared = tile_build_alloc_shared(to, tile_type_get(w->k.s->context, &draft));
    tile_build_store_shared(to, tile, shared, NULL, 0);
    tile_value element = tile_build_load(to, shared, at, 2, TILE_NO_VALUE, NULL);
    tile_build_free_shared(to, shared);
    return element;
}

/* Loads of the second loop --------------------------------------------------------------------- */

static tile_value make_buffer(online_kernel *w, const sched_product_operand *side) {
    sched_kernel *k = &w->k;
    tile_type draft = {.kind = TILE_TYPE_SHARED,
                       .scalar = side->element->scalar,
                       .rank = 2,
                       .dims = {k->block[0], k->block[1]}};
    return tile_build_alloc_shared(&k->b, tile_type_get(k->s->context, &draft));
}

static void make_buffers(online_kernel *w) {
    sched_online *o = w->o;
    for (unsigned i = 0; i < o->inner_count; i++) {
        online_set_operand_tile(w, &o->inner[i].sides[1], w->deep, w->columns);
        w->key_buffers[i] = make_buffer(w, &o->inner[i].sides[1]);
    }
    for (unsigned i = 0; i < o->fold_count; i++) {
        if (!o->folds[i].product) continue;
        online_set_operand_tile(w, &o->folds[i].rhs, w->columns, w->wide);
        w->value_buffers[i] = make_buffer(w, &o->folds[i].rhs);
    }
    online_set_elements(w);
}

static void free_buffers(online_kernel *w) {
    for (unsigned i = 0; i < w->o->inner_count; i++)
        tile_build_free_shared(&w->k.b, w->key_buffers[i]);
    for (unsigned i = 0; i < w->o->fold_count; i++)
        if (w->value_buffers[i].id) tile_build_free_shared(&w->k.b, w->value_buffers[i]);
}

tile_value online_copy_visible(online_kernel *w, const sched_product_operand *side, tile_value part,
                               tile_value buffer, tile_value predicate, const tile_type *type) {
    sched_kernel *k = &w->k;
    sched_access access;
    if (!online_find_access(w, side, &access)) return TILE_NO_VALUE;
    tile_build_copy(&k->b, part.id ? part : access.view, access.index, access.rank, buffer, NULL, 0,
                    predicate);
    if (side->element == type) return buffer;
    tile_value tile = tile_build_load_shared(&k->b, buffer, NULL, 0, NULL);
    return sched_convert(k, tile, type);
}

/* i1, by the values' block: a row of the tile sees the key. */
static tile_value find_shown(online_kernel *w, const sched_carried_reduction *fold) {
    sched_kernel *k = &w->k;
    tile_builder *to = &k->b;
    const sched_masked_input *masked_input = &w->o->masked_inputs[fold->masked_input];
    tile_value seen =
        reduce_max(w, as_number(w, sched_broadcast_to_tile(k, masked_input->tile_seen)), 0);
    if (!seen.id) return seen;
    const tile_segment transposed[] = {{seen, NULL, 0}};
    online_set_operand_tile(w, &fold->rhs, w->columns, w->wide);
    if (!online_is_transposed(w, &fold->rhs)) {
        tile_op op = tile_build_op_of(to, TILE_OP_transpose, transposed, 1, NULL, NULL, 0);
        seen = op.id ? tile_op_result(k->f, op, 0) : TILE_NO_VALUE;
    }
    if (seen.id) seen = sched_broadcast_to_tile(k, tile_build_gt(to, seen, tile_build_int(to, 0)));
    return seen;
}

tile_value online_load_visible(online_kernel *w, unsigned fold, const tile_type *type) {
    const sched_carried_reduction *f = &w->o->folds[fold];
    tile_value shown = find_shown(w, f);
    if (!shown.id) return shown;
    online_set_operand_tile(w, &f->rhs, w->columns, w->wide);
    tile_value values =
        online_copy_visible(w, &f->rhs, w->values[fold], w->value_buffers[fold], shown, type);
    online_set_elements(w);
    return values;
}

/* Selection ------------------------------------------------------------------------------------ */

static bool has_hidden(online_kernel *w) {
    bool found = false;
    for (unsigned i = 0; i < w->o->fold_count; i++) {
        const sched_carried_reduction *fold = &w->o->folds[i];
        found |= fold->product && fold->masked_input >= 0 &&
                 w->o->masked_inputs[fold->masked_input].seen.value.id &&
                 sched_mask_hides_keys(&w->k, w->o, &w->o->masked_inputs[fold->masked_input]);
    }
    return found;
}

void online_recompute(online_kernel *w, tile_value begin, tile_value end, tile_value *folds) {
    sched_kernel *k = &w->k;
    unsigned count = w->o->fold_count;
    rescaled_value ignored[SCHED_MAX_CARRIED] = {{.deferred_count = 0}};
    const tile_type *types[SCHED_MAX_CARRIED];
    if (!has_hidden(w)) return;
    tile_value spoilt = count_nan(w, folds);
    if (!spoilt.id) return;
    spoilt = tile_build_gt(&k->b, take_element(w, spoilt), tile_build_int(&k->b, 0));
    for (unsigned i = 0; i < count; i++) types[i] = tile_value_type(k->f, folds[i]);
    tile_op fork = tile_build_if_else(&k->b, spoilt, types, count);
    tile_builder outside = k->b;
    for (unsigned r = 0; r < 2 && !k->s->failed; r++) {
        tile_value results[SCHED_MAX_CARRIED];
        k->b = tile_builder_in(&outside, fork, r);
        size_t mark = sched_enter(k);
        for (unsigned i = 0; i < count; i++) results[i] = folds[i];
        if (!r) {
            w->recomputing = true;
            make_buffers(w);
            tile_op loop = online_build_loop(w, begin, end, ignored);
            for (unsigned i = 0; i < count; i++) results[i] = tile_op_result(k->f, loop, i);
            free_buffers(w);
            w->recomputing = false;
        }
        if (!k->s->failed) tile_build_yield(&k->b, results, count);
        sched_leave(k, mark);
    }
    k->b = outside;
    for (unsigned i = 0; i < count; i++) folds[i] = tile_op_result(k->f, fork, i);
}
