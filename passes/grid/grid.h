/* The grid of a kernel while a pass changes which block computes which tile.
 *
 *     grid g;
 *     tile_builder b = grid_open(&g, pass, f);
 *     .. g.id, g.extent and, for clusters, g.cluster, from g.block ..
 *     .. the grid that is launched, f->grid ..
 *     grid_close(&g);
 *
 * Three clauses may change the grid, in this order: `split` distributes a tile's sum over blocks,
 * `persistent` lets a block visit many tiles, and `cluster` keeps blocks together through both.
 * After each pass, the body still sees the grid that the previous pass left. */
#ifndef TILE_PASSES_GRID_GRID_H
#define TILE_PASSES_GRID_GRID_H

#include "lib/analysis/grid_fit.h"
#include "passes/pass.h"

typedef struct grid {
    tile_pass *pass;
    tile_function *f;
    size_t old_ops;                   /* operations of the old body have smaller ids */
    int64_t cluster_extent[3], width; /* blocks of a cluster, by dim and in total */
    tile_value block[3];              /* the block's coordinates in the launched grid */
    tile_value id[3], extent[3];      /* replacements for block_id and grid_dim in the body */
    tile_value cluster[3];            /* and for cluster_id */
    tile_value part; /* which part of its tile's sum the block computes; none: the whole sum */
} grid;

/* Initializes g. Returns a builder before the existing body. */
tile_builder grid_open(grid *g, tile_pass *pass, tile_function *f);
/* Builds block_id: g->block. */
void grid_find_block(grid *g, tile_builder *b);
/* Builds the extents of the launched grid: constants where they are known, else results of
 * grid_dim.
 * dims: an existing grid_dim; none: one is built if needed. */
void grid_find_extents(const grid *g, tile_builder *b, tile_value dims, tile_value extent[3]);
/* Replaces the results of block_id, grid_dim and cluster_id in the old body by id, extent and
 * cluster, as far as these have been set. Erases the replaced operations; a builder placed before
 * one of them becomes invalid. */
void grid_close(const grid *g);

/* Builds a declared extent, an i32 clamped to at least 1: with less, no block exists. */
tile_value grid_build_extent(const grid *g, tile_builder *b, unsigned d);
/* Builds value / divisor for a nonnegative value; folds constants. */
tile_value grid_divide(tile_builder *b, tile_value value, int64_t divisor);
/* Builds the block's index in its cluster along dim d. */
tile_value grid_rank_in_cluster(const grid *g, tile_builder *b, unsigned d);
/* Builds coordinate d of the block with index `place` in a cluster: a sum of nonnegative numbers,
 * the form that TMA stores need. */
tile_value grid_block_of_rank(const grid *g, tile_builder *b, unsigned d, tile_value cluster,
                              tile_value place);
/* Fills all three results of the operation that defines `first`. */
void grid_take_results(const tile_builder *b, tile_value first, tile_value results[3]);
/* Builds the product of the first `count` extents, and x + extent(0) * (y + extent(1) * z). */
tile_value grid_count_tiles(tile_builder *b, const tile_value *extent, unsigned count);
tile_value grid_number_tile(const grid *g, tile_builder *b);

/* f->grid[d]; extends the grid to d + 1 dims. */
const tile_expr **grid_extent_at(tile_function *f, unsigned d);
/* op(value, by); the value if `by` is 1. */
const tile_expr *grid_expr(const grid *g, tile_opcode op, const tile_expr *value, int64_t by);
/* Launches min(count, max_blocks / blocks of a cluster) clusters (or blocks) along x, and one along
 * the other dims. excess: reported if there are too many tiles to count. */
void grid_launch(const grid *g, const tile_expr *count, const tile_expr *max_blocks,
                 tile_grid_excess excess);

/* Moves the operations that follow the loop to the end of its region. A `pdl_wait` that no other
 * effect precedes moves before the loop: the second one would have no effect. */
void grid_move_into_loop(tile_function *f, tile_op loop);

#endif
