/* tile-scheduler: applies `raster` order and turns a `persistent` kernel into a loop over tiles.
 *
 * Blocks that run at the same time share the L2: if their tiles are close together, they read the
 * same rows and columns. A persistent block is launched once for many tiles, and tiles of unequal
 * cost can be distributed so that all blocks finish at about the same time.
 *
 * level: 2 to 2
 * requires: instantiated
 * keeps: instantiated
 * breaks: laid_out, allocated, synchronised
 *
 * pipeline: tile-scheduler
 * before:
 *   kernel @copy(%n: i32, %x: ptr<f32>, %y: ptr<f32>)
 *       grid [ceildiv(%n, 64), 4]
 *       persistent
 *       warps 4
 *   {
 *     %b, %c, %z = block_id : i32
 *     %from = view %x, [%n, 256] : view<f32[?, 256]>
 *     %to = view %y, [%n, 256] : view<f32[?, 256]>
 *     %0 = mul %b, 64 : i32
 *     %1 = mul %c, 64 : i32
 *     %t = load %from[%0, %1] : tile<f32[64, 64]>
 *     store %t, %to[%0, %1]
 *   }
 *
 * after:
 *   kernel @copy(%n: i32, %x: ptr<f32>, %y: ptr<f32>)
 *       grid [select(ceildiv(%n, 64) * 4 > 1073741824, -1, min(ceildiv(%n, 64) * 4, num_sms))]
 *       warps 4
 *   {
 *     %0 = ceildiv %n, 64 : i32
 *     %1 = max %0, 1 : i32
 *     %2 = mul %1, 4 : i32
 *     %3, %4, %5 = block_id : i32
 *     %6, %7, %8 = grid_dim : i32
 *     %9 = div 2147483647, %1 : i32
 *     for %tile = %3 to %2 step %6 independent {
 *       %10 = cast %9 : i64
 *       %11 = cast %tile : i64
 *       %12 = mul %11, %10 : i64
 *       %13 = shr %12, i64(31) : i64
 *       %14 = cast %13 : i32
 *       %15 = mul %14, %1 : i32
 *       %16 = sub %tile, %15 : i32
 *       %17 = add %14, 1 : i32
 *       %18 = ge %16, %1 : i1
 *       %19 = select %18, %17, %14 : i32
 *       %20 = mul %19, %1 : i32
 *       %21 = sub %tile, %20 : i32
 *       %22 = sub %1, 1 : i32
 *       %23 = min %21, %22 : i32
 *       %24 = max %23, 0 : i32
 *       %25 = min %19, 3 : i32
 *       %26 = max %25, 0 : i32
 *       %from = view %x, [%n, 256] : view<f32[?, 256]>
 *       %to = view %y, [%n, 256] : view<f32[?, 256]>
 *       %27 = mul %24, 64 : i32
 *       %28 = mul %26, 64 : i32
 *       %t = load %from[%27, %28] : tile<f32[64, 64]>
 *       store %t, %to[%27, %28]
 *     }
 *   }
 *
 * Result. The body still sees the declared grid: block_id is the tile's coordinates, and grid_dim
 * the declared extents. The pass replaces block_id by a function of the tile's number that visits
 * every tile once for any extents (raster.h). The third dim varies slowest in every order. If one
 * tile has parts along z, the lower ones come first, so that a part may wait for lower ones.
 *
 * `raster` alone: the grid does not change. Blocks are numbered in the order in which the device
 * starts them, x first. If the numbers do not fit in 32 bits, block_id is not changed: any order is
 * correct. The blocks of a cluster stay together: clusters are visited in raster order.
 *
 * `persistent`: min(tiles, num_sms) blocks along x, one for each multiprocessor, which are all
 * resident at once. Each loops over the tiles, starting at its own number, in steps of the grid
 * size. The order is ascending, so that a tile may wait for earlier ones; with more blocks, one
 * that others wait for might not be resident. A tile begins after the copies of the previous tile
 * have completed.
 *
 * `persistent` with `cluster`: the same with clusters instead of blocks, at most num_sms / (blocks
 * of a cluster). How many clusters the device can hold at once is unknown, so no tile may wait for
 * another one.
 *
 * `persistent balanced by`: tiles are assigned in the order of their numbers, x first, each to the
 * block with the lowest total cost so far. The launch computes this assignment once for each shape.
 * Its table has, for each block, the position of its first tile, followed by the contiguous lists
 * of tile numbers, so that one memory access loads several. Blocks finish together if tiles that
 * share data have consecutive numbers and costly tiles come first. If the cost names no dim (a
 * constant argument may have selected such a cost), tiles are distributed round-robin, without a
 * table. */
