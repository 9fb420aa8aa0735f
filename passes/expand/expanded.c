/* Tiles over the dims of a space: creation, broadcast, and transposition to the dim order of other
 * tiles or memory. */
#include "passes/expand/expanded.h"

#include "lib/layout/layout.h"

/* Types --------------------------------------------------------------------------------------- */

const tile_type *expanded_extents(const expanded_space *x, const tile_type *like,
                                  const int64_t *extents, unsigned rank) {
    tile_type draft = {.kind = TILE_TYPE_TILE,
                       .scalar = like->scalar,
                       .param = like->param,
                       .rank = (uint8_t)rank};
    for (unsigned d = 0; d < rank; d++) draft.dims[d] = tile_expr_int(x->context, extents[d]);
    return tile_type_get(x->context, &draft);
}

static void extents_over(const expanded_space *x, uint32_t dims, int64_t *extents) {
    for (unsigned d = 0; d < x->rank; d++) extents[d] = dims >> d & 1 ? x->extent[d] : 1;
}

const tile_type *expanded_type(const expanded_space *x, const tile_type *like, uint32_t dims) {
    int64_t extents[TILE_MAX_RANK];
    extents_over(x, dims, extents);
    return expanded_extents(x, like, extents, x->rank);
}

static const tile_type *type_of(const expanded_space *x, tile_value value) {
    return tile_value_type(x->b.function, value);
}

/* Shapes -------------------------------------------------------------------------------------- */

tile_value expanded_reshape(expanded_space *x, tile_value tile, const int64_t *extents,
                            unsigned rank) {
    const tile_type *to = expanded_extents(x, type_of(x, tile), extents, rank);
    if (to == type_of(x, tile)) return tile;
    return tile_build_reshape(&x->b, tile, TILE_NO_VALUE, to);
}

static tile_value broadcast(expanded_space *x, tile_value tile, const int64_t *extents,
                            unsigned rank) {
    const tile_type *to = expanded_extents(x, type_of(x, tile), extents, rank);
    return to == type_of(x, tile) ? tile : tile_build_broadcast(&x->b, tile, to);
}

tile_value expanded_broadcast(expanded_space *x, expanded s, uint32_t dims) {
    int64_t extents[TILE_MAX_RANK];
    if (s.dims == dims || !dims) return s.value;
    extents_over(x, dims, extents);
    if (s.dims) return broadcast(x, s.value, extents, x->rank);
    return tile_build_splat(&x->b, s.value, expanded_type(x, type_of(x, s.value), dims));
}

/* Dim d of the result is dim order[d] of the tile. */
static tile_value transpose(expanded_space *x, tile_value tile, const int64_t *order,
                            unsigned rank) {
    int64_t extents[TILE_MAX_RANK];
    bool same = true;
    for (unsigned d = 0; d < rank; d++) {
        extents[d] = tile_type_dim(type_of(x, tile), (unsigned)order[d]);
        same &= order[d] == d;
    }
    if (same) return tile;
    tile_value turned =
        tile_build_transpose(&x->b, tile, expanded_extents(x, type_of(x, tile), extents, rank));
    tile_op_set_list(x->b.function, tile_value_def(x->b.function, turned), TILE_ATTR_order, order,
                     rank);
    return turned;
}

uint32_t expanded_dims(const expanded_order *order) {
    uint32_t dims = EXPANDED_TILE;
    for (unsigned d = 0; d < order->rank; d++)
        if (order->dim[d] != EXPANDED_NO_DIM) dims |= UINT32_C(1) << order->dim[d];
    return dims;
}

/* The order's dims without those of extent 1. ranked[i]: which of them is at position i after
 * sorting. Returns their number. */
static unsigned sort_order(const expanded_order *order, int *dims, int64_t *ranked) {
    unsigned count = 0, at = 0;
    for (unsigned d = 0; d < order->rank; d++)
        if (order->dim[d] != EXPANDED_NO_DIM) dims[count++] = order->dim[d];
    for (int k = 0; k < TILE_MAX_RANK; k++)
        for (unsigned i = 0; i < count; i++)
            if (dims[i] == k) ranked[at++] = i;
    return count;
}

