/* Windowed kernels: reductions over the positions of windows, and what is computed from them. A
 * tile has elements of the result. The positions of a window are unrolled: each one is a load at a
 * known distance, whose elements are contiguous along the tile's last dim.
 *
 * Each thread computes several neighbors along the other dims of windows (neighbors.c). In the
 * domain, these dims count blocks of neighbors: element r of block i is at i * neighbors + r.
 * Windows of neighbors overlap; equal coordinates are equal sums of dims and numbers (index.c), so
 * that an element is loaded once for all of them. Blocks next to each other read the elements
 * between them from L1. Maxima and sums of a whole line of a window are shared as well, which makes
 * 2 * k operations of k * k (reduce.c). */
#include "passes/schedule/windows/windows.h"

#include <string.h>

#include "lib/ir/syntax.h"

/* Tiles ---------------------------------------------------------------------------------------- */

static int power_above(int64_t extent, int most) {
    int block = 1;
    while (block < most && (extent < 0 || block < extent)) block *= 2;
    return block;
}

int windows_best_width(int64_t extent, int least, int most) {
    int best = power_above(extent, most);
    if (extent < 0) return best;
    int64_t fewest = (extent + best - 1) / best * best;
    for (int width = best / 2; width >= least; width /= 2) {
        int64_t elements = (extent + width - 1) / width * width;
        if (elements * 8 > fewest * 7) continue;
        fewest = elements;
        best = width;
    }
    return best;
}

/* The part of tiles' elements along a dim that exist. */
static double used_part(int64_t extent, int64_t block) {
    if (extent <= 0) return 1;
    return (double)extent / (double)((extent + block - 1) / block * block);
}

/* Among equals, one along which windows move, so that a block reads few elements, most of all if
 * windows overlap; and the innermost one. */
int windows_choose_rows(const windows *w, int height) {
    const double preferred = 0.25, near = 0.05;
    double best = 0;
    int found = -1;
    for (unsigned d = w->columns; d-- > 0;) {
        if (tile_expr_is(w->scaled.domain.extents[d], 1)) continue;
        double own = used_part(sched_constant(w->scaled.domain.extents[d]), height);
        if (w->steps[d].positions > 1) own += windows_overlap(w, d) ? preferred : near;
        if (own <= best) continue;
        best = own;
        found = (int)d;
    }
    return found;
}

/* A thread has one column if windows move along the columns: the loads of a warp are then
 * contiguous, whatever their alignment. Otherwise it has a wide vector of them. */
static void set_tiles(windows *w) {
    enum { WARP = 32, LINE = 128, POINTS = 4 };
    static const int warps[POINTS] = {4, 8, 2, 1};
    sched_kernel *k = &w->k;
    bool moves = w->steps[w->columns].positions > 0;
    const int vector = w->vector;
    int points[POINTS * 3];
    int64_t extent = sched_constant(w->scaled.domain.extents[w->columns]);
    int width =
        windows_best_width(extent, moves ? WARP : 4 * vector, moves ? LINE : LINE / 16 * vector);
    w->rows = windows_choose_rows(w, warps[0] * WARP * vector / width);
    int64_t others = w->rows < 0 ? 1 : sched_constant(w->scaled.domain.extents[w->rows]);
    const tile_expr *params[3];
    unsigned count = 0, first = w->rows < 0, values = 3 - first;
    if (!first) params[0] = sched_add_param(k, "rows");
    params[1] = sched_add_param(k, "columns");
    params[2] = sched_add_param(k, "num_warps");
    for (unsigned i = 0; i < POINTS; i++) {
        int elements = warps[i] * WARP * vector, own = width < elements ? width : elements;
        int height = w->rows < 0 ? 1 : power_above(others, elements / own);
        if (height * own < elements) own = power_above(extent, elements / height);
        const int all[] = {height, own, warps[i]};
        bool there = false;
        for (unsigned before = 0; before < count; before++) {
            const int *point = points + values * before;
            there |= (first || point[0] == height) && point[1 - first] == own;
        }
        memcpy(points + values * count, all + first, values * sizeof *all);
        count += !there;
    }
    if (!first) sched_set_tile(k, (unsigned)w->rows, 0, params[0]);
    sched_set_tile(k, w->columns, !first, params[1]);
    sched_add_tune(k, params + first, values, points, count);
    sched_set_warps(k, params[2]);
}

/* Neighbors ------------------------------------------------------------------------------------ */

/* Makes the domain that counts blocks of neighbors. */
static void scale_domain(windows *w) {
    tile_context *context = w->k.s->context;
    w->scaled = *w->g;
    for (unsigned d = 0; d < w->g->domain.rank; d++)
        if (w->neighbors[d] > 1)
            w->scaled.domain.extents[d] =
                tile_expr_op(context, TILE_OP_ceildiv, w->g->domain.extents[d],
                             tile_expr_int(context, w->neighbors[d]), NULL);
}

/* The map over the scaled domain of the neighbor with this number. stores: over a domain that has
 * each column. */