#include "lib/analysis/executors.h"
#include "lib/ir/syntax.h"
#include "passes/common/host_value.h"
#include "passes/grid/grid.h"
#include "passes/grid/raster.h"
#include "passes/grid/tile_scheduler_check.h"

typedef struct tile_scheduler {
    grid g;
    tile_function *f;
    tile_context *context;
    int64_t group;
} tile_scheduler;

/* Clamps a coordinate that is in bounds, to make the bounds visible in the code. */
static tile_value clamp_to_extent(tile_builder *b, tile_value coordinate, tile_value extent) {
    int64_t known;
    bool constant = tile_value_is_int(b->function, extent, &known);
    if (constant && known == 1) return tile_build_int(b, 0);
    tile_value last =
        constant ? tile_build_int(b, known - 1) : tile_build_sub(b, extent, tile_build_int(b, 1));
    return tile_build_max(b, tile_build_min(b, coordinate, last), tile_build_int(b, 0));
}

/* Raster alone --------------------------------------------------------------------------------- */

/* Builds an i1: the numbers of the tiles along x and y fit an i32. Returns 0 if they always do;
 * *never: they never do. */
static tile_value numbers_fit(const tile_scheduler *w, tile_builder *b, const tile_value extent[2],
                              bool *never) {
    const tile_type *i64 = tile_type_scalar(w->context, TILE_i64);
    int64_t x, y;
    *never = false;
    if (tile_value_is_int(w->f, extent[0], &x) && tile_value_is_int(w->f, extent[1], &y)) {
        *never = x > INT32_MAX / y;
        return TILE_NO_VALUE;
    }
    tile_value columns = tile_build_cast(b, extent[1], i64);
    tile_value tiles = tile_build_mul(b, tile_build_cast(b, extent[0], i64), columns);
    return tile_build_le(b, tiles,
                         tile_build_constant(b, i64, tile_expr_int(w->context, INT32_MAX)));
}

/* If the grid is a single group of rows, blocks are already numbered in raster order, so they
 * divide nothing before their first copy. In clusters no branch is built: the coordinates must not
 * depend on one, or copies could not be shared. */
static void order_tiles(const tile_scheduler *w, tile_builder *b, tile_value number,
                        const tile_value at[2], const tile_value extent[2], tile_value way[2]) {
    tile_builder outer = *b, *inner = &outer;
    tile_function *f = w->f;
    tile_op fork = TILE_NO_OP;
    if (f->raster == TILE_RASTER_ROWS && !f->cluster_rank) {
        const tile_type *types[] = {tile_value_type(f, at[0]), tile_value_type(f, at[1])};
        tile_value many = tile_build_gt(b, extent[0], tile_build_int(b, w->group));
        fork = tile_build_if_else(b, many, types, 2);
        tile_builder one = tile_builder_at_end(f, tile_op_region(f, fork, 1));
        tile_build_yield(&one, at, 2);
        outer = tile_builder_in(b, fork, 0);
    } else {
        inner = b;
    }
    raster_order order = raster_plan(inner, f->raster, w->group, extent, false);
    raster_tile(inner, &order, number, way);
    if (!fork.id) return;
    tile_build_yield(inner, way, 2);
    for (unsigned d = 0; d < 2; d++) way[d] = tile_op_result(f, fork, d);
}

/* Orders whole clusters; without clusters, every block is one. */
static void order_blocks(tile_scheduler *w, tile_builder *b) {
    grid *g = &w->g;
    tile_value at[2], extent[3], way[2];
    bool never;
    if (!b->before.id) return;
    grid_find_block(g, b);
    grid_find_extents(g, b, tile_build_grid_dim(b), extent);
    for (unsigned d = 0; d < 2; d++) extent[d] = grid_divide(b, extent[d], g->cluster_extent[d]);
    for (unsigned d = 0; d < 2; d++) at[d] = grid_divide(b, g->block[d], g->cluster_extent[d]);
    tile_value fits = numbers_fit(w, b, extent, &never);
    if (never) return;
    tile_value number = tile_build_add(b, tile_build_mul(b, at[1], extent[0]), at[0]);
    if (fits.id) number = tile_build_select(b, fits, number, tile_build_int(b, 0));
    order_tiles(w, b, number, at, extent, way);
    for (unsigned d = 0; d < 3; d++) g->id[d] = g->block[d];
    for (unsigned d = 0; d < 2; d++) {
        way[d] = clamp_to_extent(b, way[d], extent[d]);
        way[d] = grid_block_of_rank(g, b, d, way[d], grid_rank_in_cluster(g, b, d));
        g->id[d] = fits.id ? tile_build_select(b, fits, way[d], g->id[d]) : way[d];
    }
    /* cluster_id changes in the same way as block_id. */
    for (unsigned d = 0; d < 3; d++) g->cluster[d] = grid_divide(b, g->id[d], g->cluster_extent[d]);
    grid_close(g);
}

