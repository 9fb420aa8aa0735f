/* stream_k: factor x num_sms blocks compute one tile after another, like a persistent kernel. The
 * last round has fewer tiles than blocks, so these tiles are shared along k.
 *
 *     blocks 0 to 5, 15 tiles            time ->
 *       0   [=== tile 0 ===][=== tile 6 ===][tile 12:]
 *       1   [=== tile 1 ===][=== tile 7 ===][tile 13:]
 *       2   [=== tile 2 ===][=== tile 8 ===][tile 14:]
 *       3   [=== tile 3 ===][=== tile 9 ===][:tile 12]
 *       4   [=== tile 4 ===][=== tile 10 ==][:tile 13]
 *       5   [=== tile 5 ===][=== tile 11 ==][:tile 14]
 *
 * Remaining tiles get equal numbers of blocks, at least two. If there are only three blocks for two
 * tiles, the second of the three has the end of one tile and the beginning of the other. With fewer
 * blocks nothing is shared. (In the paper, each block has an equal share of all iterations. But
 * then all blocks are at different positions of k, so they share no data in the L2. On an H200,
 * 6144 x 4096 x 9216 took 764 us this way, and 593 us without sharing.) More blocks have more parts
 * to add, one after another, so a tile of n iterations has at most sqrt(n / 2) blocks.
 *
 * A block that has all iterations of a tile continues with the code after the loop. Otherwise it
 * stores its part. The last block to finish a tile adds the parts, in the order of k, and
 * continues. No block waits, and the order of additions does not depend on which block is last. A
 * block has parts of at most two tiles, its first and its last one, so scratch has room for two
 * parts per block.
 *
 * The first block of a tile gets some more iterations, so that it usually finishes last. It tests
 * the counter before it stores: if all others have stored their parts, its own part stays in
 * registers. If the last block adds that part later instead, the result has the same bits. Measured
 * on an H200 with 128 x 256 tiles: 4864^3 takes 298 us instead of 315 us, 3072^3 takes 87 us
 * instead of 102 us, and with clusters of two 3000^3 takes 94 us instead of 109 us.
 *
 * With clusters, all of this applies to clusters instead of blocks. The blocks of a cluster have
 * neighboring tiles, and the same share of them, so that they can share copies.
 *
 * Source: Osama et al., Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix
 * Multiplication on the GPU, PPoPP 2023. */
#include "lib/analysis/executors.h"
#include "passes/common/host_value.h"
#include "passes/grid/raster.h"
#include "passes/split/stream.h"

enum {
    MIN_SHARED = 8, /* least iterations of a tile for sharing */
    LEAD = 256,     /* additional elements of k for a tile's first block */
};

const char *split_stream_k_rejects(const split *s) {
    for (unsigned i = 0; i < 3; i++)
        if (!tile_value_as_expr(s->f, tile_op_operand(s->f, s->loop, i)))
            return "its bounds are not the same for all tiles, over the kernel's arguments";
    return NULL;
}

static tile_value bound(stream *t, tile_builder *b, unsigned i) {
    tile_value value = tile_op_operand(t->f, t->s->loop, i);
    return host_value_cast(b, host_value(b, tile_value_as_expr(t->f, value)), TILE_i32);
}

static tile_value number(tile_builder *b, int64_t value) {
    return tile_build_int(b, value);
}

/* The grid ------------------------------------------------------------------------------------- */

static const tile_expr *op_of(const stream *t, tile_opcode opcode, const tile_expr *a,
                              const tile_expr *b) {
    return tile_expr_op(t->s->context, opcode, a, b, NULL);
}

/* Iterations of all tiles. */
static const tile_expr *count_all(const stream *t) {
    const tile_expr *bounds[3], *total, *one = tile_expr_int(t->s->context, 1);
    for (unsigned i = 0; i < 3; i++)
        bounds[i] = tile_value_as_expr(t->f, tile_op_operand(t->f, t->s->loop, i));
    total = op_of(t, TILE_OP_sub, bounds[1], bounds[0]);
    total = op_of(t, TILE_OP_max, op_of(t, TILE_OP_ceildiv, total, bounds[2]), one);
    for (unsigned d = 0; d < t->f->grid_rank; d++)
        total = host_product(
            t->f, total, grid_expr(&t->g, TILE_OP_ceildiv, t->f->grid[d], t->g.cluster_extent[d]),
            TILE_MAX_TILES);
    return total;
}

