/* Online loops of few rows, which would occupy few blocks. Each of `split` blocks processes a part
 * of the columns. The last block of a tile to finish combines the results of all parts, in the
 * order of the parts, so that results are bitwise reproducible.
 *
 *     own    = the loop over part z                  maxima, sums, sums of products
 *     parts[z] = own; count = tickets + 1
 *     if count == split:
 *       for part = 0 to split:                        like one more block of the loop
 *         t' = max(t, parts[part].t)
 *         a' = a * exp(t - t') + parts[part].a * exp(parts[part].t - t')
 *
 * A part without columns has the maximum -inf, which rescales its sums, 0, to 0. */
#include <string.h>

#include "passes/schedule/online/online_kernel.h"

#include "lib/ir/syntax.h"

static tile_value number_of(online_kernel *w, const tile_expr *expr) {
    return sched_number(&w->k, expr);
}

/* Parts ---------------------------------------------------------------------------------------- */

tile_value online_locate_part(online_kernel *w, tile_value x, tile_value y, tile_value z,
                              const tile_expr *const grid[3]) {
    tile_builder *to = &w->k.b;
    if (!w->split) return x;
    tile_value split = number_of(w, w->split);
    w->part = tile_build_rem(to, x, split);
    x = tile_build_div(to, x, split);
    w->tile = tile_build_add(to, tile_build_mul(to, z, number_of(w, grid[1])), y);
    w->tile = tile_build_add(to, tile_build_mul(to, w->tile, number_of(w, grid[0])), x);
    const tile_expr *all = tile_expr_multiply(w->k.s->context, grid[0], grid[1]);
    w->tiles = tile_expr_multiply(w->k.s->context, all, grid[2]);
    return x;
}

void online_locate_columns(online_kernel *w, tile_value *begin, tile_value *end) {
    tile_builder *to = &w->k.b;
    if (!w->split) return;
    tile_value block = number_of(w, w->columns), none = tile_build_int(to, 0);
    tile_value length = tile_build_max(to, tile_build_sub(to, *end, *begin), none);
    tile_value blocks = tile_build_ceildiv(to, length, block);
    tile_value own = tile_build_ceildiv(to, blocks, number_of(w, w->split));
    tile_value first = tile_build_min(to, tile_build_mul(to, w->part, own), blocks);
    /* The coordinate after the last block may overflow i32, so the last part uses the loop's own
     * end. A part that begins after the last block is empty. */
    tile_value stop = tile_build_min(to, tile_build_add(to, first, own), blocks);
    *begin = tile_build_add(to, *begin, tile_build_mul(to, first, block));
    tile_value own_end = tile_build_mul(to, tile_build_sub(to, stop, first), block);
    own_end = tile_build_add(to, *begin, own_end);
    *end = tile_build_select(to, tile_build_lt(to, stop, blocks), own_end, *end);
    *end = tile_build_select(to, tile_build_lt(to, first, blocks), *end,
                             tile_build_int(to, INT32_MIN));
}

/* Scratch shared by the blocks ----------------------------------------------------------------- */

/* Allocates scratch for a carried reduction: one entry per part and tile. */
static tile_value make_scratch(online_kernel *w, unsigned fold, tile_value tile) {
    const tile_type *type = tile_value_type(w->k.f, tile);
    tile_value extents[] = {number_of(w, w->split), number_of(w, w->tiles),
                            number_of(w, type->dims[0]), number_of(w, type->dims[1])};
    tile_value parts = tile_build_scratch(&w->k.b, extents, 4, online_f32(w));
    tile_value_set_name(w->k.f, parts, tile_arena_format(w->k.s->arena, "parts%u", fold + 1));
    return parts;
}

