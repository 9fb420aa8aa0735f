/* Reductions over windows, such as pooling and depthwise convolutions:
 *
 *     %v = reshape(window(%x, [1, 1], [1, 1], axis = 1) : [n, p, q, 3, 3]) : [n * p * q, 9]
 *     %y = reduce_max(%v, axis = 1)
 *
 * The group's domain is that of the stored value, not of the reduced one: a position of a window is
 * a known number wherever it is used, and each element of the result combines all positions. The
 * domain's dims are split where the computation splits them, into n, p and q here, so that all
 * coordinates are sums of dims and numbers. Then loads need no divisions, and windows that overlap
 * share loads (windows/windows.c). Windows of the results of windows are computed in the same
 * kernel if few elements are computed several times. */
#include "passes/schedule/cut/cut.h"

#include "lib/ir/cost.h"
#include "lib/ir/effects.h"
#include "lib/ir/syntax.h"

/* Which reductions ---------------------------------------------------------------------------- */

/* The maximum number of positions of a window, and of the elements that an inner window adds to
 * each one of an outer window. */
enum { MAX_POSITIONS = 128, MAX_NESTED = 64 };

/* The maximum number of a window's lines whose elements are loaded together, and of the elements
 * between two windows (windows/lines.c). */
enum { MAX_LINES = 64, MAX_STRIDE = 64 };

static bool is_given(const schedule *s, tile_op op) {
    static const tile_attr_id given[] = {TILE_ATTR_tile, TILE_ATTR_warps, TILE_ATTR_split,
                                         TILE_ATTR_strategy};
    for (unsigned i = 0; i < sizeof given / sizeof *given; i++)
        if (tile_op_has_attr(s->compute, op, given[i])) return true;
    return false;
}

static const tile_expr *reduced_extent(schedule *s, tile_op op) {
    const tile_type *type = sched_type(s, tile_operand_src(s->compute, op));
    int64_t axis = sched_axis(s, op);
    return axis < 0 || axis >= type->rank ? NULL : sched_dim(s, type, (unsigned)axis);
}

/* How windows use a dim of the domain, the last one that holds for any window. */
typedef enum along { NO_WINDOWS, NOT_ALONG, ALONG_POSITIONS, ALONG_OTHERS } along;

/* Returns whether the dim is one of positions in windows, wherever windows use it. */
static along find_along(schedule *s, sched_visited_values *visited, tile_value value,
                        const sched_map *map, unsigned dim) {
    tile_op op = tile_value_def(s->compute, value);
    along found = NO_WINDOWS;
    if (!op.id || !sched_is_tensor(s, value) || !sched_visit_first(s, visited, value, map))
        return found;
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    unsigned result = value.id - tile_op_result(s->compute, op, 0).id;
    sched_map at = *map;
    if (opcode == TILE_OP_window) {
        unsigned axis = (unsigned)sched_axis(s, op);
        unsigned count = tile_operands_strides(s->compute, op).count;
        found = NOT_ALONG;
        for (unsigned i = 0; i < count; i++) {
            if (sched_depends(&map->at[axis + i], dim)) return ALONG_OTHERS;
            if (sched_depends(&map->at[axis + count + i], dim)) found = ALONG_POSITIONS;
        }
        return found;
    }
    bool reduces = tile_op_dims(opcode) == TILE_DIMS_folded;
    if (!reduces && !sched_is_inline(s, op) && opcode != TILE_OP_reshape) return found;
    if (opcode == TILE_OP_reshape &&
        !sched_reshaped(s, sched_type(s, tile_operand_src(s->compute, op)), sched_type(s, value),
                        map, &at))
        return found;
    /* The position in an inner window does not matter. */
    if (reduces) at.at[sched_axis(s, op)] = sched_zero_coordinate();
    unsigned operands = reduces ? 1 : tile_op_operand_count(s->compute, op);
    for (unsigned i = 0; i < operands && !s->failed; i++) {
        if (!reduces) at = sched_operand_map(s, op, result, i, map);
        along own = find_along(s, visited, tile_op_operand(s->compute, op, i), &at, dim);
        found = own > found ? own : found;
    }
    return found;
}