static void find_extents(stream *t, tile_builder *b) {
    for (unsigned d = 0; d < 3; d++) {
        int64_t known, cluster_extent = t->g.cluster_extent[d];
        tile_value extent = t->g.extent[d] = t->extent[d] = grid_build_extent(&t->g, b, d);
        if (cluster_extent == 1) continue;
        t->extent[d] = tile_value_is_int(t->f, extent, &known)
                           ? number(b, (known + cluster_extent - 1) / cluster_extent)
                           : tile_build_ceildiv(b, extent, number(b, cluster_extent));
    }
}

/* Shares -------------------------------------------------------------------------------------- */

/* The begin of a member's share, counted from the group's first tile. */
static tile_value cut(stream *t, tile_builder *b, tile_value member) {
    tile_value more = tile_build_min(b, member, t->larger);
    tile_value at = tile_build_add(b, tile_build_mul(b, member, t->share), more);
    at = tile_build_add(b, at, t->lead);
    return tile_build_select(b, tile_build_gt(b, member, number(b, 0)), at, number(b, 0));
}

/* The maximum number of blocks for a tile: n blocks need 2 * n * n iterations. */
static tile_value most_members(stream *t, tile_builder *b) {
    static const int some[] = {2, 3, 4, 5, 6, 8, 10, 12, 16};
    tile_value most = number(b, 1);
    for (unsigned i = 0; i < sizeof some / sizeof *some; i++) {
        tile_value enough = tile_build_ge(b, t->length, number(b, 2 * some[i] * some[i]));
        most = tile_build_select(b, enough, number(b, some[i]), most);
    }
    return most;
}

/* Additional iterations of the first block of a tile. */
static tile_value find_lead(stream *t, tile_builder *b) {
    int64_t step = LEAD;
    tile_value_is_int(t->f, t->step, &step);
    int64_t lead = step < 1 || step > LEAD ? 1 : LEAD / step;
    return tile_build_min(b, number(b, lead), tile_build_div(b, t->length, number(b, 8)));
}

/* Groups of blocks that share one or two tiles each. The members of a group are as far apart as the
 * number of groups, so that blocks at the same position of k have neighboring tiles. */
static void find_group(stream *t, tile_builder *b, tile_value left) {
    tile_value zero = number(b, 0), one = number(b, 1), two = number(b, 2), three = number(b, 3);
    tile_value fit = tile_build_div(b, t->units, tile_build_max(b, left, one));
    tile_value each = tile_build_max(b, tile_build_min(b, fit, most_members(t, b)), one);
    tile_value couples = tile_build_ceildiv(b, left, two);
    tile_value fewer = tile_build_le(b, tile_build_mul(b, couples, three), t->units);
    tile_value longer = tile_build_ge(b, t->length, number(b, MIN_SHARED));
    tile_value alone = tile_build_lt(b, fit, two);
    tile_value pairs = tile_build_and(b, alone, tile_build_and(b, fewer, longer));
    t->members = tile_build_select(b, pairs, three, each);
    t->groups = tile_build_select(b, pairs, couples, left);
    t->groups = tile_build_max(b, t->groups, one);
    t->member = tile_build_div(b, t->unit, t->groups);
    t->group = tile_build_rem(b, t->unit, t->groups);
    tile_value second = tile_build_lt(b, tile_build_add(b, t->groups, t->group), left);
    t->has_two = tile_build_and(b, pairs, second);
    t->lead = tile_build_select(b, tile_build_eq(b, t->members, one), zero, find_lead(t, b));
    t->lead = tile_build_select(b, t->has_two, zero, t->lead);
}

/* Iterations of one tile. Their number fits an i32, otherwise nothing is launched, but the span
 * from begin to end may not. */
static tile_value count_iterations(const stream *t, tile_builder *b) {
    bool from_zero = tile_value_is(t->f, t->begin, 0);
    if (from_zero) return tile_build_ceildiv(b, tile_build_sub(b, t->end, t->begin), t->step);
    tile_value span = tile_build_sub(b, host_value_cast(b, t->end, TILE_i64),
                                     host_value_cast(b, t->begin, TILE_i64));
    tile_value count = tile_build_ceildiv(b, span, host_value_cast(b, t->step, TILE_i64));
    return host_value_cast(b, count, TILE_i32);
}

