/* Windows that are far apart: threads next to each other would read elements `stride` apart, and
 * each request of a warp as many lines of memory. The elements of all of a tile's windows along the
 * columns are a line, which is contiguous in memory. Its positions are loaded as such, are combined
 * with the same positions of the windows' other lines, and are then taken apart:
 *
 *     %a = load %x[%row, 11 * %column] : tile<f32[rows, 11 * columns]>        .. and 10 more rows
 *     %b = reduce(reshape(%a + ..) : [rows, columns, 11], axis = 2) : tile<f32[rows, columns]>
 *
 * So each element is loaded once, and only one line of a window's elements goes through shared
 * memory. If there are elements between windows, these are replaced by the identity. Windows that
 * overlap have further lines, each of which begins one stride later.
 *
 * The positions of a line are those of another dim of the domain. A window is its quotient by the
 * stride, and a position in the window is its remainder; in the array, both add up to the position
 * again (index.c). */
#include <math.h>
#include <string.h>

#include "lib/ir/syntax.h"
#include "lib/ops/kinds.h"
#include "passes/schedule/windows/windows.h"

enum {
    LEAST_STRIDE = 3,
    LEAST_POSITIONS = 4, /* with fewer, lines remain in the L1 until all positions are read */
    MOST_STRIDE = 64,
    MOST_OVERLAP = 2, /* lines of a window: each is loaded separately */
};

/* Which windows -------------------------------------------------------------------------------- */

/* Returns whether the value is computed from arrays only. */
static bool reads_arrays(windows *w, tile_value value, const sched_map *map) {
    windows_leaves from = {.count = 0};
    windows_list_leaves(w, value, map, &from);
    for (unsigned i = 0; i < from.count; i++)
        if (from.at[i].window || sched_find_input(w->k.s, w->g, from.at[i].value) < 0) return false;
    return !from.too_many;
}

/* Returns whether the window's source is at position number `number` of the line: along one dim at
 * stride * column + first + number, along the others wherever the column is. */
static bool is_at(const windows *w, const windows_leaf *leaf, int64_t number, int64_t *first) {
    const unsigned rank = sched_type(w->k.s, leaf->value)->rank;
    unsigned found = 0;
    for (unsigned d = 0; d < rank; d++) {
        sched_linear sum;
        if (!sched_depends(&leaf->map.at[d], w->columns)) continue;
        if (!sched_find_linear(&leaf->map.at[d], &sum) || sum.dim != (int)w->columns ||
            sum.scale != w->steps[w->columns].stride)
            return false;
        if (!number) *first = sum.offset;
        if (sum.offset != *first + number) return false;
        found++;
    }
    return found == 1;
}

/* Returns whether the reduction combines windows of one size, whose last positions are along the
 * columns. */
static bool has_lines(windows *w, tile_op op, const sched_map *map) {
    schedule *s = w->k.s;
    const windows_step *step = &w->steps[w->columns];
    const tile_value src = tile_operand_src(s->compute, op);
    const unsigned axis = (unsigned)sched_axis(s, op);
    const int64_t count = sched_constant(sched_dim(s, sched_type(s, src), axis));
    sched_map at = *map;
    int64_t first[WINDOWS_MAX_LEAVES] = {0};
    if (tile_op_opcode(s->compute, op) != TILE_OP_reduce || count % step->positions) return false;
    for (int64_t t = 0; t < count; t++) {
        windows_leaves from = {.count = 0};
        bool windowed = false;
        at.at[axis] = sched_number_coordinate(s, t);
        windows_list_leaves(w, src, &at, &from);
        if (from.too_many) return false;
        for (unsigned i = 0; i < from.count; i++) {
            const windows_leaf *leaf = &from.at[i];
            if (!leaf->window && sched_find_input(s, w->g, leaf->value) < 0) return false;
            if (!leaf->window) continue;
            if (!reads_arrays(w, leaf->value, &leaf->map) ||
                !is_at(w, leaf, t % step->positions, &first[i]))
                return false;
            windowed = true;
        }
        if (!windowed) return false;
    }
    return true;
}