int64_t sched_window_number(schedule *s, tile_values values, unsigned i) {
    int64_t number = 1;
    if (!values.count) return 1;
    const tile_value_data *value = tile_value_at(s->compute, values.at[i]);
    bool known = value->kind == TILE_VALUE_CONSTANT &&
                 tile_expr_is_int(sched_resolved(s, value->expr), &number);
    return known ? number : 0;
}

/* Returns whether windows of so many positions, of contiguous elements along their last dim, do not
 * overlap much: a tile loads whole lines of them (windows/lines.c). */
static bool has_few_lines(schedule *s, tile_op reduce, int64_t positions) {
    const tile_function *f = s->compute;
    tile_op op = reduce;
    if (tile_op_opcode(f, reduce) != TILE_OP_reduce) return false;
    do {
        op = tile_value_def(f, tile_operand_src(f, op));
        if (!op.id) return false;
    } while (tile_op_opcode(f, op) == TILE_OP_reshape || tile_op_opcode(f, op) == TILE_OP_cast);
    if (tile_op_opcode(f, op) != TILE_OP_window) return false;
    const tile_values strides = tile_operands_strides(f, op);
    const tile_type *type = sched_type(s, tile_op_result(f, op, 0));
    const unsigned last = strides.count - 1;
    const int64_t stride = sched_window_number(s, strides, last);
    const int64_t line = sched_constant(sched_dim(s, type, type->rank - 1u));
    return (unsigned)sched_axis(s, op) + 2 * strides.count == type->rank && line > 3 &&
           stride > 2 && stride <= MAX_STRIDE &&
           stride / (stride & -stride) <= TILE_MAX_ODD_EXTENT && line <= 2 * stride &&
           sched_window_number(s, tile_operands_dilations(f, op), last) == 1 &&
           positions / line <= MAX_LINES;
}

bool sched_is_windowed(schedule *s, tile_op op) {
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    if ((opcode != TILE_OP_reduce && opcode != TILE_OP_reduce_arg) || is_given(s, op)) return false;
    const tile_expr *extent = reduced_extent(s, op);
    int64_t known = extent ? sched_constant(extent) : -1;
    if (known < 1 || (known > MAX_POSITIONS && !has_few_lines(s, op, known))) return false;
    tile_value src = tile_operand_src(s->compute, op);
    sched_domain domain = sched_domain_of(s, src);
    sched_map map = sched_identity(&domain);
    sched_visited_values visited = {.count = 0};
    along found = find_along(s, &visited, src, &map, (unsigned)sched_axis(s, op));
    return found == ALONG_POSITIONS || (found == NOT_ALONG && known == 1);
}

/* Traversal ------------------------------------------------------------------------------------ */

bool sched_absorb_windowed(sched_traversal *w, tile_op op, const sched_map *map) {
    schedule *s = w->s;
    tile_opcode opcode = tile_op_opcode(s->compute, op);
    sched_map at = *map;
    if (opcode == TILE_OP_reshape) {
        tile_value src = tile_operand_src(s->compute, op);
        bool moves = sched_reshaped(s, sched_type(s, src),
                                    sched_type(s, tile_op_result(s->compute, op, 0)), map, &at);
        if (moves) sched_traverse_value(w, src, &at, false);
        return moves;
    }
    if (!sched_is_windowed(s, op)) return false;
    bool inside = w->inside;
    w->inside = true;
    at.at[sched_axis(s, op)] = sched_zero_coordinate();
    sched_traverse_value(w, tile_operand_src(s->compute, op), &at, false);
    w->inside = inside;
    sched_add_reduction(s, w->g, op);
    return true;
}

bool sched_may_nest(const sched_traversal *w, tile_value src) {
    schedule *s = w->s;
    sched_group g = {.kind = SCHED_WINDOWED};
    sched_traversal own = {.s = s, .g = &g};
    sched_domain domain = sched_domain_of(s, src);
    sched_map map = sched_identity(&domain);
    int64_t elements = 1;
    if (!w->g || w->g->kind != SCHED_WINDOWED) return false;
    sched_traverse_value(&own, src, &map, false);
    for (size_t i = 0; i < own.done.count; i++) {
        tile_op op = tile_value_def(s->compute, own.done.items[i].value);
        if (op.id && tile_op_is_costly(tile_op_opcode(s->compute, op))) return false;
    }
    for (size_t i = 0; i < own.stop_count; i++)
        if (!sched_is_planned(s, sched_skip_reshapes(s, own.stops[i].value, TILE_NO_VALUE)))
            return false;
    for (size_t i = 0; i < g.reduction_count; i++)
        elements *= sched_constant(reduced_extent(s, g.reductions[i]));
    return g.reduction_count && elements <= MAX_NESTED;
}

