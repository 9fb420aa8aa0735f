/* Functions of several reductions' results that are reduced in turn.
 *
 *     %l = log(reduce_add(exp(%d), axis = 1)) - gather(%d, %t, axis = 1)
 *     %y = reduce_add(%l, axis = 0)
 *
 * The kernel of the second reduction has one block, which would read both results and gather
 * elements. The blocks of the first kernel, one for each row, compute %l instead, and store one
 * array. */
#include "passes/schedule/cut/moved.h"

static bool is_row_result(schedule *s, const sched_mapped_stop *stop, const sched_domain *domain) {
    tile_op op = tile_value_def(s->compute, stop->value);
    sched_domain own = sched_domain_of(s, stop->value);
    return op.id && !stop->own_domain && sched_is_reduction(s, op) && !sched_is_along(s, op) &&
           sched_same_domain(&own, domain);
}

/* Returns whether the reduction's source is a function of several values, one of them the result of
 * a reduction, with one element for each row, and the kernel of these rows can compute it. A value
 * that also depends on the group's own reductions, as a deviation from a mean, waits for these. */
static bool is_of_rows(schedule *s, tile_op reduction) {
    const tile_value src = tile_operand_src(s->compute, reduction);
    const sched_domain domain = sched_domain_of(s, src);
    const int64_t axis = sched_axis(s, reduction);
    sched_map map = sched_identity(&domain);
    sched_traversal w = {.s = s};
    sched_group g = {.kind = SCHED_ELEMENTWISE};
    bool found = false;
    if (sched_array_of(s, src) >= 0 || axis < 0 || tile_expr_is(domain.extents[axis], 1))
        return false;
    sched_traverse_value(&w, src, &map, true);
    for (size_t i = 0; i < w.stop_count; i++) {
        if (!tile_value_def(s->compute, w.stops[i].value).id) continue;
        if (!is_row_result(s, &w.stops[i], &domain)) return false;
        found |= !sched_is_planned(s, w.stops[i].value);
    }
    if (!found || w.stop_count < 2) return false;
    sched_choose(s, &g, src, &map);
    return g.kind == SCHED_ROWS;
}

void sched_plan_row_values(schedule *s, const sched_group *g, tile_value value,
                           const sched_map *map) {
    sched_group alone = *g; /* the traversal adds reductions */
    sched_traversal w = {.s = s, .g = &alone, .passed = g->passed};
    if (g->kind != SCHED_ROWS) return;
    sched_traverse_value(&w, value, map, true);
    for (size_t i = 0; i < alone.reduction_count && !s->failed; i++)
        if (is_of_rows(s, alone.reductions[i]))
            sched_plan_value(s, tile_operand_src(s->compute, alone.reductions[i]));
}