void windows_choose_lines(windows *w) {
    schedule *s = w->k.s;
    const windows_step *step = &w->steps[w->columns];
    const sched_traversal t = windows_traverse(w);
    unsigned reductions = 0;
    if (step->positions < LEAST_POSITIONS || step->stride < LEAST_STRIDE || step->dilation != 1 ||
        step->stride > MOST_STRIDE ||
        step->stride / (step->stride & -step->stride) > TILE_MAX_ODD_EXTENT ||
        step->positions > MOST_OVERLAP * step->stride || windows_have_weights(w) ||
        w->g->domain.rank + 1 > SCHED_MAX_DIMS)
        return;
    for (size_t i = 0; i < t.done.count; i++) {
        const tile_value value = t.done.items[i].value;
        const tile_op op = tile_value_def(s->compute, value);
        if (!op.id || tile_op_dims(tile_op_opcode(s->compute, op)) != TILE_DIMS_folded) continue;
        if (!has_lines(w, op, &t.done.items[i].map)) return;
        reductions++;
    }
    w->lines = reductions > 0;
}

/* Tiles ---------------------------------------------------------------------------------------- */

static void add_line_dim(windows *w) {
    const int64_t stride = w->steps[w->columns].stride;
    w->line = w->scaled.domain.rank;
    w->scaled.domain.extents[w->line] = tile_expr_multiply(
        w->k.s->context, w->g->domain.extents[w->columns], tile_expr_int(w->k.s->context, stride));
}

/* The rows of a tile with so many windows along the columns, whose threads have vectors of `vector`
 * elements: the stride is an odd number times a power of two, and a thread has the odd number of
 * vectors. */
static int rows_of(const windows *w, int warps, int vector, int columns) {
    enum { WARP = 32 };
    const int64_t stride = w->steps[w->columns].stride;
    const int64_t line = columns * (stride & -stride), elements = (int64_t)WARP * warps * vector;
    return elements > line ? (int)(elements / line) : 1;
}

void windows_set_line_tiles(windows *w) {
    enum { BYTES = 16, REGISTERS = 48, RUN = 512 /* bytes */, WIDE = 64, POINTS = 4, VALUES = 3 };
    static const int warps[POINTS] = {4, 8, 4, 2}, shorter[POINTS] = {1, 1, 2, 1};
    sched_kernel *k = &w->k;
    const int64_t stride = w->steps[w->columns].stride, odd = stride / (stride & -stride);
    const int64_t extent = sched_constant(w->scaled.domain.extents[w->columns]);
    const int bytes = (int)windows_widest_input(w);
    int least = 1, vector = BYTES / bytes, points[POINTS * VALUES], count = 0;
    while (least < WIDE && least * stride * bytes < RUN) least *= 2;
    const int columns = windows_best_width(extent, least, WIDE);
    while (vector > 1 && vector * odd > REGISTERS) vector /= 2;
    w->rows = windows_choose_rows(w, rows_of(w, warps[0], vector, columns));
    const int64_t others = w->rows < 0 ? 1 : sched_constant(w->scaled.domain.extents[w->rows]);
    const unsigned first = w->rows < 0;
    for (unsigned i = 0; i < POINTS; i++) {
        const int own = vector / shorter[i] > 1 ? vector / shorter[i] : 1;
        int height = rows_of(w, warps[i], own, columns), before = 0;
        while (height > 1 && others > 0 && height / 2 >= others) height /= 2;
        const int all[VALUES] = {height, columns, warps[i]};
        while (before < count && memcmp(points + VALUES * before, all, sizeof all) != 0) before++;
        if (before == count) memcpy(points + VALUES * count++, all, sizeof all);
    }
    for (int i = 0; i < count && first; i++)
        memmove(points + (VALUES - 1) * i, points + VALUES * i + 1, (VALUES - 1) * sizeof *points);
    const tile_expr *params[VALUES];
    if (!first) params[0] = sched_add_param(k, "rows");
    params[1] = sched_add_param(k, "columns");
    params[2] = sched_add_param(k, "num_warps");
    if (!first) sched_set_tile(k, (unsigned)w->rows, 0, params[0]);
    sched_set_tile(k, w->columns, !first, params[1]);
    sched_add_tune(k, params + first, VALUES - first, points, (unsigned)count);
    sched_set_warps(k, params[2]);
    add_line_dim(w);
}