static tile_value reshape(online_kernel *w, tile_value tile, unsigned rank) {
    const tile_type *from = tile_value_type(w->k.f, tile);
    tile_type draft = *from;
    const tile_expr *one = tile_expr_int(w->k.s->context, 1);
    for (unsigned d = 0; d < rank; d++) {
        int own = (int)(d + from->rank) - (int)rank;
        draft.dims[d] = own < 0 ? one : from->dims[own];
    }
    for (unsigned d = rank; d < TILE_MAX_RANK; d++) draft.dims[d] = NULL;
    draft.rank = rank;
    return tile_build_reshape(&w->k.b, tile, TILE_NO_VALUE, tile_type_get(w->k.s->context, &draft));
}

static void store_part(online_kernel *w, tile_value parts, tile_value tile) {
    tile_value none = tile_build_int(&w->k.b, 0);
    const tile_value index[] = {w->part, w->tile, none, none};
    tile_build_store(&w->k.b, reshape(w, tile, 4), parts, index, 4, TILE_NO_VALUE);
}

static tile_value load_part(online_kernel *w, tile_value parts, tile_value part,
                            const tile_type *type) {
    tile_value none = tile_build_int(&w->k.b, 0);
    const tile_value index[] = {part, w->tile, none, none};
    const tile_expr *one = tile_expr_int(w->k.s->context, 1);
    tile_type draft = *type;
    draft.rank = 4;
    draft.dims[0] = draft.dims[1] = one;
    draft.dims[2] = type->dims[0];
    draft.dims[3] = type->dims[1];
    tile_value tile = tile_build_load(&w->k.b, parts, index, 4, TILE_NO_VALUE,
                                      tile_type_get(w->k.s->context, &draft));
    return reshape(w, tile, 2);
}

static tile_value count(online_kernel *w, const char *kind, int by, tile_value tickets) {
    tile_value old = tile_build_atomic(&w->k.b, tile_build_int(&w->k.b, by), tickets, &w->tile, 1,
                                       TILE_NO_VALUE, TILE_NO_VALUE);
    tile_op op = tile_value_def(w->k.f, old);
    tile_op_set_text(w->k.f, op, TILE_ATTR_kind, kind);
    if (by) tile_op_set_text(w->k.f, op, TILE_ATTR_ordering, "acq_rel");
    return old;
}

static tile_value make_tickets(online_kernel *w) {
    tile_value all = number_of(w, w->tiles);
    tile_value words =
        tile_build_scratch(&w->k.b, &all, 1, tile_type_scalar(w->k.s->context, TILE_i32));
    tile_op_set_flag(w->k.f, tile_value_def(w->k.f, words), TILE_ATTR_clean);
    tile_value_set_name(w->k.f, words, "tickets");
    return words;
}

/* Combining ------------------------------------------------------------------------------------ */

/* Computes corrections for sums that were computed with these maxima. */
static void set_before(online_kernel *w, const tile_value *carried) {
    memset(w->correction, 0, sizeof w->correction);
    online_build_rows(w, carried, w->before);
}

static bool is_known_early(const sched_carried_reduction *fold) {
    return !fold->rescaled && !fold->product;
}

static void add_part(online_kernel *w, const tile_value *carried, const tile_value *part,
                     const rescaled_value *left, tile_value *next) {
    const sched_online *o = w->o;
    tile_builder *to = &w->k.b;
    for (unsigned i = 0; i < o->fold_count; i++)
        if (is_known_early(&o->folds[i]))
            next[i] = online_is_largest(w, &o->folds[i]) ? tile_build_max(to, carried[i], part[i])
                                                         : tile_build_add(to, carried[i], part[i]);
    online_build_rows(w, next, w->now);
    set_before(w, carried);
    for (unsigned i = 0; i < o->fold_count; i++)
        if (!is_known_early(&o->folds[i])) next[i] = online_rescale(w, carried[i], left[i].exps);
    set_before(w, part);
    for (unsigned i = 0; i < o->fold_count; i++)
        if (!is_known_early(&o->folds[i]))
            next[i] = tile_build_add(to, next[i], online_rescale(w, part[i], left[i].exps));
}

