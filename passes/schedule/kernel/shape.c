/* The dims of the view through which a kernel accesses an array: those of the array, except that
 *
 *   - dims whose coordinates are parts of one coordinate are one dim
 *   - a dim whose coordinate is a pair, a * by + b, is two dims
 *   - a dim with stride 0 has one element */
#include "passes/schedule/kernel/schedule.h"

/* Merges --------------------------------------------------------------------------------------- */

/* Returns whether dims first to last of the array are one dim in memory. */
static bool are_contiguous(schedule *s, const sched_shape *shape, unsigned first, unsigned last) {
    for (unsigned d = first; d < last && shape->strides[0]; d++)
        if (!sched_is_contiguous(s, shape->strides[d], sched_dim(s, shape->type, d + 1),
                                 shape->strides[d + 1]))
            return false;
    return true;
}

void sched_merge_shape(schedule *s, sched_shape *shape, sched_map *map) {
    const tile_type *type = shape->type;
    tile_type draft = *type;
    sched_map out = *map;
    const tile_expr *strides[TILE_MAX_RANK];
    unsigned at = type->rank;
    for (unsigned d = type->rank; d-- > 0;) {
        unsigned first = sched_merge_dims(s, type, map, d, &out.at[--at]);
        if (!are_contiguous(s, shape, first, d)) {
            first = d;
            out.at[at] = map->at[d];
        }
        draft.dims[at] = type->dims[d];
        strides[at] = shape->strides[d];
        for (; d > first; d--)
            draft.dims[at] = tile_expr_multiply(s->context, type->dims[d - 1], draft.dims[at]);
    }
    if (!at) return;
    draft.rank = type->rank - at;
    for (unsigned d = 0; d < type->rank; d++) {
        draft.dims[d] = d < draft.rank ? draft.dims[d + at] : NULL;
        shape->strides[d] = d < draft.rank ? strides[d + at] : NULL;
        if (d < draft.rank) map->at[d] = out.at[d + at];
    }
    shape->type = tile_type_get(s->context, &draft);
}

/* Splits --------------------------------------------------------------------------------------- */

/* Returns whether one element may be read for all elements of the tile along this dim. Copies to
 * shared memory need all dims of their tile, and reductions the padding outside of the extents. */
static bool may_repeat(const sched_kernel *k, const sched_coordinate *at) {
    bool reduced = k->g->kind == SCHED_ROWS && sched_depends(at, k->g->axis);
    return !k->straight && !reduced && k->g->kind != SCHED_ONLINE;
}

/* Dims with stride 0 have one element, which is at every coordinate. */
static void drop_repeated(sched_kernel *k, sched_shape *shape, sched_map *map) {
    tile_type draft = *shape->type;
    bool found = false;
    for (unsigned d = 0; d < draft.rank && shape->strides[0]; d++) {
        if (!tile_expr_is(shape->strides[d], 0) || !may_repeat(k, &map->at[d])) continue;
        draft.dims[d] = tile_expr_int(k->s->context, 1);
        map->at[d] = sched_zero_coordinate();
        found = true;
    }
    if (found) shape->type = tile_type_get(k->s->context, &draft);
}

/* Returns whether dims with computed coordinates are split that do not change along the tile. */
static bool splits_all(const sched_kernel *k) {
    return k->reduce || k->g->has_rows;
}

/* The dims into which a dim is split whose coordinate is a pair, or a pair of pairs, in reverse
 * order. Returns their number; 1: it is not split. *whole becomes false if the parts may cover
 * only the begin of the dim, as a reshape of a slice does. Pairs do not exceed the dim, unless the
 * group stores a slice of its moved result: these are split only if the number divides the extent.
 */
static unsigned split_pairs(sched_kernel *k, const tile_expr *extent, sched_coordinate at,
                            sched_coordinate *parts, const tile_expr **extents, bool *whole) {
    unsigned count = 0;
    while (count + 1 < TILE_MAX_RANK && at.index && at.index->kind == SCHED_PAIR && !at.offset &&
           at.index->by.expr && (splits_all(k) || sched_along(k, &at) != -1)) {
        const sched_coordinate *a = &at.index->a;
        const tile_expr *above = sched_without(k->s, extent, at.index->by.expr);
        if (!above && !k->g->moves && a->dim >= 0 && !a->offset) {
            above = k->g->domain.extents[a->dim];
            *whole = false;
        }
        if (!above) break;
        parts[count] = at.index->b;
        extents[count++] = at.index->by.expr;
        at = at.index->a;
        extent = above;
    }
    parts[count] = at;
    extents[count++] = extent;
    return count;
}

/* Gives a row-major array strides, which then do not follow from the extents of the view. */
static void set_strides(schedule *s, sched_shape *shape) {
    const tile_expr *stride = tile_expr_int(s->context, 1);
    for (unsigned d = shape->type->rank; d-- > 0 && !shape->strides[d];) {
        shape->strides[d] = stride;
        stride = tile_expr_multiply(s->context, sched_dim(s, shape->type, d), stride);
    }
}

/* Splits dims whose coordinates are pairs into several dims of the view, so that tiles along the
 * later ones are bounded by them. */
static void take_pairs_apart(sched_kernel *k, sched_shape *shape, sched_map *map) {
    sched_shape from = *shape;
    const sched_map all = *map;
    tile_type draft = *from.type;
    sched_coordinate parts[TILE_MAX_RANK];
    const tile_expr *extents[TILE_MAX_RANK], *strides[TILE_MAX_RANK];
    bool whole = true;
    for (unsigned d = 0; d < from.type->rank; d++)
        split_pairs(k, sched_resolved(k->s, from.type->dims[d]), all.at[d], parts, extents, &whole);
    if (!whole) set_strides(k->s, &from);
    draft.rank = 0;
    for (unsigned d = 0; d < from.type->rank; d++) {
        const tile_expr *extent = sched_resolved(k->s, from.type->dims[d]);
        unsigned count = split_pairs(k, extent, all.at[d], parts, extents, &whole);
        if (draft.rank + count + from.type->rank - d - 1 > TILE_MAX_RANK) count = 1;
        if (count == 1) {
            parts[0] = all.at[d];
            extents[0] = from.type->dims[d];
        }
        strides[0] = from.strides[d];
        for (unsigned i = 1; i < count; i++)
            strides[i] = strides[0]
                             ? tile_expr_multiply(k->s->context, extents[i - 1], strides[i - 1])
                             : NULL;
        for (unsigned i = count; i-- > 0;) {
            shape->strides[draft.rank] = strides[i];
            draft.dims[draft.rank] = extents[i];
            map->at[draft.rank++] = parts[i];
        }
    }
    if (draft.rank != from.type->rank) shape->type = tile_type_get(k->s->context, &draft);
}

sched_shape sched_split_shape(sched_kernel *k, unsigned array, tile_value value, sched_map *map) {
    sched_shape shape = sched_shape_of(k->s, array, value);
    drop_repeated(k, &shape, map);
    sched_merge_shape(k->s, &shape, map);
    take_pairs_apart(k, &shape, map);
    return shape;
}