/* The extents without those of 1, or a single 1 if no other extent is left. */
static unsigned extents_of_dims(const expanded_space *x, const int *dims, unsigned count,
                                int64_t *extents) {
    for (unsigned i = 0; i < count; i++) extents[i] = x->extent[dims[i]];
    if (!count) extents[0] = 1;
    return count ? count : 1;
}

expanded expanded_from_order(expanded_space *x, tile_value tile, const expanded_order *order) {
    int dims[TILE_MAX_RANK];
    int64_t ranked[TILE_MAX_RANK] = {0}, extents[TILE_MAX_RANK];
    unsigned count = sort_order(order, dims, ranked);
    expanded s = {.dims = expanded_dims(order)};
    unsigned rank = extents_of_dims(x, dims, count, extents);
    bool sorted = true;
    for (unsigned i = 0; i < count; i++) sorted &= ranked[i] == i;
    if (!sorted) tile = transpose(x, expanded_reshape(x, tile, extents, rank), ranked, rank);
    extents_over(x, s.dims, extents);
    s.value = expanded_reshape(x, tile, extents, x->rank);
    return s;
}

tile_value expanded_to_order(expanded_space *x, expanded s, const expanded_order *order) {
    int dims[TILE_MAX_RANK];
    int64_t ranked[TILE_MAX_RANK] = {0}, back[TILE_MAX_RANK] = {0}, extents[EXPANDED_MAX_INDICES];
    unsigned count = sort_order(order, dims, ranked);
    bool sorted = true;
    for (unsigned i = 0; i < count; i++) {
        extents[i] = x->extent[dims[ranked[i]]];
        back[ranked[i]] = i;
        sorted &= ranked[i] == i;
    }
    tile_value tile = s.value;
    if (!sorted) tile = transpose(x, expanded_reshape(x, tile, extents, count), back, count);
    for (unsigned d = 0; d < order->rank; d++)
        extents[d] = order->dim[d] == EXPANDED_NO_DIM ? 1 : x->extent[order->dim[d]];
    return expanded_reshape(x, tile, extents, order->rank);
}

/* Removes the dims along which the tile has one element. */
static tile_value squeeze(expanded_space *x, expanded s, int64_t *extents, unsigned *rank) {
    *rank = 0;
    for (unsigned d = 0; d < x->rank; d++)
        if (s.dims >> d & 1) extents[(*rank)++] = x->extent[d];
    if (!*rank) extents[(*rank)++] = 1;
    return expanded_reshape(x, s.value, extents, *rank);
}

expanded expanded_coordinate(expanded_space *x, unsigned d) {
    const tile_type *i32 = tile_type_scalar(x->context, TILE_i32);
    expanded s = {.dims = EXPANDED_TILE | UINT32_C(1) << d};
    if (x->extent[d] == 1) return (expanded){tile_build_int(&x->b, 0), 0};
    s.value = tile_build_iota(&x->b, expanded_type(x, i32, s.dims));
    tile_op_set_int(x->b.function, tile_value_def(x->b.function, s.value), TILE_ATTR_axis, d);
    return s;
}

/* Accesses ------------------------------------------------------------------------------------ */

/* Returns whether each dim from `first` on follows a distinct dim of the space, while the earlier
 * dims are indexed by points. *points: the dims of the space that the points depend on. */
static bool counts_from(const expanded_index *places, unsigned rank, unsigned first,
                        uint32_t *points) {
    uint32_t counted = 0;
    for (unsigned d = 0; d < first; d++) *points |= places[d].at.dims;
    for (unsigned d = first; d < rank; d++) {
        uint32_t dim = UINT32_C(1) << places[d].dim;
        if (places[d].kind == EXPANDED_UNIFORM) continue;
        if (places[d].kind != EXPANDED_COORDINATE || (counted | *points) & dim) return false;
        counted |= dim;
    }
    return true;
}

static tile_value start_of(expanded_space *x, const expanded_index *place) {
    if (place->kind == EXPANDED_UNIFORM) return place->at.value;
    return place->base.id ? place->base : tile_build_int(&x->b, 0);
}

/* The points' coordinate along one dim. Scalars may stay scalars if another coordinate is a
 * tile. */