static void find_share(stream *t, tile_builder *b) {
    grid *g = &t->g;
    grid_find_block(g, b);
    tile_value dims = tile_build_grid_dim(b), zero = number(b, 0), one = number(b, 1);
    /* 1. This cluster's number, the number of clusters, and the block's coordinates in its
     *    cluster. */
    for (unsigned d = 0; d < 3; d++) t->place[d] = d ? g->block[d] : grid_rank_in_cluster(g, b, d);
    t->unit = grid_divide(b, g->block[0], g->cluster_extent[0]);
    t->units = grid_divide(b, dims, g->cluster_extent[0]);
    if (g->width > 1) t->rank = tile_build_cluster_rank(b);
    /* 2. Tiles that it computes alone. */
    t->length = tile_build_max(b, count_iterations(t, b), one);
    tile_value tiles = t->tiles = grid_count_tiles(b, t->extent, 3);
    t->turns = tile_build_div(b, tiles, t->units);
    tile_value left = tile_build_sub(b, tiles, tile_build_mul(b, t->turns, t->units));
    /* 3. Its share of the remaining tiles. */
    find_group(t, b, left);
    tile_value twice = tile_build_mul(b, t->length, number(b, 2));
    tile_value total = tile_build_select(b, t->has_two, twice, t->length);
    total = tile_build_sub(b, total, t->lead);
    t->share = tile_build_div(b, total, t->members);
    t->larger = tile_build_sub(b, total, tile_build_mul(b, t->share, t->members));
    tile_value some = tile_build_and(b, tile_build_lt(b, t->member, t->members),
                                     tile_build_lt(b, t->group, left));
    t->from = tile_build_select(b, some, cut(t, b, t->member), zero);
    t->to = tile_build_select(b, some, cut(t, b, tile_build_add(b, t->member, one)), zero);
    t->first = tile_build_div(b, t->from, t->length);
}

/* The tiles ------------------------------------------------------------------------------------ */

static tile_value inside(tile_builder *b, tile_value coordinate, tile_value extent) {
    tile_value last = tile_build_sub(b, extent, number(b, 1));
    return tile_build_min(b, tile_build_max(b, coordinate, number(b, 0)), last);
}

/* Before the loop over tiles: computes loop-invariant values. */
static raster_order plan_order(stream *t, tile_builder *b) {
    int64_t group = 1;
    bool flat = tile_value_is(t->f, t->extent[2], 1);
    if (t->f->raster_group) tile_expr_is_int(t->f->raster_group, &group);
    if (!flat) t->tiles_per_z = tile_build_mul(b, t->extent[0], t->extent[1]);
    return raster_plan(b, t->f->raster, group, t->extent, true);
}

/* Blocks that round the grid up to whole clusters do the same as the nearest block of the grid and
 * discard the sums. */
static void place_in_cluster(stream *t, tile_builder *b) {
    grid *g = &t->g;
    for (unsigned d = 0; d < 3; d++) {
        g->id[d] = grid_block_of_rank(g, b, d, g->cluster[d], t->place[d]);
        if (g->cluster_extent[d] == 1) continue;
        tile_value is_one = tile_build_lt(b, g->id[d], g->extent[d]);
        t->in_grid = t->in_grid.id ? tile_build_and(b, t->in_grid, is_one) : is_one;
        g->id[d] = inside(b, g->id[d], g->extent[d]);
    }
}

/* The tile of a turn, and the range of its iterations that this block runs. */
static void find_tile(stream *t, tile_builder *b, const raster_order *order, tile_value turn) {
    tile_value *cluster = t->g.cluster;
    tile_value alone = tile_build_lt(b, turn, t->turns), zero = number(b, 0);
    tile_value before = tile_build_mul(b, tile_build_min(b, turn, t->turns), t->units);
    t->shared = tile_build_add(b, t->first, tile_build_sub(b, turn, t->turns));
    tile_value left = tile_build_add(b, tile_build_mul(b, t->shared, t->groups), t->group);
    t->tile = tile_build_add(b, before, tile_build_select(b, alone, t->unit, left));
    tile_value_set_name(t->f, t->tile, "tile");
    tile_value base = tile_build_mul(b, t->shared, t->length);
    t->low = tile_build_max(b, tile_build_sub(b, t->from, base), zero);
    t->high = tile_build_min(b, tile_build_sub(b, t->to, base), t->length);
    t->low = tile_build_select(b, alone, zero, t->low);
    t->high = tile_build_select(b, alone, t->length, t->high);
    tile_value rest = t->tile;
    cluster[2] = zero;
    if (t->tiles_per_z.id) {
        rest = tile_build_rem(b, t->tile, t->tiles_per_z);
        cluster[2] = inside(b, tile_build_div(b, t->tile, t->tiles_per_z), t->extent[2]);
    }
    raster_tile(b, order, rest, cluster);
    for (unsigned d = 0; d < 2; d++) cluster[d] = inside(b, cluster[d], t->extent[d]);
    place_in_cluster(t, b);
}