/* The domain ----------------------------------------------------------------------------------- */

/* The numbers by which a value's dims are split, the innermost one first. */
typedef struct splits {
    const tile_expr *by[TILE_MAX_RANK][TILE_MAX_RANK];
    bool conflict;
} splits;

/* If the coordinate is a dim, or its quotient by the first `level` numbers, returns the dim. */
static int find_level(const sched_coordinate *at, unsigned *level) {
    int dim;
    *level = 0;
    if (at->offset) return -1;
    if (!at->index) return at->dim;
    if (at->index->kind != SCHED_DIV || (dim = find_level(&at->index->a, level)) < 0) return -1;
    ++*level;
    return dim;
}

static void find_splits(const sched_coordinate *at, splits *out) {
    unsigned level;
    if (!at->index || out->conflict) return;
    const sched_index *index = at->index;
    find_splits(&index->a, out);
    find_splits(&index->b, out);
    out->conflict |= index->kind == SCHED_EXACT;
    if (index->kind != SCHED_DIV && index->kind != SCHED_REM) return;
    int dim = find_level(&index->a, &level);
    out->conflict |= dim < 0 || level >= TILE_MAX_RANK || !index->by.expr;
    if (out->conflict) return;
    const tile_expr **by = &out->by[dim][level];
    out->conflict |= *by && *by != index->by.expr;
    *by = index->by.expr;
}

/* Adds the parts of a dim to the domain. *at: the dim's coordinate. */
static bool add_parts(schedule *s, const tile_expr *extent, const tile_expr *const *by,
                      sched_domain *domain, sched_coordinate *at) {
    unsigned count = 0;
    for (; count < TILE_MAX_RANK && by[count]; count++)
        if (!(extent = sched_without(s, extent, by[count]))) return false;
    for (unsigned i = count; i < TILE_MAX_RANK; i++)
        if (by[i]) return false;
    if (domain->rank + count >= TILE_MAX_RANK) return false;
    *at = sched_zero_coordinate();
    for (unsigned i = 0; i <= count; i++) {
        const tile_expr *own = i ? by[count - i] : extent;
        if (tile_expr_is(own, 1)) continue;
        sched_coordinate part = sched_dim_coordinate(domain->rank);
        *at = i ? sched_computed(s, SCHED_PAIR, at, &part, own) : part;
        domain->extents[domain->rank++] = own;
    }
    return true;
}

static bool is_sum_of_dims(const sched_coordinate *at) {
    if (!at->index) return true;
    sched_index_kind kind = at->index->kind;
    return kind != SCHED_DIV && kind != SCHED_REM && kind != SCHED_EXACT &&
           is_sum_of_dims(&at->index->a) && is_sum_of_dims(&at->index->b);
}

static void find_all_splits(const sched_traversal *w, splits *out) {
    for (size_t i = 0; i < w->done.count; i++)
        for (unsigned d = 0; d < sched_type(w->s, w->done.items[i].value)->rank; d++)
            find_splits(&w->done.items[i].map.at[d], out);
}

/* Also false for coordinates that depend on numbers of the launch. */
static bool has_sums_of_dims(const sched_traversal *w) {
    schedule *s = w->s;
    for (size_t i = 0; i < w->done.count; i++) {
        const tile_value value = w->done.items[i].value;
        tile_op op = tile_value_def(s->compute, value);
        for (unsigned d = 0; d < sched_type(s, value)->rank; d++)
            if (!is_sum_of_dims(&w->done.items[i].map.at[d])) return false;
        if (!op.id || tile_op_opcode(s->compute, op) != TILE_OP_window) continue;
        sched_map at = sched_operand_map(s, op, 0, 0, &w->done.items[i].map);
        for (unsigned d = 0; d < sched_type(s, tile_operand_src(s->compute, op))->rank; d++)
            if (!is_sum_of_dims(&at.at[d])) return false;
    }
    return true;
}

