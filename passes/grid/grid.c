#include "passes/grid/grid.h"

#include "lib/analysis/memory.h"
#include "lib/ir/syntax.h"
#include "passes/common/host_value.h"

/* Opening and closing -------------------------------------------------------------------------- */

tile_builder grid_open(grid *g, tile_pass *pass, tile_function *f) {
    *g = (grid){.pass = pass, .f = f, .old_ops = f->op_count};
    g->width = tile_grid_cluster_blocks(f, 3);
    for (unsigned d = 0; d < 3; d++) g->cluster_extent[d] = tile_grid_cluster_extent(f, d);
    tile_op first = tile_region_first(f, f->body);
    return first.id ? tile_builder_before(f, first) : tile_builder_at_end(f, f->body);
}

void grid_take_results(const tile_builder *b, tile_value first, tile_value results[3]) {
    tile_op op = tile_value_def(b->function, first);
    for (unsigned d = 0; d < 3; d++) results[d] = tile_op_result(b->function, op, d);
}

void grid_find_block(grid *g, tile_builder *b) {
    grid_take_results(b, tile_build_block_id(b), g->block);
}

void grid_find_extents(const grid *g, tile_builder *b, tile_value dims, tile_value extent[3]) {
    const tile_function *f = g->f;
    tile_value all[3];
    for (unsigned d = 0; d < 3; d++) {
        int64_t known = 1;
        bool open = d < f->grid_rank &&
                    (!tile_expr_is_int(f->grid[d], &known) || known < 1 || known > INT32_MAX);
        if (open && !dims.id) dims = tile_build_grid_dim(b);
        if (open) grid_take_results(b, dims, all);
        extent[d] = open ? all[d] : tile_build_int(b, known);
    }
}

/* The replacements for the operation's results; NULL: it stays. */
static const tile_value *new_results(const grid *g, tile_op op) {
    tile_opcode opcode = tile_op_opcode(g->f, op);
    const tile_value *to = opcode == TILE_OP_block_id     ? g->id
                           : opcode == TILE_OP_grid_dim   ? g->extent
                           : opcode == TILE_OP_cluster_id ? g->cluster
                                                          : NULL;
    return to && to[0].id ? to : NULL;
}

void grid_close(const grid *g) {
    tile_function *f = g->f;
    tile_value *map = TILE_NEW_ARRAY(g->pass->scratch, tile_value, f->value_count);
    for (tile_op op = {1}; op.id < g->old_ops; op.id++) {
        const tile_value *to = new_results(g, op);
        for (unsigned d = 0; to && d < tile_op_result_count(f, op); d++)
            map[tile_op_result(f, op, d).id] = to[d];
    }
    tile_replace_values(f, f->body, map);
    for (tile_op op = {1}; op.id < g->old_ops; op.id++)
        if (new_results(g, op)) tile_erase_op(f, op);
}

/* Values --------------------------------------------------------------------------------------- */

tile_value grid_build_extent(const grid *g, tile_builder *b, unsigned d) {
    int64_t known;
    if (d >= g->f->grid_rank) return tile_build_int(b, 1);
    if (tile_expr_is_int(g->f->grid[d], &known))
        return tile_build_int(b, known < 1 ? 1 : known > INT32_MAX ? INT32_MAX : known);
    tile_value extent = host_value_cast(b, host_value(b, g->f->grid[d]), TILE_i32);
    return tile_build_max(b, extent, tile_build_int(b, 1));
}

tile_value grid_divide(tile_builder *b, tile_value value, int64_t divisor) {
    int64_t known;
    if (divisor == 1) return value;
    if (tile_value_is_int(b->function, value, &known)) return tile_build_int(b, known / divisor);
    return tile_build_div(b, value, tile_build_int(b, divisor));
}

