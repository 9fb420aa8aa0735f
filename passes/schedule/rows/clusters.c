/* Rows that no tile of one block holds, in the tiles of a cluster's blocks.
 *
 * A norm or softmax needs the statistics of a row before it can compute the row's results. A block
 * that goes along the row reads it once for each, and by then it has left the caches: at 256 KB a
 * row, the rows of all blocks take more than the L2. So the blocks of a cluster each hold a part of
 * the row in registers. For each statistic, they exchange one number through shared memory:
 *
 *     block 0   load   reduce, store_shared | load_shared from all, combine .. | store
 *     block 1   load   reduce, store_shared | load_shared from all, combine .. | store
 *                                    cluster barrier                      cluster barrier
 *
 * The last barrier keeps the shared memory of each block until all others have read it. Blocks
 * combine the parts in the order of the row, so that all get the same bits. */
#include "lib/ir/syntax.h"
#include "passes/schedule/rows/rows.h"

enum { FEW_ROWS = 64 };

bool rows_fit_cluster(const rows *r, int beside) {
    const int64_t count = rows_count_others(r, -1, 1);
    bool again = r->last_loop > 1 || rows_has_long_output(r) ||
                 (r->last > 1 && count >= 0 && count <= FEW_ROWS);
    bool fits = beside < (int)r->axis && again && !rows_must_split(r);
    for (size_t i = 0; i < r->k.g->reduction_count && fits; i++)
        fits = sched_fits_cluster(r->k.s, rows_op(r, i), r->known);
    return fits;
}

/* The parts of one reduction. */
static tile_value publish(rows *r, tile_value part) {
    tile_type draft = *tile_value_type(r->k.f, part);
    draft.kind = TILE_TYPE_SHARED;
    draft.layout = NULL;
    tile_value buffer = tile_build_alloc_shared(&r->k.b, tile_type_get(r->k.s->context, &draft));
    tile_build_store_shared(&r->k.b, part, buffer, NULL, 0);
    return buffer;
}

static tile_value combine_parts(rows *r, size_t index, tile_value buffer, const tile_type *type,
                                int blocks) {
    tile_value all = TILE_NO_VALUE;
    for (int i = 0; i < blocks && !r->k.s->failed; i++) {
        tile_value peer = tile_build_map_shared(&r->k.b, buffer, tile_build_int(&r->k.b, i));
        tile_value part = tile_build_load_shared(&r->k.b, peer, NULL, 0, type);
        all = i ? rows_combine(r, index, all, part) : part;
    }
    return all;
}

static void build_level(rows *r, unsigned level, int blocks) {
    tile_builder *b = &r->k.b;
    size_t count = r->k.g->reduction_count;
    tile_value *buffers = TILE_NEW_ARRAY(r->k.s->arena, tile_value, count);
    const tile_type **types = TILE_NEW_ARRAY(r->k.s->arena, const tile_type *, count);
    for (size_t i = 0; i < count && !r->k.s->failed; i++) {
        if (r->levels[i] != level) continue;
        tile_value elements = rows_elements_of(r, i);
        if (!elements.id) return;
        tile_op op = rows_build_along(r, TILE_OP_reduce, elements, rows_op(r, i));
        types[i] = tile_value_type(r->k.f, tile_op_result(r->k.f, op, 0));
        buffers[i] = publish(r, tile_op_result(r->k.f, op, 0));
    }
    tile_build_cluster_arrive(b);
    tile_build_cluster_wait(b);
    for (size_t i = 0; i < count && !r->k.s->failed; i++)
        if (r->levels[i] == level)
            rows_remember_results(r, i, combine_parts(r, i, buffers[i], types[i], blocks),
                                  TILE_NO_VALUE);
}

/* One block stores what the row has one of. */
static void store_of_row(rows *r, tile_value rank) {
    sched_kernel *k = &r->k;
    bool any = false;
    for (size_t i = 0; i < k->g->output_count; i++) any |= !rows_is_long(r, &k->g->outputs[i]);
    if (!any) return;
    const tile_builder outside = k->b;
    tile_value first = tile_build_eq(&k->b, rank, tile_build_int(&k->b, 0));
    tile_op branch = tile_build_if_else(&k->b, first, NULL, 0);
    k->b = tile_builder_at_end(k->f, tile_op_region(k->f, branch, 1));
    tile_build_yield(&k->b, NULL, 0);
    k->b = tile_builder_at_end(k->f, tile_op_region(k->f, branch, 0));
    size_t mark = sched_enter(k);
    rows_store_outputs(r, true);
    sched_leave(k, mark);
    tile_build_yield(&k->b, NULL, 0);
    k->b = outside;
}

static void build(rows *r, int blocks) {
    sched_kernel *k = &r->k;
    size_t mark = sched_enter(k);
    tile_value rank = tile_build_cluster_rank(&k->b);
    k->start[r->axis] = tile_build_mul(&k->b, rank, sched_number(k, k->block[r->t]));
    for (unsigned level = 1; level <= r->last && !k->s->failed; level++)
        build_level(r, level, blocks);
    tile_build_cluster_arrive(&k->b);
    store_of_row(r, rank);
    rows_store_outputs(r, false);
    tile_build_cluster_wait(&k->b);
    sched_leave(k, mark);
}

/* The number of blocks: as many as hold the row, and more for few rows. */
static int count_blocks(const rows *r) {
    enum { BUSY = 264 /* blocks: two for each multiprocessor */ };
    const int64_t count = rows_count_others(r, -1, 1);
    int blocks = 2;
    while (blocks < SCHED_CLUSTER &&
           (blocks * SCHED_PART_OF_ROW < r->known || (count >= 0 && count * blocks < BUSY)))
        blocks *= 2;
    return blocks;
}

void rows_build_clusters(rows *r, int beside) {
    enum { PER_WARP = 128 };
    sched_kernel *k = &r->k;
    const int blocks = count_blocks(r), unit = 8 * PER_WARP;
    const int part = (int)((r->known + blocks - 1) / blocks);
    const int warps = part > SCHED_PART_OF_ROW / 2 ? 16 : 8, points[] = {warps, warps / 2};
    const tile_expr *params[] = {sched_add_param(k, "num_warps")},
                    *cluster = tile_expr_int(k->s->context, blocks);
    rows_set_tiles(r, beside, tile_expr_int(k->s->context, 1),
                   tile_expr_int(k->s->context, (part + unit - 1) / unit * unit));
    sched_add_tune(k, params, 1, points, 2);
    sched_set_warps(k, params[0]);
    const tile_expr *grid =
        tile_expr_multiply(k->s->context, sched_count_tiles(k, (int)r->axis), cluster);
    tile_function_set_grid(k->f, 1, &grid);
    tile_function_set_cluster(k->f, 1, &cluster);
    sched_place_tiles(k, (int)r->axis,
                      tile_build_div(&k->b, tile_build_block_id(&k->b), sched_number(k, cluster)));
    r->copies = (unsigned)blocks; /* all tiles together cover the row */
    rows_choose_pad(r);
    build(r, blocks);
}