/* Builds a loop over the parts. own: the carried values, for their types. */
static tile_op join(online_kernel *w, const tile_value *parts, const tile_value *own,
                    const rescaled_value *left) {
    sched_kernel *k = &w->k;
    unsigned folds = w->o->fold_count;
    tile_value inits[SCHED_MAX_CARRIED], carried[SCHED_MAX_CARRIED], part[SCHED_MAX_CARRIED],
        next[SCHED_MAX_CARRIED];
    for (unsigned i = 0; i < folds; i++) inits[i] = online_identity_of(w, &w->o->folds[i]);
    tile_op loop = tile_build_for_loop(&k->b, tile_build_int(&k->b, 0), number_of(w, w->split),
                                       tile_build_int(&k->b, 1), inits, folds);
    tile_builder outside = k->b;
    tile_region body = tile_op_region(k->f, loop, 0);
    k->b = tile_builder_at_end(k->f, body);
    size_t mark = sched_enter(k);
    for (unsigned i = 0; i < folds; i++) {
        carried[i] = tile_region_arg(k->f, body, i + 1);
        part[i] =
            load_part(w, parts[i], tile_region_arg(k->f, body, 0), tile_value_type(k->f, own[i]));
    }
    online_set_elements(w);
    add_part(w, carried, part, left, next);
    if (!k->s->failed) tile_build_yield(&k->b, next, folds);
    k->b = outside;
    sched_leave(k, mark);
    return loop;
}

/* Enters a region of a branch without results. */
static tile_builder enter(online_kernel *w, tile_op choice, unsigned region) {
    tile_builder outside = w->k.b;
    w->k.b = tile_builder_at_end(w->k.f, tile_op_region(w->k.f, choice, region));
    return outside;
}

static void leave(online_kernel *w, tile_builder outside) {
    if (!w->k.s->failed) tile_build_yield(&w->k.b, NULL, 0);
    w->k.b = outside;
}

/* The last block of a tile continues with all parts. */
static void build_parts(online_kernel *w, const tile_value *own, const rescaled_value *left) {
    tile_builder *to = &w->k.b;
    tile_value parts[SCHED_MAX_CARRIED], results[SCHED_MAX_CARRIED];
    unsigned folds = w->o->fold_count;
    for (unsigned i = 0; i < folds; i++) parts[i] = make_scratch(w, i, own[i]);
    tile_value tickets = make_tickets(w);
    for (unsigned i = 0; i < folds; i++) store_part(w, parts[i], own[i]);
    tile_value before = count(w, "add", 1, tickets);
    tile_value last = tile_build_sub(to, number_of(w, w->split), tile_build_int(to, 1));
    tile_op choice = tile_build_if_else(to, tile_build_eq(to, before, last), NULL, 0);
    tile_builder outside = enter(w, choice, 0);
    size_t mark = sched_enter(&w->k);
    count(w, "exch", 0, tickets); /* clean again for the next launch */
    tile_op loop = join(w, parts, own, left);
    for (unsigned i = 0; i < folds; i++) results[i] = tile_op_result(w->k.f, loop, i);
    if (!w->k.s->failed) online_finish(w, results, left);
    sched_leave(&w->k, mark);
    leave(w, outside);
    outside = enter(w, choice, 1);
    leave(w, outside);
}

void online_combine_parts(online_kernel *w, const tile_value *own, const rescaled_value *left) {
    sched_kernel *k = &w->k;
    if (!w->split) {
        online_finish(w, own, left);
        return;
    }
    tile_value whole = tile_build_eq(&k->b, number_of(w, w->split), tile_build_int(&k->b, 1));
    tile_op choice = tile_build_if_else(&k->b, whole, NULL, 0);
    for (unsigned i = 0; i < 2 && !k->s->failed; i++) {
        tile_builder outside = enter(w, choice, i);
        size_t mark = sched_enter(k);
        if (i)
            build_parts(w, own, left);
        else
            online_finish(w, own, left);
        sched_leave(k, mark);
        leave(w, outside);
    }
}
