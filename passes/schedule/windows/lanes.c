/* Contiguous results of a thread. Windows move along the columns, so that the elements that a
 * thread needs for one result begin anywhere. For V contiguous results, of 16 bytes, they are in a
 * few aligned vectors, which contain those of all V windows. The tile of each vector is split into
 * tiles of its elements, in registers:
 *
 *     %v = load %x[%row, 4 * %column + 4] : tile<f32[rows, 4 * columns]>
 *     %e0, %e1, %e2, %e3 : tile<f32[rows, columns]>      element 4 * i + 4, .., 4 * i + 7 of thread
 * i
 *
 * (A mean of 8 contiguous halves: 2 loads of 16 bytes for 8 results, not 64 of 2 bytes.) The tiles
 * of the V results are joined and stored as one. */
#include "passes/schedule/windows/windows.h"

#include "lib/ir/syntax.h"

enum { MOST = 32 /* elements that a thread's windows move by */ };

struct windows_vector {
    unsigned array;
    tile_value value;
    sched_map map; /* of the first element */
    const tile_expr *pad;
    int64_t count;
    tile_value elements[MOST];
};

/* Tiles ---------------------------------------------------------------------------------------- */

/* Makes the kernel's tiles `count` times as wide. */
static void widen(windows *w, int64_t count) {
    sched_kernel *k = &w->k;
    const int t = k->tile_of[w->columns];
    const tile_expr *by = tile_expr_int(k->s->context, count);
    k->block[t] = tile_expr_multiply(k->s->context, k->block[t], by);
    k->start[w->columns] =
        tile_build_mul(&k->b, k->start[w->columns], tile_build_int(&k->b, count));
}

/* The type with the last dim of the tile as [columns, count, 2], without dims that are 0. */
static const tile_type *parted(windows *w, tile_value tile, int64_t count, bool pairs) {
    const unsigned last = w->k.tile_rank - 1u;
    tile_type draft = *tile_value_type(w->k.f, tile);
    draft.rank = (uint8_t)(last + 1);
    draft.dims[last] = w->k.block[w->k.tile_of[w->columns]];
    if (count) draft.dims[draft.rank++] = tile_expr_int(w->k.s->context, count);
    if (pairs) draft.dims[draft.rank++] = tile_expr_int(w->k.s->context, 2);
    return tile_type_get(w->k.s->context, &draft);
}

static tile_value reshape(windows *w, tile_value tile, int64_t count, bool pairs) {
    return tile_build_reshape(&w->k.b, tile, TILE_NO_VALUE, parted(w, tile, count, pairs));
}

/* Elements first, first + step, .. of each vector: `count` of them. */
static void split(windows *w, tile_value tile, int64_t count, int64_t first, int64_t step,
                  tile_value *elements) {
    sched_kernel *k = &w->k;
    if (!tile.id) return;
    if (count == 1) {
        elements[first] = reshape(w, tile, 0, false);
        return;
    }
    const tile_segment segments[] = {{reshape(w, tile, count / 2, true), NULL, 0}};
    tile_op op = tile_build_op_of(&k->b, TILE_OP_unjoin, segments, 1, NULL, NULL, 0);
    if (!op.id) return;
    for (unsigned i = 0; i < 2; i++)
        split(w, tile_op_result(k->f, op, i), count / 2, first + i * step, 2 * step, elements);
}

static tile_value join(windows *w, const tile_value *tiles, int64_t count, int64_t step) {
    if (count == 1) return reshape(w, tiles[0], 1, false);
    const tile_segment segments[] = {{join(w, tiles, count / 2, 2 * step), NULL, 0},
                                     {join(w, tiles + step, count / 2, 2 * step), NULL, 0}};
    tile_value pairs = tile_build_op_value(&w->k.b, TILE_OP_join, segments, 2, NULL);
    return reshape(w, pairs, count, false);
}

/* Loads ---------------------------------------------------------------------------------------- */

/* The only dim of the map that changes along the columns, by a power of two for each thread; -1:
 * there is none. */