/* Persistent ----------------------------------------------------------------------------------- */

/* Maps tile numbers to coordinates: x and y in raster order, then z. */
typedef struct numbering {
    raster_order order;
    raster_divisor tiles_per_z; /* number of tiles with the same z; none: there is one z */
} numbering;

/* b must be placed before the loop over tiles. */
static numbering plan_numbers(const tile_scheduler *w, tile_builder *b) {
    const grid *g = &w->g;
    numbering n = {.order = raster_plan(b, w->f->raster, w->group, g->extent, true)};
    bool flat = tile_value_is(w->f, g->extent[2], 1);
    if (!flat) n.tiles_per_z = raster_divide_by(b, grid_count_tiles(b, g->extent, 2), true);
    return n;
}

static void tile_of_number(tile_builder *b, const numbering *n, tile_value number, grid *g) {
    g->id[2] = tile_build_int(b, 0);
    if (n->tiles_per_z.value.id) {
        number = tile_build_max(b, number, tile_build_int(b, 0));
        g->id[2] = raster_quotient(b, number, &n->tiles_per_z);
        tile_value before = tile_build_mul(b, g->id[2], n->tiles_per_z.value);
        number = tile_build_sub(b, number, before);
    }
    raster_tile(b, &n->order, number, g->id);
    for (unsigned d = 0; d < 3; d++) g->id[d] = clamp_to_extent(b, g->id[d], g->extent[d]);
}

/* for %tile = %block to %tiles step %blocks {} */
static tile_op loop_in_order(tile_scheduler *w, tile_builder *b, tile_value block,
                             tile_value blocks, tile_value tiles, tile_builder *body) {
    const numbering n = plan_numbers(w, b);
    tile_op loop = tile_build_for_loop(b, block, tiles, blocks, NULL, 0);
    *body = tile_builder_at_end(w->f, tile_op_region(w->f, loop, 0));
    tile_value number = tile_region_arg(w->f, body->region, 0);
    tile_value_set_name(w->f, number, "tile");
    tile_of_number(body, &n, number, &w->g);
    return loop;
}

/* Loads entry `index` of the launch's table of tile assignments. */
static tile_value balanced_entry(const tile_scheduler *w, tile_builder *b, tile_value index) {
    tile_value entry = tile_build_tile_schedule(b, index, w->g.extent, 3);
    tile_op_set_expr(w->f, tile_value_def(w->f, entry), TILE_ATTR_cost, w->f->cost);
    return entry;
}

/* for %turn = first position of the block's tiles in the table to their end {} */
static tile_op loop_balanced(tile_scheduler *w, tile_builder *b, tile_value block,
                             tile_builder *body) {
    grid *g = &w->g;
    tile_value one = tile_build_int(b, 1), begin = balanced_entry(w, b, block);
    tile_value end = balanced_entry(w, b, tile_build_add(b, block, one));
    const numbering n = plan_numbers(w, b);
    tile_op loop = tile_build_for_loop(b, begin, end, one, NULL, 0);
    *body = tile_builder_at_end(w->f, tile_op_region(w->f, loop, 0));
    tile_value turn = tile_region_arg(w->f, body->region, 0);
    tile_value_set_name(w->f, turn, "turn");
    tile_value number = balanced_entry(w, body, turn);
    g->id[0] = clamp_to_extent(body, number, g->extent[0]);
    g->id[1] = g->id[2] = tile_build_int(body, 0);
    if (w->f->grid_rank > 1) tile_of_number(body, &n, number, g);
    return loop;
}

/* Counts clusters, or blocks without clusters. */
static const tile_expr *count_tiles(const grid *g) {
    const tile_expr *tiles = grid_expr(g, TILE_OP_div, g->f->grid[0], g->cluster_extent[0]);
    for (unsigned d = 1; d < g->f->grid_rank; d++) {
        const tile_expr *extent = grid_expr(g, TILE_OP_div, g->f->grid[d], g->cluster_extent[d]);
        bool one = tile_expr_is(extent, 1);
        if (!one) tiles = host_product(g->f, tiles, extent, TILE_MAX_TILES);
    }
    return tiles;
}

/* Whether the threads that execute the region start copies. Roles in it are executed by other
 * threads. */
