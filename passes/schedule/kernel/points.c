/* Accesses with index tiles, for elements whose coordinates are computed.
 *
 * An index tile has a position for each element of the tile. If the elements along one dim of the
 * tile are contiguous in runs, as in the heads of
 *
 *     %y = transpose(reshape(%p : [s, h * 64]) : [s, h, 64], order = [1, 0, 2])
 *
 * an index tile has a position for each run of up to 16 bytes, and an access moves whole runs: the
 * tile [rows, columns] becomes [rows, columns / 8, 8]. If the run is along another dim than the
 * last one, the tile is transposed first. */
#include "passes/schedule/kernel/schedule.h"

#include <string.h>

#include "lib/support/scalar.h"

/* Returns the tile's dims that index tiles have: those along which a coordinate changes, except the
 * last dim if the access covers it directly (*covers). */
static unsigned points_of(const sched_kernel *k, unsigned rank, const sched_map *map,
                          bool *covers) {
    unsigned changing[TILE_MAX_RANK] = {0}, all = 0, last = k->tile_rank - 1;
    for (unsigned d = 0; d < rank; d++)
        for (unsigned i = 0; i < k->g->domain.rank; i++)
            if (k->tile_of[i] >= 0 && sched_depends(&map->at[d], i))
                changing[d] |= 1u << k->tile_of[i];
    for (unsigned d = 0; d + 1 < rank; d++) all |= changing[d];
    *covers = last && sched_along(k, &map->at[rank - 1]) == (int)last && !(all & 1u << last);
    return *covers ? all : all | changing[rank - 1];
}

/* A coordinate as a tile with the shape of the index tiles. */
static tile_value point(sched_kernel *k, const sched_coordinate *at, const tile_type *shape) {
    tile_value tile = sched_coordinate_tile(k, at);
    const tile_type *type = tile_value_type(k->f, tile);
    bool fits = type == shape || type->kind != TILE_TYPE_TILE;
    return fits ? tile : tile_build_broadcast(&k->b, tile, shape);
}

/* Makes one index a tile if none is: indices may depend on dims of the tile and still be equal. */
static void make_points(sched_kernel *k, const tile_type *shape, sched_access *out) {
    for (unsigned d = 0; d < out->rank; d++)
        if (tile_value_type(k->f, out->index[d])->kind == TILE_TYPE_TILE) return;
    out->index[0] = tile_build_splat(
        &k->b, sched_convert(k, out->index[0], tile_type_scalar(k->s->context, TILE_i32)), shape);
}

/* Moves points after the ends of these dims of the domain out of bounds. */
static void check_ends(sched_kernel *k, unsigned dims, const tile_type *shape, sched_access *out) {
    tile_value inside = TILE_NO_VALUE, none = tile_build_int(&k->b, -1);
    unsigned first = 0;
    for (unsigned d = 0; d < k->g->domain.rank; d++) {
        const sched_coordinate at = sched_dim_coordinate(d);
        if (!(dims >> d & 1)) continue;
        tile_value end = sched_number(k, sched_expr(k->s, k->g->domain.extents[d]));
        tile_value here = tile_build_lt(&k->b, sched_coordinate_tile(k, &at), end);
        inside = inside.id ? tile_build_and(&k->b, inside, here) : here;
    }
    while (first < out->rank && tile_value_type(k->f, out->index[first])->kind != TILE_TYPE_TILE)
        first++;
    if (!inside.id || first == out->rank) return;
    inside = sched_broadcast_to(k, inside, tile_type_with_scalar(k->s->context, shape, TILE_i1));
    out->index[first] =
        tile_build_select(&k->b, inside, out->index[first], tile_build_splat(&k->b, none, shape));
}

/* Runs ----------------------------------------------------------------------------------------- */

/* Contiguous elements along dim d of the array and dim t of the tile. */
typedef struct run {
    unsigned d, t, dim; /* dim: of the domain */
    int64_t size;       /* of elements that are moved together */
} run;

static bool has_taken(const sched_coordinate *at) {
    if (!at->index) return false;
    return at->index->kind == SCHED_TAKEN || has_taken(&at->index->a) || has_taken(&at->index->b);
}

/* Returns whether the coordinate is the same for `size` elements along the dim, from a multiple of
 * `size` on. */
static bool is_same_in_run(const sched_coordinate *at, unsigned dim, int64_t size) {
    const sched_index *index = at->index;
    if (!sched_depends(at, dim)) return true;
    if (!index || !index->by.expr) return false;
    int64_t by = sched_constant(index->by.expr);
    switch (index->kind) {
    case SCHED_SUM:
    case SCHED_PAIR:
        return is_same_in_run(&index->a, dim, size) && is_same_in_run(&index->b, dim, size);
    case SCHED_REM: return is_same_in_run(&index->a, dim, size);
    case SCHED_DIV: {
        const sched_coordinate *of = &index->a; /* quotients of quotients: the product divides */
        while (of->index && !of->offset && of->index->kind == SCHED_DIV && by > 0 &&
               by <= INT32_MAX && of->index->by.expr) {
            int64_t own = sched_constant(of->index->by.expr);
            by = own > 0 && own <= INT32_MAX ? by * own : 0;
            of = &of->index->a;
        }
        if (of->index) return is_same_in_run(of, dim, size);
        return by > 0 && by % size == 0 && !of->offset;
    }
    case SCHED_EXACT:
    case SCHED_NUMBER:
    case SCHED_TAKEN: break;
    }
    return false;
}