static sched_map neighbor_map(windows *w, const sched_map *map, unsigned rank, int64_t number,
                              bool stores) {
    schedule *s = w->k.s;
    sched_coordinate dims[SCHED_MAX_DIMS];
    sched_map out = *map;
    for (unsigned d = w->g->domain.rank; d-- > 0;) {
        const int64_t neighbors = w->neighbors[d];
        const sched_scalar by = {tile_expr_int(s->context, neighbors), TILE_NO_VALUE};
        const sched_coordinate rest = sched_number_coordinate(s, number % neighbors);
        dims[d] = tile_expr_is(w->scaled.domain.extents[d], 1) ? sched_zero_coordinate()
                                                               : sched_dim_coordinate(d);
        if (stores && w->lanes > 1 && d == w->columns)
            dims[d] = sched_dim_coordinate(d);
        else if (neighbors > 1)
            dims[d] = sched_sum(s, &dims[d], by, &rest);
        number /= neighbors;
    }
    for (unsigned d = 0; d < rank; d++) out.at[d] = sched_substituted(s, &map->at[d], dims);
    return out;
}

/* Outputs -------------------------------------------------------------------------------------- */

typedef struct use_list {
    sched_visited_values visited;
    windows_use *items;
    size_t count, capacity;
} use_list;

/* Lists the reductions that the value is computed from, without those inside of others. */
static void list_uses(windows *w, use_list *list, tile_value value, const sched_map *map) {
    schedule *s = w->k.s;
    tile_op op = tile_value_def(s->compute, value);
    if (!op.id || sched_find_input(s, w->g, value) >= 0 || !sched_is_tensor(s, value) ||
        !sched_visit_first(s, &list->visited, value, map))
        return;
    if (sched_is_windowed(s, op)) {
        for (size_t i = 0; i < list->count; i++)
            if (list->items[i].op.id == op.id &&
                sched_same_map(&list->items[i].map, map, sched_type(s, value)->rank))
                return;
        list->items = tile_arena_grow(s->arena, list->items, list->count, &list->capacity,
                                      sizeof *list->items);
        list->items[list->count++] = (windows_use){op, *map};
        return;
    }
    unsigned result = value.id - tile_op_result(s->compute, op, 0).id;
    for (unsigned i = 0; i < tile_op_operand_count(s->compute, op); i++) {
        sched_map at = sched_operand_map(s, op, result, i, map);
        list_uses(w, list, tile_op_operand(s->compute, op, i), &at);
    }
}

static tile_value build_output(windows *w, const sched_output *output, const sched_map *map) {
    tile_value value = sched_output_value(w->k.s, output);
    return sched_value(&w->k, value, map, sched_element(w->k.s, value));
}

/* number: of the first neighbor whose results are stored. */
static void store(windows *w, const sched_output *output, int64_t number, const sched_map *map,
                  const tile_value *tiles) {
    if (w->lanes == 1) {
        sched_store_output(&w->k, output, map, tiles[0]);
        return;
    }
    const unsigned rank = sched_type(w->k.s, sched_output_value(w->k.s, output))->rank;
    const sched_map all = neighbor_map(w, &output->map, rank, number, true);
    windows_store_lanes(w, output, &all, tiles);
}

static void build_outputs(windows *w) {
    schedule *s = w->k.s;
    const size_t outputs = w->g->output_count, count = (size_t)windows_count_neighbors(w);
    sched_map *maps = TILE_NEW_ARRAY(s->arena, sched_map, outputs * count + 1);
    tile_value *tiles = TILE_NEW_ARRAY(s->arena, tile_value, outputs * count + 1);
    use_list uses = {.count = 0};
    for (size_t i = 0; i < outputs * count; i++) {
        const sched_output *output = &w->g->outputs[i / count];
        tile_value value = sched_output_value(s, output);
        maps[i] =
            neighbor_map(w, &output->map, sched_type(s, value)->rank, (int64_t)(i % count), false);
        list_uses(w, &uses, value, &maps[i]);
    }
    windows_reduce(w, uses.items, uses.count);
    for (size_t i = 0; i < outputs * count && !s->failed; i++)
        tiles[i] = build_output(w, &w->g->outputs[i / count], &maps[i]);
    for (size_t i = 0; i < outputs * count && !s->failed; i += (size_t)w->lanes)
        store(w, &w->g->outputs[i / count], (int64_t)(i % count), &maps[i], &tiles[i]);
}

void sched_make_windowed(schedule *s, sched_group *g, const char *name) {
    windows *w = TILE_NEW(s->arena, windows);
    w->k.s = s;
    w->g = g;
    windows_choose(w);
    if (s->failed) return;
    sched_kernel_open(&w->k, s, g, name);
    scale_domain(w);
    w->k.g = &w->scaled;
    w->k.reduce = windows_reduce_one;
    if (w->lanes > 1) w->k.load_lane = windows_load_lane;
    if (w->lines)
        windows_set_line_tiles(w);
    else
        set_tiles(w);
    sched_set_grid(&w->k, -1);
    build_outputs(w);
}