/* for %turn = 0 to the number of the block's tiles {}, with the kernel's previous body */
static tile_builder loop_over_tiles(stream *t, tile_builder *b) {
    tile_function *f = t->f;
    tile_value some = tile_build_gt(b, t->to, t->from);
    raster_order order = plan_order(t, b);
    tile_value end = tile_build_sub(b, tile_build_ceildiv(b, t->to, t->length), t->first);
    end = tile_build_add(b, t->turns, tile_build_select(b, some, end, number(b, 0)));
    tile_op tiles = tile_build_for_loop(b, number(b, 0), end, number(b, 1), NULL, 0);
    tile_op_set_flag(f, tiles, TILE_ATTR_independent);
    tile_builder body = tile_builder_in(b, tiles, 0);
    tile_value turn = tile_region_arg(f, body.region, 0);
    tile_value_set_name(f, turn, "turn");
    find_tile(t, &body, &order, turn);
    grid_move_into_loop(f, tiles);
    grid_close(&t->g);
    return body;
}

static void shorten_loop(stream *t) {
    tile_function *f = t->f;
    tile_builder b = tile_builder_before(f, t->s->loop);
    tile_value begin = tile_build_add(&b, t->begin, tile_build_mul(&b, t->low, t->step));
    tile_value end = tile_build_add(&b, t->begin, tile_build_mul(&b, t->high, t->step));
    /* Not the minimum of the two: the variable after the last iteration may exceed an i32. */
    end = tile_build_select(&b, tile_build_lt(&b, t->high, t->length), end, t->end);
    tile_value *bounds = tile_op_at(f, t->s->loop)->operands;
    bounds[0] = begin;
    bounds[1] = end;
    tile_op_remove_attr(f, t->s->loop, TILE_ATTR_split);
    tile_op_remove_attr(f, t->s->loop, TILE_ATTR_strategy);
}

tile_status split_stream_k(split *s) {
    tile_function *f = s->f;
    stream t = {.s = s, .f = f};
    unsigned count;
    tile_value *totals = TILE_NEW_ARRAY(s->pass->scratch, tile_value, s->count + 1);
    tile_builder b = grid_open(&t.g, s->pass, f);
    b.loc = tile_op_loc(f, s->loop);
    /* 1. The tiles that this block computes alone, and its share of the others. */
    find_extents(&t, &b);
    t.begin = bound(&t, &b, 0);
    t.end = bound(&t, &b, 1);
    t.step = bound(&t, &b, 2);
    const tile_expr *factor = tile_expr_int(s->context, s->factor);
    const tile_expr *max_blocks = op_of(&t, TILE_OP_mul, tile_expr_num_sms(s->context), factor);
    grid_launch(&t.g, count_all(&t), max_blocks, TILE_TOO_MANY_ITERATIONS);
    find_share(&t, &b);
    split_stream_scratch(&t, &b);
    /* 2. The loop over the block's tiles. */
    tile_builder body = loop_over_tiles(&t, &b);
    shorten_loop(&t);
    /* 3. The code after the loop, for complete sums. */
    tile_op *epilogue = split_take_epilogue(s, &count);
    b = split_before_epilogue(s, epilogue, count);
    tile_value keep_going = split_stream_sum(&t, &b, totals);
    if (t.in_grid.id) keep_going = tile_build_and(&b, keep_going, t.in_grid);
    split_branch branch = split_begin_branch(&b, keep_going, NULL, 0);
    split_finish(s, &branch.yes, epilogue, count, totals);
    tile_build_yield(&branch.yes, NULL, 0);
    tile_build_yield(&branch.no, NULL, 0);
    body = tile_builder_at_end(f, body.region);
    body.loc = b.loc;
    tile_build_yield(&body, NULL, 0);
    tile_function_set_raster(f, TILE_RASTER_NONE, NULL);
    tile_function_set_persistent(f, false, NULL);
    return TILE_OK;
}
