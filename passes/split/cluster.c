/* cluster: the blocks of one tile form a cluster. Each stores its part in its own shared memory. It
 * then adds its pieces of all parts through distributed shared memory, in the order of the parts,
 * and runs the epilogue for them:
 *
 *     part 0   ---loop---> store_shared | pieces 0, 3, .. of parts 0, 1, 2; epilogue |
 *     part 1   ---loop---> store_shared | pieces 1, 4, ..                            |
 *     part 2   ---loop---> store_shared | pieces 2, 5, ..                            |
 *                                 cluster barrier                             cluster barrier
 *
 * The sums use no global memory. Clusters have up to 16 blocks. With more than 2 blocks, the device
 * holds fewer blocks at once; more than 8 are not portable: the launch fails on a device that
 * cannot hold such a cluster. */
#include "passes/split/split.h"

const char *split_cluster_rejects(const split *s) {
    if (s->f->cluster_rank) return "the kernel has a `cluster` clause";
    return NULL;
}

static void publish_parts(split *s, tile_builder *b, tile_value *buffers) {
    for (unsigned i = 0; i < s->count; i++) {
        tile_type draft = *split_part_type(s, i);
        draft.kind = TILE_TYPE_SHARED;
        draft.layout = NULL;
        buffers[i] = tile_build_alloc_shared(b, tile_type_get(s->context, &draft));
        tile_value part = split_to_part(s, b, i, tile_op_result(s->f, s->loop, i));
        tile_build_store_shared(b, part, buffers[i], NULL, 0);
    }
}

static void build_cluster_barrier(tile_builder *b) {
    tile_build_cluster_arrive(b);
    tile_build_cluster_wait(b);
}

/* Loads the peers' parts, by pieces. */
typedef struct peer_adder {
    split_part_loader base; /* must be the first member */
    const split_pieces *pieces;
    tile_value first;
    const tile_value *buffers;
    const tile_type **types;
} peer_adder;

static void load_peer(const split_part_loader *adder, tile_builder *b, tile_value rank,
                      tile_value *loaded) {
    const peer_adder *a = (const peer_adder *)(const void *)adder;
    for (unsigned i = 0; i < adder->s->count; i++) {
        tile_value peer = tile_build_map_shared(b, a->buffers[i], rank), place[TILE_MAX_RANK];
        unsigned cut = a->pieces->count > 1 ? a->types[i]->rank : 0;
        for (unsigned d = 0; d < cut; d++)
            place[d] = d == a->pieces->axis ? a->first : tile_build_int(b, 0);
        loaded[i] = tile_build_load_shared(b, peer, place, cut, a->types[i]);
    }
}

static void finish_pieces(split *s, tile_builder *b, const split_pieces *cut, tile_value part,
                          const tile_value *buffers, const tile_op *epilogue, unsigned count) {
    tile_function *f = s->f;
    tile_value *sums = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    peer_adder peers = {{s, load_peer}, cut, TILE_NO_VALUE, buffers, NULL};
    tile_builder body = split_open_pieces(s, cut, b, part, &peers.first);
    peers.types = TILE_NEW_ARRAY(s->pass->scratch, const tile_type *, s->count + 1);
    for (unsigned i = 0; i < s->count; i++)
        peers.types[i] = split_piece_type(s, cut, split_part_type(s, i));
    split_add_parts(&peers.base, &body, peers.types, sums);
    for (unsigned i = 0; i < s->count; i++) {
        const tile_type *own = tile_value_type(f, tile_op_result(f, s->loop, i));
        sums[i] = split_as_type(&body, sums[i], split_piece_type(s, cut, own));
    }
    split_copy_pieces(s, cut, &body, epilogue, count, peers.first, sums);
    tile_build_yield(&body, NULL, 0);
}

static void set_cluster(split *s) {
    const tile_expr *one = tile_expr_int(s->context, 1);
    const tile_expr *extents[] = {one, one, one};
    unsigned dim = split_dim(s);
    extents[dim] = tile_expr_int(s->context, s->factor);
    tile_function_set_cluster(s->f, dim + 1, extents);
    /* The cluster is one tile, and the result does not depend on which tiles are neighbors. */
    tile_function_set_raster(s->f, TILE_RASTER_NONE, NULL);
    tile_function_set_persistent(s->f, false, NULL);
}

tile_status split_cluster(split *s) {
    grid g;
    unsigned count;
    tile_value *buffers = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    split_distribute_parts(s, &g);
    set_cluster(s);
    tile_op *epilogue = split_take_epilogue(s, &count);
    split_pieces cut = split_choose_pieces(s, epilogue, count, s->factor);
    tile_builder b = split_before_epilogue(s, epilogue, count);
    publish_parts(s, &b, buffers);
    build_cluster_barrier(&b);
    finish_pieces(s, &b, &cut, g.part, buffers, epilogue, count);
    build_cluster_barrier(&b); /* a block's part must be read before the block exits */
    while (count-- > 0) tile_erase_op(s->f, epilogue[count]);
    return TILE_OK;
}
