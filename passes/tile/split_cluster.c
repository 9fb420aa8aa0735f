/* cluster: the blocks of one tile are a cluster. Each leaves its part in its own shared memory, and
 * the first one reads them all through distributed shared memory, in their order, and goes on:
 *
 *     part 0   ---loop---> store_shared | reads part 0, 1, 2, epilogue |
 *     part 1   ---loop---> store_shared |                              |
 *     part 2   ---loop---> store_shared |                              | cluster barriers
 *
 * No memory outside of the multiprocessors is touched for the sums. Clusters have up to 8 blocks.
 */
#include "passes/tile/split.h"

const char *split_cluster_refuses(const split *s) {
    if (s->f->cluster_rank) return "the kernel has clusters of its own";
    return NULL;
}

static void leave_parts(split *s, tile_builder *b, tile_value *buffers) {
    for (unsigned i = 0; i < s->count; i++) {
        tile_type draft = *split_part_type(s, i);
        draft.kind = TILE_TYPE_SHARED;
        draft.layout = NULL;
        buffers[i] = tile_build_alloc_shared(b, tile_type_get(s->context, &draft));
        tile_value part = split_to_part(s, b, i, tile_op_result(s->f, s->loop, i));
        tile_build_store_shared(b, part, buffers[i], NULL, 0);
    }
}

static void meet(tile_builder *b) {
    tile_build_cluster_arrive(b);
    tile_build_cluster_wait(b);
}

/* What the peers have left. */
typedef struct peer_adder {
    split_adder base; /* first */
    const tile_value *buffers;
    const tile_type **types;
} peer_adder;

static void load_peer(const split_adder *adder, tile_builder *b, tile_value rank,
                      tile_value *loaded) {
    const peer_adder *a = (const peer_adder *)(const void *)adder;
    for (unsigned i = 0; i < adder->s->count; i++) {
        tile_value peer = tile_build_map_shared(b, a->buffers[i], rank);
        loaded[i] = tile_build_load_shared(b, peer, NULL, 0, a->types[i]);
    }
}

static void set_cluster(split *s) {
    const tile_expr *one = tile_expr_int(s->context, 1);
    const tile_expr *extents[] = {one, one, tile_expr_int(s->context, s->factor)};
    tile_function_set_cluster(s->f, 3, extents);
    /* A cluster is of one tile, and which tiles are neighbours does not matter to the result. */
    tile_function_set_raster(s->f, TILE_RASTER_NONE, NULL);
    tile_function_set_persistent(s->f, false, NULL);
}

tile_status split_cluster(split *s) {
    tile_arena *arena = s->pass->scratch;
    split_grid grid;
    unsigned count;
    const tile_type **types = TILE_NEW_ARRAY(arena, const tile_type *, s->count + 1);
    tile_value *buffers = TILE_NEW_ARRAY(arena, tile_value, s->count + 1);
    tile_value *sums = TILE_NEW_ARRAY(arena, tile_value, s->count + 1);
    for (unsigned i = 0; i < s->count; i++) types[i] = split_part_type(s, i);
    split_deal_out(s, &grid);
    set_cluster(s);
    tile_op *epilogue = split_take_epilogue(s, &count);
    tile_builder b = split_before_epilogue(s, epilogue, count);
    leave_parts(s, &b, buffers);
    meet(&b);
    tile_value first = tile_build_eq(&b, grid.part, tile_build_int(&b, 0));
    split_fork reads = split_begin_fork(&b, first, types, s->count);
    const peer_adder peers = {{s, load_peer}, buffers, types};
    split_add_parts(&peers.base, &reads.yes, types, sums);
    tile_build_yield(&reads.yes, sums, s->count);
    for (unsigned i = 0; i < s->count; i++) sums[i] = split_zero(s, &reads.no, types[i]);
    tile_build_yield(&reads.no, sums, s->count);
    meet(&b); /* nobody leaves before his part has been read */
    for (unsigned i = 0; i < s->count; i++) sums[i] = tile_op_result(s->f, reads.op, i);
    split_fork ends = split_begin_fork(&b, first, NULL, 0);
    split_finish(s, &ends.yes, epilogue, count, sums);
    tile_build_yield(&ends.yes, NULL, 0);
    tile_build_yield(&ends.no, NULL, 0);
    return TILE_OK;
}