static bool starts_copies(const tile_function *f, tile_region region) {
    TILE_FOR_EACH_OP (f, op, region) {
        const tile_op_info *info = tile_op_get_info(tile_op_opcode(f, op));
        if (info->completion == TILE_COMPLETION_STARTS &&
            tile_op_mechanism(f, op) == TILE_MECHANISM_GROUP)
            return true;
        bool roles = tile_op_opcode(f, op) == TILE_OP_roles;
        for (unsigned r = 0; !roles && r < tile_op_at(f, op)->region_count; r++)
            if (starts_copies(f, tile_op_region(f, op, r))) return true;
    }
    return false;
}

/* Copies in flight at the end of a block must complete before the block's next tile begins: the
 * threads that started them wait. */
static void end_copies(tile_function *f, tile_region region) {
    tile_builder b = tile_builder_at_end(f, region);
    bool waits = starts_copies(f, region);
    tile_op last = tile_region_at(f, region)->last;
    if (last.id && tile_op_effects(f, last) & TILE_EFFECT_TERMINATOR)
        b = tile_builder_before(f, last);
    if (waits) {
        tile_build_commit_group(&b);
        tile_build_wait_group(&b, tile_build_int(&b, 0));
    }
}

static void end_copies_of_roles(tile_function *f, tile_op roles) {
    for (unsigned r = 0; r < tile_op_at(f, roles)->region_count; r++)
        end_copies(f, tile_op_region(f, roles, r));
}

/* Converts coordinates of clusters to those of this block's tile in its cluster. */
static void place_in_cluster(grid *g, tile_builder *b) {
    for (unsigned d = 0; d < 3; d++) {
        g->cluster[d] = g->id[d];
        g->id[d] =
            grid_block_of_rank(g, b, d, g->id[d], d ? g->block[d] : grid_rank_in_cluster(g, b, d));
        if (g->cluster_extent[d] > 1)
            g->extent[d] = tile_build_mul(b, g->extent[d], tile_build_int(b, g->cluster_extent[d]));
    }
}

static void make_persistent(tile_scheduler *w, tile_builder *b) {
    tile_function *f = w->f;
    grid *g = &w->g;
    tile_builder body;
    b->loc = f->loc;
    /* 1. The declared grid, in units of clusters. */
    for (unsigned d = 0; d < 3; d++)
        g->extent[d] = grid_divide(b, grid_build_extent(g, b, d), g->cluster_extent[d]);
    tile_value tiles = grid_count_tiles(b, g->extent, 3);
    grid_find_block(g, b);
    tile_value block = grid_divide(b, g->block[0], g->cluster_extent[0]);
    tile_value blocks = grid_divide(b, tile_build_grid_dim(b), g->cluster_extent[0]);
    /* 2. The loop over tiles, and the tile of an iteration. */
    bool balanced = f->cost && tile_expr_holds(f->cost, TILE_EXPR_BLOCK_ID);
    tile_op loop = balanced ? loop_balanced(w, b, block, &body)
                            : loop_in_order(w, b, block, blocks, tiles, &body);
    place_in_cluster(g, &body);
    /* 3. The body of the loop. The author did not write this loop, so the pass orders one tile's
     *    writes to shared memory after the previous tile: its copies are waited for, and a barrier
     *    follows its reads. */
    grid_move_into_loop(f, loop);
    tile_op_set_flag(f, loop, TILE_ATTR_independent);
    TILE_FOR_EACH_OP_INSIDE (f, op, body.region)
        if (tile_op_opcode(f, op) == TILE_OP_roles) end_copies_of_roles(f, op);
    end_copies(f, body.region);
    if (f->sync_explicit) tile_build_sync_for(&body, tile_executors_of_block(f));
    tile_build_yield(&body, NULL, 0);
    grid_close(g);
    /* 4. The launched grid. */
    grid_launch(g, count_tiles(g), tile_expr_num_sms(w->context), TILE_TOO_MANY_TILES);
}

tile_status tile_pass_tile_scheduler(tile_pass *pass, tile_function *f) {
    tile_scheduler w = {.f = f, .context = pass->context, .group = 1};
    if (tile_scheduler_is_refused(pass, f)) return TILE_INVALID;
    if (f->raster_group) tile_expr_is_int(f->raster_group, &w.group);
    tile_builder b = grid_open(&w.g, pass, f);
    if (f->is_persistent)
        make_persistent(&w, &b);
    else if (f->raster)
        order_blocks(&w, &b);
    tile_pass_count(pass, "renamed", f->is_persistent || f->raster);
    tile_function_set_raster(f, TILE_RASTER_NONE, NULL);
    tile_function_set_persistent(f, false, NULL);
    return TILE_OK;
}