/* The dim of the domain along which the coordinate has runs; -1: none. *length: of the runs. */
static int find_run_dim(const sched_coordinate *at, int64_t *length) {
    const sched_index *index = at->index;
    if (!index || at->offset || !index->by.expr) return -1;
    *length = sched_constant(index->by.expr);
    if (index->kind == SCHED_PAIR) {
        if (!index->b.index) return index->b.offset ? -1 : index->b.dim;
        return find_run_dim(&index->b, length);
    }
    bool whole = index->kind == SCHED_REM && !index->a.index && !index->a.offset;
    return whole ? index->a.dim : -1;
}

static bool find_run(const sched_kernel *k, const sched_shape *shape, const sched_map *map,
                     const tile_type *element, run *out) {
    enum { BYTES = 16 };
    const tile_type *type = shape->type;
    int64_t length = 0;
    unsigned bytes = tile_scalar_bits(element->scalar) / 8;
    out->d = type->rank - 1u;
    while (out->d && tile_expr_is(sched_resolved(k->s, type->dims[out->d]), 1)) out->d--;
    int dim = find_run_dim(&map->at[out->d], &length);
    if (shape->strides[0] && !tile_expr_is(shape->strides[out->d], 1)) return false;
    if (k->straight || !bytes || dim < 0 || k->tile_of[dim] < 0 || length < 1 ||
        out->d + 2 > TILE_MAX_RANK)
        return false;
    for (unsigned d = 0; d < type->rank; d++)
        if (has_taken(&map->at[d])) return false;
    out->dim = (unsigned)dim;
    out->t = (unsigned)k->tile_of[dim];
    for (out->size = BYTES / bytes; out->size > 1; out->size /= 2) {
        const sched_coordinate *last = &map->at[out->d];
        bool same = length % out->size == 0 && sched_has_multiples(k, k->block[out->t], out->size);
        if (last->index->kind == SCHED_PAIR)
            same &= is_same_in_run(&last->index->a, out->dim, out->size);
        for (unsigned d = 0; d < out->d && same; d++)
            same = is_same_in_run(&map->at[d], out->dim, out->size);
        const tile_expr *size = tile_expr_int(k->s->context, out->size);
        if (same && sched_without(k->s, sched_resolved(k->s, type->dims[out->d]), size))
            return true;
    }
    return false;
}

/* Exchanges dims of the tile, so that dim t is the last one. */
static void move_last(sched_kernel *k, unsigned t, sched_access *out) {
    const tile_expr *blocks[SCHED_MAX_TILE];
    int place[SCHED_MAX_TILE];
    unsigned count = 0;
    for (unsigned i = 0; i < k->tile_rank; i++)
        if (i != t) out->order[count++] = i;
    out->order[count] = t;
    out->permuted = t != count;
    for (unsigned i = 0; i < k->tile_rank; i++) {
        blocks[i] = k->block[out->order[i]];
        place[out->order[i]] = (int)i;
    }
    for (unsigned i = 0; i < k->tile_rank; i++) k->block[i] = blocks[i];
    for (unsigned d = 0; d < SCHED_MAX_DIMS; d++)
        if (k->tile_of[d] >= 0) k->tile_of[d] = place[k->tile_of[d]];
}

/* The array's dims with those of a run apart, and without those of extent 1 after it. */
static sched_shape split_run(schedule *s, const sched_shape *shape, const run *r) {
    sched_shape out = *shape;
    const tile_type *type = shape->type;
    tile_type draft = *type;
    const tile_expr *size = tile_expr_int(s->context, r->size);
    draft.dims[r->d] = sched_without(s, sched_resolved(s, type->dims[r->d]), size);
    draft.dims[r->d + 1] = size;
    draft.rank = (uint8_t)(r->d + 2);
    for (unsigned d = draft.rank; d < TILE_MAX_RANK; d++) draft.dims[d] = out.strides[d] = NULL;
    out.type = tile_type_get(s->context, &draft);
    if (!shape->strides[0]) return out;
    out.strides[r->d] = tile_expr_multiply(s->context, size, shape->strides[r->d]);
    out.strides[r->d + 1] = shape->strides[r->d];
    return out;
}