tile_value grid_rank_in_cluster(const grid *g, tile_builder *b, unsigned d) {
    if (g->cluster_extent[d] == 1) return g->block[d];
    return tile_build_rem(b, g->block[d], tile_build_int(b, g->cluster_extent[d]));
}

tile_value grid_block_of_rank(const grid *g, tile_builder *b, unsigned d, tile_value cluster,
                              tile_value place) {
    if (g->cluster_extent[d] == 1) return cluster;
    return tile_build_add(b, tile_build_mul(b, cluster, tile_build_int(b, g->cluster_extent[d])),
                          place);
}

tile_value grid_count_tiles(tile_builder *b, const tile_value *extent, unsigned count) {
    tile_value tiles = extent[0];
    for (unsigned d = 1; d < count; d++) {
        if (tile_value_is(b->function, extent[d], 1)) continue;
        tiles =
            tile_value_is(b->function, tiles, 1) ? extent[d] : tile_build_mul(b, tiles, extent[d]);
    }
    return tiles;
}

tile_value grid_number_tile(const grid *g, tile_builder *b) {
    tile_value number = g->id[2];
    for (unsigned d = 2; d-- > 0;) {
        if (tile_value_is(b->function, g->extent[d], 1)) continue;
        number = tile_value_is(b->function, number, 0)
                     ? g->id[d]
                     : tile_build_add(b, tile_build_mul(b, number, g->extent[d]), g->id[d]);
    }
    return number;
}

/* Launched grid -------------------------------------------------------------------------------- */

const tile_expr **grid_extent_at(tile_function *f, unsigned d) {
    while (f->grid_rank <= d) f->grid[f->grid_rank++] = tile_expr_int(tile_function_context(f), 1);
    return &f->grid[d];
}

const tile_expr *grid_expr(const grid *g, tile_opcode op, const tile_expr *value, int64_t by) {
    tile_context *context = g->pass->context;
    return by == 1 ? value : tile_expr_op(context, op, value, tile_expr_int(context, by), NULL);
}

void grid_launch(const grid *g, const tile_expr *count, const tile_expr *max_blocks,
                 tile_grid_excess excess) {
    tile_function *f = g->f;
    tile_context *context = g->pass->context;
    if (g->width > 1)
        max_blocks =
            tile_expr_op(context, TILE_OP_max, grid_expr(g, TILE_OP_div, max_blocks, g->width),
                         tile_expr_int(context, 1), NULL);
    const tile_expr *blocks = tile_expr_op(context, TILE_OP_min, count, max_blocks, NULL);
    blocks = grid_expr(g, TILE_OP_mul, blocks, g->cluster_extent[0]);
    f->grid[0] = tile_grid_count(context, count, blocks, excess);
    f->grid_rank = 1;
    for (unsigned d = 1; d < 3; d++)
        if (g->cluster_extent[d] > 1)
            *grid_extent_at(f, d) = tile_expr_int(context, g->cluster_extent[d]);
}

/* A block waits for the previous launch once, before its first tile. A producer's copies may run
 * ahead of the tiles only after this wait. A wait after other effects keeps its place. */
static void leave_wait_before(tile_function *f, tile_op loop) {
    for (tile_op op = tile_op_next(f, loop), next; op.id; op = next) {
        tile_access accesses[TILE_MAX_ACCESSES];
        next = tile_op_next(f, op);
        if (tile_op_opcode(f, op) == TILE_OP_pdl_wait)
            tile_move_op(f, op, f->body, loop);
        else if (tile_op_effects(f, op) & ~(unsigned)TILE_EFFECT_ALLOC ||
                 tile_op_accesses(f, op, accesses))
            break;
    }
}

void grid_move_into_loop(tile_function *f, tile_op loop) {
    leave_wait_before(f, loop);
    for (tile_op op = tile_op_next(f, loop), next; op.id; op = next) {
        next = tile_op_next(f, op);
        tile_move_op(f, op, tile_op_region(f, loop, 0), TILE_NO_OP);
    }
}