static tile_value point_of(expanded_space *x, const expanded_index *place, uint32_t points,
                           bool is_tile) {
    int64_t extents[TILE_MAX_RANK];
    unsigned rank;
    if (!place->at.dims && !is_tile) return place->at.value;
    expanded s = {expanded_broadcast(x, place->at, points), points};
    return squeeze(x, s, extents, &rank);
}

expanded_access expanded_find_access(expanded_space *x, const expanded_index *places, unsigned rank,
                                     uint32_t points) {
    expanded_access a = {.rank = rank};
    unsigned first = points ? rank : 0;
    bool any = false;
    uint32_t dims = points;
    while (first < rank && (dims = 0, !counts_from(places, rank, first, &dims))) first++;
    if (first == rank)
        for (unsigned d = 0; d < rank; d++) dims |= places[d].at.dims;
    for (unsigned d = 0; d < first; d++) {
        any |= places[d].at.dims != 0;
        a.dims |= places[d].at.dims;
    }
    for (unsigned d = 0; d < first; d++)
        a.index[d] = point_of(x, &places[d], dims, d == 0 && !any && points);
    for (unsigned d = 0; d < x->rank && first; d++)
        if (dims >> d & 1) a.order.dim[a.order.rank++] = (int)d;
    if (first && !a.order.rank && (any || points)) a.order.dim[a.order.rank++] = EXPANDED_NO_DIM;
    bool counts = false;
    for (unsigned d = first; d < rank; d++) counts |= places[d].kind == EXPANDED_COORDINATE;
    for (unsigned d = first; d < rank; d++) {
        bool count = places[d].kind == EXPANDED_COORDINATE;
        a.index[d] = start_of(x, &places[d]);
        if (counts) a.order.dim[a.order.rank++] = count ? (int)places[d].dim : EXPANDED_NO_DIM;
        if (count) a.dims |= EXPANDED_TILE | UINT32_C(1) << places[d].dim;
    }
    return a;
}

/* Tiles --------------------------------------------------------------------------------------- */

static tile_value slice_at(expanded_space *x, tile_value tile, unsigned d, int64_t at) {
    const tile_type *type = type_of(x, tile);
    int64_t extents[TILE_MAX_RANK];
    tile_value first[TILE_MAX_RANK];
    for (unsigned i = 0; i < type->rank; i++) {
        extents[i] = i == d ? 1 : tile_type_dim(type, i);
        first[i] = tile_build_int(&x->b, i == d ? at : 0);
    }
    return tile_build_slice(&x->b, tile, first, type->rank, TILE_NO_VALUE,
                            expanded_extents(x, type, extents, type->rank));
}

/* Repeats each element along dim d `inner` times, or the whole dim `outer` times. */
static tile_value repeat(expanded_space *x, tile_value tile, unsigned d, int64_t outer,
                         int64_t inner) {
    const tile_type *type = type_of(x, tile);
    int64_t split[TILE_MAX_RANK + 1], wide[TILE_MAX_RANK + 1], flat[TILE_MAX_RANK];
    unsigned front = outer > 1;
    for (unsigned i = 0, at = 0; i < type->rank; i++) {
        int64_t extent = flat[i] = tile_type_dim(type, i);
        if (i == d && front) split[at] = 1, wide[at++] = outer;
        split[at] = wide[at] = extent;
        at++;
        if (i == d && !front) split[at] = 1, wide[at++] = inner;
    }
    flat[d] *= outer * inner;
    tile_value cut = expanded_reshape(x, tile, split, type->rank + 1u);
    return expanded_reshape(x, broadcast(x, cut, wide, type->rank + 1u), flat, type->rank);
}

/* Makes dim d of the tile follow a dim of the space, if that needs no exchange of elements between
 * threads. */
static bool resolve_index(expanded_space *x, tile_value *tile, unsigned d, expanded_index *place) {
    int64_t extent = tile_type_dim(type_of(x, *tile), d), wanted = x->extent[place->dim], at;
    bool room = type_of(x, *tile)->rank < TILE_MAX_RANK;
    switch (place->kind) {
    case EXPANDED_COORDINATE: return !place->base.id && extent == wanted;
    case EXPANDED_QUOTIENT:
        if (extent * place->by != wanted || !room) return false;
        *tile = repeat(x, *tile, d, 1, place->by);
        return true;
    case EXPANDED_REMAINDER:
        if (extent != place->by || wanted % place->by || !room) return false;
        *tile = repeat(x, *tile, d, wanted / place->by, 1);
        return true;
    case EXPANDED_UNIFORM:
        if (!tile_value_is_int(x->b.function, place->at.value, &at) || at < 0 || at >= extent)
            return false;
        if (extent > 1) *tile = slice_at(x, *tile, d, at);
        return true;
    case EXPANDED_OTHER: break;
    }
    return false;
}

