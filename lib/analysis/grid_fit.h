/* Finds whether a launch can have a kernel's grid as declared: y and z are limited to 65535. */
#ifndef TILE_LIB_ANALYSIS_GRID_FIT_H
#define TILE_LIB_ANALYSIS_GRID_FIT_H

#include "lib/ir/function.h"

typedef enum tile_grid_fit {
    TILE_GRID_FITS,       /* for all arguments; or flatten-grid could not change it */
    TILE_GRID_MAY_EXCEED, /* depends on the arguments */
    TILE_GRID_EXCEEDS,    /* for all arguments */
} tile_grid_fit;

/* For an instantiated kernel before any pass; its loop may be split along z. */
tile_grid_fit tile_find_grid_fit(const tile_function *kernel, tile_arena *arena);

/* Blocks of a cluster along dim d; 1 if the kernel declares none or it is not a number. */
int64_t tile_grid_cluster_extent(const tile_function *kernel, unsigned d);
/* Product of the first `dims` cluster extents: with all three, the blocks of a cluster; otherwise
 * the stride of ranks along dim `dims`. */
int64_t tile_grid_cluster_blocks(const tile_function *kernel, unsigned dims);

/* Returns whether flatten-grid moves the blocks of dim d, y or z, to x. Blocks of a cluster must
 * remain neighbors in their dim. */
bool tile_grid_folds(const tile_function *kernel, unsigned d);

/* Limit on the number of blocks of a launch along dim d. */
int64_t tile_grid_limit(unsigned d);

/* Which number exceeds the range of an i32 loop counter including its last step (TILE_MAX_TILES).
 * The grid extent then has this value, which no launch accepts. */
typedef enum tile_grid_excess {
    TILE_TOO_MANY_TILES = -1,
    TILE_TOO_MANY_ITERATIONS = -2, /* summed over all tiles */
} tile_grid_excess;

/* An expression for `blocks` if count is at most TILE_MAX_TILES, otherwise `excess`. */
const tile_expr *tile_grid_count(tile_context *context, const tile_expr *count,
                                 const tile_expr *blocks, tile_grid_excess excess);
/* Returns the count of such an expression; NULL if it is not one. */
const tile_expr *tile_grid_counted(const tile_expr *expr, tile_grid_excess *excess);

#endif
