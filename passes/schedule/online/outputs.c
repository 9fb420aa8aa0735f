/* Positions of the outputs of an online loop, and their stores. */
#include "passes/schedule/online/online_kernel.h"

sched_map online_whole_map(const online_kernel *w, const sched_map *map) {
    sched_map out = *map;
    if (w->packed) return out;
    out.at[w->o->m].dim = (int)w->o->m;
    out.at[w->k.g->domain.rank - 1].dim = (int)w->k.g->domain.rank - 1;
    return out;
}

/* The map of an output's tiles. A single row of the loop corresponds to a dim of extent 1. */
static sched_map output_map(const online_kernel *w, const sched_output *output) {
    sched_kernel *k = (sched_kernel *)(uintptr_t)&w->k;
    tile_value value = k->s->arrays[output->array].value;
    const tile_type *type = sched_type(k->s, value);
    sched_map identity = sched_identity(&k->g->domain), out = output->map;
    if (w->packed || tile_expr_is(sched_dim(k->s, type, type->rank - 1), 1)) return out;
    if (type->rank == k->g->domain.rank && sched_same_map(&out, &identity, type->rank))
        return online_whole_map(w, &out);
    for (unsigned d = type->rank - 1; d-- > 0 && tile_expr_is(k->g->domain.extents[w->o->m], 1);)
        if (tile_expr_is(sched_dim(k->s, type, d), 1)) {
            out.at[d] = sched_dim_coordinate(w->o->m);
            break;
        }
    return out;
}

void online_store_outputs(online_kernel *w) {
    sched_kernel *k = &w->k;
    schedule *s = k->s;
    for (size_t i = 0; i < k->g->output_count && !s->failed; i++) {
        const sched_output *output = &k->g->outputs[i];
        tile_value value = s->arrays[output->array].value;
        sched_map at = output_map(w, output);
        bool same = sched_same_map(&at, &output->map, sched_type(s, value)->rank);
        tile_value tile = sched_value(k, value, &output->map, sched_element(s, value));
        if (tile.id && !same) tile = sched_broadcast_to_tile(k, tile);
        if (tile.id) sched_store(k, output->array, &at, tile);
    }
}