/* Inactive elements may read any element that exists. A predicate with more dims than the
 * coordinate would expand a simple coordinate to one per element; such a coordinate is clamped
 * instead. */
static void clamp_in_bounds(expanded_space *x, expanded_index *place, expanded predicate,
                            int64_t extent) {
    expanded first = {tile_build_int(&x->b, 0), 0}, last = {tile_build_int(&x->b, extent - 1), 0};
    expanded *at = &place->at;
    if (!predicate.value.id) return;
    if (place->kind != EXPANDED_OTHER && predicate.dims & ~at->dims) {
        at->value = tile_build_min(&x->b, at->value, expanded_broadcast(x, last, at->dims));
        at->value = tile_build_max(&x->b, at->value, expanded_broadcast(x, first, at->dims));
        return;
    }
    uint32_t dims = at->dims | predicate.dims;
    at->value =
        tile_build_select(&x->b, expanded_broadcast(x, predicate, dims),
                          expanded_broadcast(x, *at, dims), expanded_broadcast(x, first, dims));
    at->dims = dims;
}

static tile_value gather(expanded_space *x, tile_value tile, tile_value at, unsigned axis) {
    tile_value taken = tile_build_gather(&x->b, tile, at, TILE_NO_VALUE);
    tile_op_set_int(x->b.function, tile_value_def(x->b.function, taken), TILE_ATTR_axis, axis);
    return taken;
}

/* Increases extents until the element count is one that a dim may have: [5, 3, 5] has 75, which is
 * not allowed, [5, 3, 8] has 120. Extents grow to powers of two, smallest growth first. False if
 * the count is too large even with powers of two only. */
static bool pad_extents(const int64_t *extents, unsigned rank, int64_t *padded) {
    for (unsigned d = 0; d < rank; d++) padded[d] = extents[d];
    for (;;) {
        int64_t elements = 1, extent = 0, wide = 0;
        unsigned best = 0;
        for (unsigned d = 0; d < rank; d++) elements *= padded[d];
        if (tile_layout_admits_extent(elements)) return true;
        for (unsigned d = 0; d < rank; d++) {
            int64_t power = 1;
            while (power < padded[d]) power *= 2;
            if (power == padded[d] || (wide && power * extent >= wide * padded[d])) continue;
            extent = padded[d], wide = power, best = d;
        }
        if (!wide) return false;
        padded[best] = wide;
    }
}

/* Truncates the tile to smaller extents, or pads it by repeating the last elements, so that padded
 * coordinates remain valid. concat and slice would produce long code for extents that are no powers
 * of two. */
static tile_value resize(expanded_space *x, tile_value tile, const int64_t *to) {
    const tile_type *i32 = tile_type_scalar(x->context, TILE_i32);
    for (unsigned d = 0; d < type_of(x, tile)->rank; d++) {
        const tile_type *type = type_of(x, tile);
        int64_t extents[TILE_MAX_RANK], had = tile_type_dim(type, d);
        if (to[d] == had) continue;
        for (unsigned i = 0; i < type->rank; i++)
            extents[i] = i == d ? to[d] : tile_type_dim(type, i);
        const tile_type *wide = expanded_extents(x, i32, extents, type->rank);
        tile_value at = tile_build_iota(&x->b, wide);
        tile_op_set_int(x->b.function, tile_value_def(x->b.function, at), TILE_ATTR_axis, d);
        tile_value last = tile_build_int(&x->b, had - 1);
        if (to[d] > had) at = tile_build_min(&x->b, at, tile_build_splat(&x->b, last, wide));
        tile = gather(x, tile, at, d);
    }
    return tile;
}

static tile_value flatten(expanded_space *x, tile_value tile) {
    int64_t elements = tile_type_elements(type_of(x, tile));
    return expanded_reshape(x, tile, &elements, 1);
}