/* Has the tile's columns be elements of the line, or (enter false) windows again. */
static void enter(windows *w, bool enter) {
    sched_kernel *k = &w->k;
    const int64_t stride = w->steps[w->columns].stride;
    const int t = k->tile_of[enter ? w->columns : w->line];
    const tile_expr *by = tile_expr_int(k->s->context, stride);
    k->tile_of[enter ? w->columns : w->line] = -1;
    k->tile_of[enter ? w->line : w->columns] = t;
    k->block[t] = enter ? tile_expr_multiply(k->s->context, k->block[t], by) : w->block;
    w->scaled.domain.rank += enter ? 1 : -1;
}

static void begin_line(windows *w) {
    sched_kernel *k = &w->k;
    const int64_t stride = w->steps[w->columns].stride;
    if (k->start[w->line].id) return;
    w->block = k->block[k->tile_of[w->columns]];
    k->start[w->line] = tile_build_mul(&k->b, k->start[w->columns], tile_build_int(&k->b, stride));
}

/* Positions ------------------------------------------------------------------------------------ */

/* a * by + b, of which b is the remainder. */
static sched_coordinate paired(schedule *s, int64_t a, int64_t by, const sched_coordinate *b) {
    sched_index *index = TILE_NEW(s->arena, sched_index);
    *index = (sched_index){.kind = SCHED_PAIR,
                           .a = sched_number_coordinate(s, a),
                           .b = *b,
                           .by = {tile_expr_int(s->context, by), TILE_NO_VALUE}};
    return (sched_coordinate){-1, NULL, index};
}

/* The position in a window of the line's element. */
static sched_coordinate position_of(const windows *w) {
    schedule *s = w->k.s;
    const sched_coordinate line = sched_dim_coordinate(w->line);
    return sched_computed(s, SCHED_REM, &line, NULL,
                          tile_expr_int(s->context, w->steps[w->columns].stride));
}

/* The map of the source's elements in line number `outer` of the windows, `later` strides later. */
static sched_map line_map(windows *w, tile_op op, const sched_map *map, int64_t outer,
                          int64_t outers, int64_t later) {
    schedule *s = w->k.s;
    const windows_step *step = &w->steps[w->columns];
    const unsigned rank = sched_type(s, tile_operand_src(s->compute, op))->rank;
    const unsigned axis = (unsigned)sched_axis(s, op);
    const sched_coordinate line = sched_dim_coordinate(w->line);
    sched_coordinate dims[SCHED_MAX_DIMS], inner = position_of(w);
    sched_map out = *map;
    for (unsigned d = 0; d < SCHED_MAX_DIMS; d++) dims[d] = sched_dim_coordinate(d);
    dims[w->columns] =
        sched_computed(s, SCHED_DIV, &line, NULL, tile_expr_int(s->context, step->stride));
    if (later)
        inner =
            sched_shifted(s, &inner, TILE_OP_add, tile_expr_int(s->context, later * step->stride));
    for (unsigned d = 0; d < rank; d++) out.at[d] = sched_substituted(s, &map->at[d], dims);
    out.at[axis] = outers > 1 ? paired(s, outer, step->positions, &inner) : inner;
    return out;
}

/* Reductions ----------------------------------------------------------------------------------- */

/* The identity of the reduction. Maxima and minima of floats that ignore NaN ignore it here, too.
 */
static tile_value identity_of(windows *w, tile_op op, const tile_type *type) {
    schedule *s = w->k.s;
    const tile_word kind = tile_op_word(s->compute, op, TILE_ATTR_kind);
    const bool extreme = kind == TILE_WORD_kind_min || kind == TILE_WORD_kind_max;
    const bool nan = tile_op_has_attr(s->compute, op, TILE_ATTR_nan);
    if (!tile_scalar_is_floating(type->scalar))
        return tile_build_constant(
            &w->k.b, type,
            tile_expr_int(s->context, tile_kind_integer_identity(kind, type->scalar)));
    return tile_build_constant(
        &w->k.b, type,
        tile_expr_float(s->context, extreme && !nan ? NAN : tile_kind_identity(kind)));
}