/* Returns whether all values that are not computed are, or will be, arrays that others write. */
static bool reads_arrays(const sched_traversal *w) {
    for (size_t i = 0; i < w->stop_count; i++) {
        tile_value value = sched_skip_reshapes(w->s, w->stops[i].value, TILE_NO_VALUE);
        if (!w->stops[i].own_domain && !sched_is_planned(w->s, value)) return false;
    }
    return true;
}

/* recomputes: also windowed reductions whose results are in memory. */
static bool take(schedule *s, sched_group *g, tile_value value, bool recomputes, sched_map *map) {
    sched_group own = {.kind = SCHED_WINDOWED, .recomputes = recomputes};
    sched_traversal w = {.s = s, .g = &own};
    sched_domain domain = sched_domain_of(s, value);
    sched_map identity = sched_identity(&domain);
    splits by = {.conflict = false};
    sched_traverse_value(&w, value, &identity, true);
    if (s->failed || !own.reduction_count || !reads_arrays(&w)) return false;
    find_all_splits(&w, &by);
    if (by.conflict) return false;
    for (unsigned d = 0; d < domain.rank; d++)
        if (!add_parts(s, domain.extents[d], by.by[d], &own.domain, &map->at[d])) return false;
    if (!own.domain.rank) own.domain.extents[own.domain.rank++] = tile_expr_int(s->context, 1);
    sched_group again = {.kind = SCHED_WINDOWED, .recomputes = recomputes};
    sched_traversal split = {.s = s, .g = &again};
    sched_traverse_value(&split, value, map, true);
    if (s->failed || !has_sums_of_dims(&split)) return false;
    *g = (sched_group){.kind = SCHED_WINDOWED, .domain = own.domain, .recomputes = recomputes};
    return true;
}

/* Returns whether a windowed kernel, for another value, has the domain. */
static bool is_domain_of_other(const schedule *s, const sched_domain *domain) {
    for (size_t i = 0; i < s->group_count; i++)
        if (s->groups[i]->kind == SCHED_WINDOWED &&
            sched_same_domain(&s->groups[i]->domain, domain))
            return true;
    return false;
}

/* What is computed from a stored reduction joins the kernel that stores it, if the domains are
 * equal. */
bool sched_take_windowed(schedule *s, sched_group *g, tile_value value, sched_map *map) {
    return take(s, g, value, false, map) ||
           (take(s, g, value, true, map) && is_domain_of_other(s, &g->domain));
}

/* Whether each window has one position. */
static bool has_single_positions(const schedule *s, tile_op window) {
    const tile_type *type = sched_type(s, tile_op_result(s->compute, window, 0));
    const unsigned count = tile_operands_strides(s->compute, window).count;
    const unsigned first = (unsigned)sched_axis(s, window) + count;
    for (unsigned i = 0; i < count; i++)
        if (!tile_expr_is(type->dims[first + i], 1)) return false;
    return true;
}

bool sched_pads_last_dim(const schedule *s, tile_op op) {
    if (tile_op_opcode(s->compute, op) != TILE_OP_window || !has_single_positions(s, op))
        return false;
    const unsigned rank = sched_type(s, tile_operand_src(s->compute, op))->rank;
    return (unsigned)sched_axis(s, op) + 1 == rank;
}

bool sched_reads_folded_windows(const schedule *s, tile_op window) {
    const tile_function *f = s->compute;
    bool moved = false;
    tile_op op;
    if (has_single_positions(s, window)) return false;
    for (tile_value value = tile_operand_src(f, window); (op = tile_value_def(f, value)).id;
         value = tile_operand_src(f, op)) {
        const tile_opcode opcode = tile_op_opcode(f, op);
        if (sched_pads_last_dim(s, op) || (opcode == TILE_OP_window && moved)) return true;
        moved |= opcode == TILE_OP_transpose;
        if (opcode != TILE_OP_transpose && opcode != TILE_OP_reshape && opcode != TILE_OP_cast)
            return false;
    }
    return false;
}