static const tile_type *with_runs(sched_kernel *k, const tile_type *points,
                                  const tile_type *element, int64_t size, bool flat) {
    tile_type draft = *points;
    draft.scalar = element->scalar;
    draft.param = element->param;
    const tile_expr *length = tile_expr_int(k->s->context, size);
    unsigned last = draft.rank - 1u;
    if (flat)
        draft.dims[last] = k->block[last];
    else
        draft.dims[draft.rank++] = length;
    return tile_type_get(k->s->context, &draft);
}

/* The number of runs along the tile's last dim. */
static const tile_expr *count_runs(sched_kernel *k, const tile_expr *block, int64_t size) {
    tile_context *context = k->s->context;
    sched_keep_multiples(k, block, size);
    return tile_expr_op(context, TILE_OP_div, block, tile_expr_int(context, size), NULL);
}

static void find_run_points(sched_kernel *k, unsigned array, const sched_shape *shape,
                            const sched_map *map, const tile_type *element, unsigned checked,
                            const run *r, sched_access *out) {
    const sched_kernel before = *k;
    const tile_expr *dims[SCHED_MAX_TILE], *block;
    bool covers;
    unsigned last = k->tile_rank - 1;
    move_last(k, r->t, out);
    unsigned points = points_of(k, r->d + 1, map, &covers) | 1u << last;
    block = k->block[last];
    k->block[last] = count_runs(k, block, r->size);
    k->run = (unsigned)r->size;
    for (unsigned t = 0; t < k->tile_rank; t++)
        dims[t] = points & 1u << t ? k->block[t] : tile_expr_int(k->s->context, 1);
    const tile_type *tile = sched_tile_type(k, tile_type_scalar(k->s->context, TILE_i32), dims);
    for (unsigned d = 0; d <= r->d; d++) out->index[d] = point(k, &map->at[d], tile);
    out->index[r->d] = tile_build_div(&k->b, out->index[r->d], tile_build_int(&k->b, r->size));
    out->index[r->d + 1] = tile_build_int(&k->b, 0);
    out->rank = r->d + 1;
    check_ends(k, checked, tile, out);
    out->rank++;
    out->tile = with_runs(k, tile, element, r->size, false);
    k->block[last] = block;
    out->flat = with_runs(k, tile, element, r->size, true);
    const sched_shape parts = split_run(k->s, shape, r);
    out->view = sched_shaped_view(k, array, &parts);
    memcpy(k->block, before.block, sizeof k->block);
    memcpy(k->tile_of, before.tile_of, sizeof k->tile_of);
    k->run = 0;
}

/* ---------------------------------------------------------------------------------------------- */

/* The same array with its dims in the order of memory, and their coordinates. */
static sched_shape in_memory_order(schedule *s, const sched_shape *shape, sched_map *map) {
    sched_shape out = *shape;
    const sched_map from = *map;
    tile_type draft = *shape->type;
    unsigned order[TILE_MAX_RANK];
    if (!shape->strides[0]) return out;
    sched_memory_order(s, shape, order);
    for (unsigned d = 0; d < draft.rank; d++) {
        draft.dims[d] = shape->type->dims[order[d]];
        out.strides[d] = shape->strides[order[d]];
        map->at[d] = from.at[order[d]];
    }
    out.type = tile_type_get(s->context, &draft);
    return out;
}

void sched_find_points(sched_kernel *k, unsigned array, const sched_shape *shape,
                       const sched_map *declared, const tile_type *element, unsigned checked,
                       bool runs, sched_access *out) {
    sched_map own = *declared;
    const sched_map *map = &own;
    const sched_shape ordered = in_memory_order(k->s, shape, &own);
    const tile_type *type = ordered.type;
    const tile_expr *dims[SCHED_MAX_TILE];
    bool covers;
    unsigned points = points_of(k, type->rank, map, &covers);
    run r;
    if (runs && !covers && find_run(k, &ordered, map, element, &r)) {
        find_run_points(k, array, &ordered, map, element, checked, &r, out);
        return;
    }
    for (unsigned t = 0; t < k->tile_rank; t++) {
        bool one = !k->straight && !(points & 1u << t) && !(covers && t + 1 == k->tile_rank);
        dims[t] = one ? tile_expr_int(k->s->context, 1) : k->block[t];
    }
    out->tile = sched_tile_type(k, element, dims);
    out->view = sched_shaped_view(k, array, &ordered);
    out->rank = type->rank;
    out->permuted = false;
    k->tile_rank -= covers;
    k->covers = covers;
    const tile_type *tile = sched_tile_type(k, tile_type_scalar(k->s->context, TILE_i32), dims);
    for (unsigned d = 0; d < type->rank; d++)
        out->index[d] = covers && d + 1 == type->rank ? sched_begin(k, &map->at[d])
                                                      : point(k, &map->at[d], tile);
    if (points) make_points(k, tile, out);
    check_ends(k, checked, tile, out);
    k->tile_rank += covers;
    k->covers = false;
}