/* Replaces the elements from position `end` of the windows on. */
static tile_value without_gap(windows *w, tile_op op, const tile_type *type, tile_value tile,
                              int64_t end) {
    sched_kernel *k = &w->k;
    const sched_coordinate position = position_of(w);
    if (end >= w->steps[w->columns].stride) return tile;
    tile_value inside =
        tile_build_lt(&k->b, sched_coordinate_tile(k, &position), tile_build_int(&k->b, end));
    return tile_build_select(&k->b, inside, tile, identity_of(w, op, type));
}

/* Combines the windows' lines, those that begin as many strides later. */
static tile_value combine_lines(windows *w, tile_op op, const tile_type *type, const sched_map *map,
                                int64_t later) {
    sched_kernel *k = &w->k;
    schedule *s = k->s;
    const windows_step *step = &w->steps[w->columns];
    const tile_value src = tile_operand_src(s->compute, op);
    const unsigned axis = (unsigned)sched_axis(s, op);
    const int64_t outers = sched_constant(sched_dim(s, sched_type(s, src), axis)) / step->positions;
    tile_value all = TILE_NO_VALUE;
    for (int64_t outer = 0; outer < outers && !s->failed; outer++) {
        const sched_map at = line_map(w, op, map, outer, outers, later);
        tile_value own = sched_broadcast_to_tile(k, sched_value(k, src, &at, type));
        if (!own.id) return own;
        all = all.id ? sched_combine(k, tile_op_word(s->compute, op, TILE_ATTR_kind),
                                     tile_op_has_attr(s->compute, op, TILE_ATTR_nan), all, own)
                     : own;
    }
    return without_gap(w, op, type, all, step->positions - later * step->stride);
}

/* Reduces each window's part of the line, of [rows, stride * columns] elements. */
static tile_value reduce_line(windows *w, tile_op like, const tile_type *type, tile_value line) {
    sched_kernel *k = &w->k;
    const unsigned last = k->tile_rank - 1u;
    tile_type parts = *tile_value_type(k->f, line), whole = parts;
    parts.dims[last] = whole.dims[last] = w->block;
    parts.dims[last + 1] = tile_expr_int(k->s->context, w->steps[w->columns].stride);
    parts.rank++;
    const tile_segment segments[] = {
        {tile_build_reshape(&k->b, line, TILE_NO_VALUE, tile_type_get(k->s->context, &parts)), NULL,
         0},
        {TILE_NO_VALUE, NULL, 0}};
    const tile_attr axis = {.id = TILE_ATTR_axis, .expr = tile_expr_int(k->s->context, last + 1)};
    tile_op op = tile_build_op_of(&k->b, TILE_OP_reduce, segments, 2, NULL, &axis, 1);
    if (!op.id) return TILE_NO_VALUE;
    tile_op_take_attr(k->f, op, k->s->compute, like, TILE_ATTR_kind);
    tile_op_take_attr(k->f, op, k->s->compute, like, TILE_ATTR_nan);
    tile_op_set_int(k->f, op, TILE_ATTR_axis, last + 1);
    whole.scalar = type->scalar;
    return tile_build_reshape(&k->b, tile_op_result(k->f, op, 0), TILE_NO_VALUE,
                              tile_type_get(k->s->context, &whole));
}

void windows_reduce_lines(windows *w, tile_op op, const tile_type *type, const windows_use *uses,
                          size_t count, tile_value *results) {
    sched_kernel *k = &w->k;
    schedule *s = k->s;
    const windows_step *step = &w->steps[w->columns];
    begin_line(w);
    const size_t mark = sched_enter(k);
    enter(w, true);
    for (size_t u = 0; u < count && !s->failed; u++) {
        tile_value all = TILE_NO_VALUE;
        for (int64_t later = 0; later * step->stride < step->positions && !s->failed; later++) {
            tile_value own = combine_lines(w, op, type, &uses[u].map, later);
            all = all.id ? sched_combine(k, tile_op_word(s->compute, op, TILE_ATTR_kind),
                                         tile_op_has_attr(s->compute, op, TILE_ATTR_nan), all, own)
                         : own;
        }
        if (all.id) results[u] = reduce_line(w, op, type, all);
    }
    enter(w, false);
    sched_leave(k, mark);
}
