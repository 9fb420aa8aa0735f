/* Reductions and products that are planned before the value that is computed from them.
 *
 * A reshape of a computed value is a view (kernel/view.c) unless a reduction or a product comes
 * before it. If these have kernels of their own, as in a batch norm of a convolution's result
 *
 *     %y = reshape((%r - %mean) * %scale) : [n, c, h, w]
 *
 * their results are arrays like any others once they are planned. Otherwise the source of the
 * reshape would be stored, and moved by one more kernel. */
#include "passes/schedule/cut/moved.h"

/* Returns whether a kernel of its own would compute the reshape's source element by element from
 * arrays and from what other kernels compute. *w: where it stops. */
static bool is_kept_apart(schedule *s, tile_op reshape, sched_traversal *w) {
    const tile_value from = tile_operand_src(s->compute, reshape);
    sched_domain own = sched_domain_of(s, from);
    sched_map map = sched_identity(&own);
    sched_group g = {.kind = SCHED_ELEMENTWISE};
    sched_traverse_value(w, from, &map, true);
    for (size_t i = 0; i < w->stop_count; i++) {
        tile_value stop = sched_skip_reshapes(s, w->stops[i].value, TILE_NO_VALUE);
        tile_op op = tile_value_def(s->compute, stop);
        if (!sched_is_planned(s, stop) &&
            (!op.id || (sched_is_reduction(s, op) && sched_is_along(s, op))))
            return false;
    }
    sched_choose(s, &g, from, &map);
    return g.kind == SCHED_ELEMENTWISE;
}

/* Stores everything from which a kernel of its own would compute the value. */
static void plan_stops(schedule *s, tile_value value) {
    sched_group g = {.kind = SCHED_ELEMENTWISE, .domain = sched_domain_of(s, value)};
    sched_map map = sched_identity(&g.domain);
    sched_traversal w = {.s = s};
    sched_plan_narrowed(s, &g, value, &map);
    sched_traverse_value(&w, value, &map, true);
    for (size_t i = 0; i < w.stop_count && !s->failed; i++)
        sched_plan_value(s, sched_skip_reshapes(s, w.stops[i].value, TILE_NO_VALUE));
}

bool sched_plan_behind_reshapes(schedule *s, tile_value value) {
    sched_domain own = sched_domain_of(s, value);
    sched_map identity = sched_identity(&own);
    sched_traversal w = {.s = s};
    bool found = false;
    sched_traverse_value(&w, value, &identity, true);
    for (size_t i = 0; i < w.stop_count && !s->failed; i++) {
        tile_op op = tile_value_def(s->compute, w.stops[i].value);
        sched_traversal behind = {.s = s};
        if (!op.id || tile_op_opcode(s->compute, op) != TILE_OP_reshape ||
            sched_is_planned(s, w.stops[i].value) ||
            sched_array_of(s, tile_operand_src(s->compute, op)) >= 0 ||
            sched_only_user(s, tile_operand_src(s->compute, op)).id != op.id ||
            !is_kept_apart(s, op, &behind))
            continue;
        plan_stops(s, tile_operand_src(s->compute, op));
        found |= sched_becomes_free(s, op);
    }
    return found && !s->failed;
}
