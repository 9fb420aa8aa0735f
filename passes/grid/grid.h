/* A kernel's grid while a pass changes which block computes what.
 *
 *     grid g;
 *     tile_builder b = grid_open(&g, pass, f);
 *     .. g.id, g.extent and, for clusters, g.cluster, from g.block ..
 *     .. the grid that is launched, f->grid ..
 *     grid_close(&g);
 *
 * Three clauses may ask for it one after the other: `split` deals a tile's sum out over blocks,
 * `persistent` has blocks visit many tiles, and `cluster` keeps blocks together through both. Each
 * pass leaves a body that sees the grid of the pass before. */
#ifndef TILE_PASSES_GRID_GRID_H
#define TILE_PASSES_GRID_GRID_H

#include "lib/analysis/grid_fit.h"
#include "passes/pass.h"

typedef struct grid {
    tile_pass *pass;
    tile_function *f;
    size_t old_ops;                   /* the operations of the body as it was have ids below */
    int64_t cluster_extent[3], width; /* blocks of a cluster, by dim and in all */
    tile_value block[3];              /* where the block stands in the grid that is launched */
    tile_value id[3], extent[3];      /* what the body gets for block_id and grid_dim */
    tile_value cluster[3];            /* and for cluster_id */
    tile_value part; /* which part of its tile's sum the block has; none: all of it */
} grid;

/* Fills in the facts; the builder is placed before the existing body. */
tile_builder grid_open(grid *g, tile_pass *pass, tile_function *f);
/* Builds block_id: g->block. */
void grid_find_block(grid *g, tile_builder *b);
/* Builds the extents of the grid that is launched, from grid_dim as far as they are no numbers.
 * dims: a grid_dim; none: one is built if it is needed. */
void grid_find_extents(const grid *g, tile_builder *b, tile_value dims, tile_value extent[3]);
/* id, extent and cluster, those that have been found, take the place of what operations of the old
 * body give. These are erased, and a builder placed before one is invalid afterwards. */
void grid_close(const grid *g);

/* An extent as it is written, an i32 of at least 1: otherwise there is no block that could ask. */
tile_value grid_build_extent(const grid *g, tile_builder *b, unsigned d);
/* Builds value / divisor of what is not negative; a number becomes a number. */
tile_value grid_divide(tile_builder *b, tile_value value, int64_t divisor);
/* Builds the block's place in its cluster along dim d. */
tile_value grid_rank_in_cluster(const grid *g, tile_builder *b, unsigned d);
/* Builds coordinate d of the block with this place in a cluster: a sum of numbers that are not
 * negative, as stores by TMA want it. */
tile_value grid_block_of_rank(const grid *g, tile_builder *b, unsigned d, tile_value cluster,
                              tile_value place);
/* All three results of the operation that gives `first`. */
void grid_take_results(const tile_builder *b, tile_value first, tile_value results[3]);
/* Builds the product of the first `count` of the extents, and x + extent(0) * (y + extent(1) * z).
 */
tile_value grid_count_tiles(tile_builder *b, const tile_value *extent, unsigned count);
tile_value grid_number_tile(const grid *g, tile_builder *b);

/* f->grid[d], in a grid that has got so many dims. */
const tile_expr **grid_extent_at(tile_function *f, unsigned d);
/* op(value, by), or the value where `by` is 1. */
const tile_expr *grid_expr(const grid *g, tile_opcode op, const tile_expr *value, int64_t by);
/* Launches min(count, places / the blocks of a cluster) clusters, or blocks, along x, and one along
 * the other dims; no number of them where there is too much to count. */
void grid_launch(const grid *g, const tile_expr *count, const tile_expr *places,
                 tile_grid_excess excess);

/* What followed the loop goes to the end of its region. */
void grid_move_into_loop(tile_function *f, tile_op loop);

#endif