static int find_moving(const windows *w, const sched_map *map, unsigned rank, sched_linear *sum) {
    int found = -1;
    for (unsigned d = 0; d < rank; d++) {
        if (!sched_depends(&map->at[d], w->columns)) continue;
        if (found >= 0) return -1;
        found = (int)d;
    }
    bool fits = found >= 0 && sched_find_linear(&map->at[found], sum) &&
                sum->dim == (int)w->columns && sum->scale > 1 && sum->scale <= MOST &&
                !(sum->scale & (sum->scale - 1));
    return fits ? found : -1;
}

static struct windows_vector *find_vector(const windows *w, const struct windows_vector *wanted) {
    const unsigned rank = sched_type(w->k.s, wanted->value)->rank;
    for (size_t i = 0; i < w->vector_count; i++) {
        struct windows_vector *v = w->vectors[i];
        if (v->array == wanted->array && v->value.id == wanted->value.id && v->pad == wanted->pad &&
            v->count == wanted->count && sched_same_map(&v->map, &wanted->map, rank))
            return v;
    }
    return NULL;
}

static struct windows_vector *load_vector(windows *w, const struct windows_vector *wanted) {
    sched_kernel *k = &w->k;
    const sched_kernel before = *k;
    struct windows_vector *made = TILE_NEW(k->s->arena, struct windows_vector);
    *made = *wanted;
    widen(w, made->count);
    k->load_lane = NULL;
    tile_value tile = made->pad
                          ? sched_load_padded(k, made->array, made->value, &made->map, made->pad)
                          : sched_load(k, made->array, made->value, &made->map);
    k->load_lane = before.load_lane;
    k->block[k->tile_of[w->columns]] = before.block[k->tile_of[w->columns]];
    k->start[w->columns] = before.start[w->columns];
    split(w, tile, made->count, 0, 1, made->elements);
    w->vectors = tile_arena_grow(k->s->arena, w->vectors, w->vector_count, &w->vector_capacity,
                                 sizeof(struct windows_vector *));
    return w->vectors[w->vector_count++] = made;
}

tile_value windows_load_lane(sched_kernel *k, unsigned array, tile_value value,
                             const sched_map *map, const tile_expr *pad) {
    windows *w = (windows *)k;
    sched_linear sum;
    int d = find_moving(w, map, sched_type(k->s, value)->rank, &sum);
    if (d < 0) return TILE_NO_VALUE;
    int64_t element = sum.offset % sum.scale;
    if (element < 0) element += sum.scale;
    struct windows_vector wanted = {
        .array = array, .value = value, .map = *map, .pad = pad, .count = sum.scale};
    wanted.map.at[d] = sched_dim_coordinate(w->columns);
    if (sum.offset != element)
        wanted.map.at[d] = sched_shifted(k->s, &wanted.map.at[d], TILE_OP_add,
                                         tile_expr_int(k->s->context, sum.offset - element));
    const struct windows_vector *found = find_vector(w, &wanted);
    if (!found) found = load_vector(w, &wanted);
    return found->elements[element];
}

/* Stores --------------------------------------------------------------------------------------- */

void windows_store_lanes(windows *w, const sched_output *output, const sched_map *map,
                         const tile_value *tiles) {
    sched_kernel *k = &w->k;
    const sched_kernel before = *k;
    const tile_expr *extent = w->scaled.domain.extents[w->columns];
    tile_value all[MOST];
    for (int64_t i = 0; i < w->lanes; i++) {
        if (!tiles[i].id) return;
        all[i] = sched_broadcast_to_tile(k, tiles[i]);
    }
    tile_value tile = join(w, all, w->lanes, 1);
    widen(w, w->lanes);
    w->scaled.domain.extents[w->columns] = w->g->domain.extents[w->columns];
    tile = tile_build_reshape(&k->b, tile, TILE_NO_VALUE, parted(w, tile, 0, false));
    sched_store_output(k, output, map, tile);
    w->scaled.domain.extents[w->columns] = extent;
    k->block[k->tile_of[w->columns]] = before.block[k->tile_of[w->columns]];
    k->start[w->columns] = before.start[w->columns];
}
