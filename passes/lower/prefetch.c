/* Prefetches the sectors that a tile covers in a view. Each thread prefetches some of them.
 *
 * Rows extend along the view's dim of stride 1. A point every 32 bytes of a row, and one at its
 * end, hits all sectors of the row at any alignment:
 *
 *     sectors   |       |       |       |       |
 *     row             [xxxxxxxxxxxxxxxxxx]
 *     points          *       *       *  *
 *
 * A point outside the view is clamped to the view. If the whole row is outside, nothing is
 * prefetched. */
#include "lib/analysis/access.h"
#include "passes/lower/lower.h"

enum { SECTOR = 32 };

typedef struct sectors {
    lowering *l;
    const lower_view *view;
    unsigned rank, first; /* of the tile; first: the view's dim that is the tile's first one */
    unsigned along;       /* the tile's dim along which rows extend; rank: none */
    tile_value start[TILE_MAX_RANK];
    int64_t extent[TILE_MAX_RANK], points[TILE_MAX_RANK], step[TILE_MAX_RANK];
    tile_value offset;    /* i64: from the dims before the tile's */
    tile_value predicate; /* these dims are in bounds, and so is a part of each row */
} sectors;

static tile_value number(const sectors *s, int64_t value) {
    return lower_int(s->l, value);
}

static tile_value limit_of(const sectors *s, unsigned d) {
    return s->view->limits[s->first + d];
}

/* Returns point % extent and sets *point to point / extent. */
static tile_value split_coordinate(const sectors *s, tile_value *point, int64_t extent) {
    tile_builder *b = &s->l->builder;
    tile_value whole = *point;
    if (extent == 1) return number(s, 0);
    *point = tile_build_div(b, whole, number(s, extent));
    return tile_build_rem(b, whole, number(s, extent));
}

/* Prefetches one point; tail: the last element of a row. */
static void prefetch_sector(const sectors *s, tile_value point, tile_value predicate, bool tail) {
    lowering *l = s->l;
    tile_builder *b = &l->builder;
    tile_value offset = s->offset;
    for (unsigned i = s->rank + 1; i-- > 0;) {
        /* adjacent threads take adjacent points of a row */
        unsigned d = i == s->rank ? s->along : i;
        if (d == s->rank || (i < s->rank && d == s->along)) continue;
        bool row = d == s->along;
        tile_value at =
            tail && row ? number(s, s->extent[d] - 1) : split_coordinate(s, &point, s->points[d]);
        if (!(tail && row)) at = lower_mul(l, at, number(s, s->step[d]));
        at = lower_add(l, s->start[d], at);
        if (row) {
            tile_value last = tile_build_sub(b, limit_of(s, d), number(s, 1));
            at = tile_build_min(b, tile_build_max(b, at, number(s, 0)), last);
        }
        predicate = lower_and(l, predicate, tile_build_ult(b, at, limit_of(s, d)));
        offset = lower_add(l, offset,
                           lower_mul(l, lower_to_long(l, at), s->view->strides[s->first + d]));
    }
    tile_build_prefetch_l2_thread(b, s->view->base, &offset, 1, predicate);
}

/* Distributes all points over the threads. */
static void prefetch_all(sectors *s, bool tail) {
    lowering *l = s->l;
    int64_t points = 1, threads = (int64_t)l->executors.warps << TILE_LANE_BITS;
    for (unsigned d = 0; d < s->rank; d++) points *= tail && d == s->along ? 1 : s->points[d];
    for (int64_t first = 0; first < points; first += threads) {
        tile_value point = lower_add(l, l->thread, number(s, first)), predicate = s->predicate;
        if (first + threads > points)
            predicate =
                lower_and(l, predicate, tile_build_lt(&l->builder, point, number(s, points)));
        prefetch_sector(s, point, predicate, tail);
    }
}

static void set_along(sectors *s, unsigned bytes) {
    lowering *l = s->l;
    unsigned d = s->along;
    s->step[d] = bytes < SECTOR ? SECTOR / bytes : 1;
    s->points[d] = (s->extent[d] + s->step[d] - 1) / s->step[d];
    tile_value end = lower_add(l, s->start[d], number(s, s->extent[d]));
    s->predicate =
        lower_and(l, s->predicate, tile_build_lt(&l->builder, s->start[d], limit_of(s, d)));
    s->predicate = lower_and(l, s->predicate, tile_build_gt(&l->builder, end, number(s, 0)));
}

void lower_prefetch(lowering *l, tile_op op) {
    const tile_values element = tile_operands_src(&l->old, op),
                      extents = tile_operands_extents(&l->old, op);
    const tile_type *view = tile_value_type(&l->old, element.at[0]);
    tile_access_facts facts = tile_view_access(&l->old, l->ranges, element.at);
    sectors s = {.l = l, .view = l->views[element.at[0].id], .rank = extents.count};
    s.first = view->rank - extents.count;
    s.along = tile_unit_dim(&facts, view->rank, extents.count);
    s.offset = lower_view_offset(l, element.at, 1 + s.first);
    for (unsigned d = 0; d < s.first; d++)
        s.predicate = lower_and(
            l, s.predicate,
            tile_build_ult(&l->builder, lower_mapped(l, element.at[1 + d]), s.view->limits[d]));
    for (unsigned d = 0; d < extents.count; d++) {
        s.start[d] = lower_mapped(l, element.at[1 + s.first + d]);
        s.step[d] = s.extent[d] = 1;
        tile_value_is_int(&l->old, extents.at[d], &s.extent[d]);
        s.points[d] = s.extent[d];
    }
    if (s.along < extents.count) set_along(&s, tile_scalar_bytes(view->scalar));
    prefetch_all(&s, false);
    if (s.along < extents.count && s.extent[s.along] > 1) prefetch_all(&s, true);
}