/* Pads the extents. False after a diagnostic. */
static bool pad_or_reject(const expanded_space *x, const char *what, const char *remedy,
                          const int64_t *extents, unsigned rank, int64_t *padded) {
    if (pad_extents(extents, rank, padded)) return true;
    tile_report(x->context, TILE_ERROR, x->b.loc,
                "%%t[..]: a gather at these coordinates needs all elements of %s along one dim, "
                "and with extents rounded up to powers of two these are more than %d; use %s",
                what, TILE_MAX_TILE_ELEMENTS, remedy);
    return false;
}

/* Linearizes all coordinates in row-major order and gathers along one dim. */
static expanded extract_flat(expanded_space *x, tile_value tile, const expanded_index *places) {
    const tile_type *type = type_of(x, tile);
    uint32_t dims = EXPANDED_TILE;
    int64_t extents[TILE_MAX_RANK], padded[TILE_MAX_RANK];
    unsigned rank;
    tile_value at = TILE_NO_VALUE;
    for (unsigned d = 0; d < type->rank; d++) {
        dims |= places[d].at.dims;
        extents[d] = tile_type_dim(type, d);
    }
    if (!pad_or_reject(x, "the tile", "a smaller tile", extents, type->rank, padded))
        return (expanded){TILE_NO_VALUE, 0};
    for (unsigned d = 0; d < type->rank; d++) {
        tile_value own = expanded_broadcast(x, places[d].at, dims);
        if (at.id) {
            expanded step = {tile_build_int(&x->b, padded[d]), 0};
            at = tile_build_mul(&x->b, at, expanded_broadcast(x, step, dims));
            at = tile_build_add(&x->b, at, own);
        } else {
            at = own;
        }
    }
    tile_value flat = flatten(x, resize(x, tile, padded));
    at = squeeze(x, (expanded){at, dims}, extents, &rank);
    if (!pad_or_reject(x, "`parallel`", "smaller extents", extents, rank, padded))
        return (expanded){TILE_NO_VALUE, 0};
    tile_value taken = gather(x, flat, flatten(x, resize(x, at, padded)), 0);
    taken = resize(x, expanded_reshape(x, taken, padded, rank), extents);
    extents_over(x, dims, extents);
    return (expanded){expanded_reshape(x, taken, extents, x->rank), dims};
}

/* Gathers along `axis`, the only dim of the tile that does not follow a dim of the space. If its
 * coordinate depends on several dims that no other dim of the tile follows, extract_flat is
 * used. */
static expanded extract_along(expanded_space *x, tile_value tile, tile_value whole,
                              const expanded_index *places, expanded_order *order, unsigned axis) {
    uint32_t counted = expanded_dims(order), dims = counted | places[axis].at.dims,
             own = dims & ~counted;
    if (own & (own - 1)) return extract_flat(x, whole, places);
    for (unsigned k = 0; k < x->rank; k++)
        if (own >> k & 1) order->dim[axis] = (int)k;
    expanded wide = {expanded_broadcast(x, places[axis].at, dims), dims};
    return expanded_from_order(x, gather(x, tile, expanded_to_order(x, wide, order), axis), order);
}

expanded expanded_extract(expanded_space *x, tile_value tile, expanded_index *places,
                          expanded predicate) {
    unsigned rank = type_of(x, tile)->rank, others = 0, axis = 0;
    expanded_order order = {.rank = rank};
    tile_value whole = tile;
    uint32_t counted = 0;
    bool once = true;
    for (unsigned d = 0; d < rank; d++) {
        uint32_t dim = UINT32_C(1) << places[d].dim;
        order.dim[d] = EXPANDED_NO_DIM;
        if (!resolve_index(x, &tile, d, &places[d])) {
            clamp_in_bounds(x, &places[d], predicate, tile_type_dim(type_of(x, tile), d));
            others++;
            axis = d;
        } else if (places[d].kind != EXPANDED_UNIFORM) {
            order.dim[d] = (int)places[d].dim;
            once &= !(counted & dim);
            counted |= dim;
        }
    }
    if (!others && once) return expanded_from_order(x, tile, &order);
    if (others == 1 && once) return extract_along(x, tile, whole, places, &order, axis);
    return extract_flat(x, whole, places);
}
