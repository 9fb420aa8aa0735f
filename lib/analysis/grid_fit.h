/* Whether a launch can take a kernel's grid as it is: y and z count no further than 65535. */
#ifndef TILE_LIB_ANALYSIS_GRID_FIT_H
#define TILE_LIB_ANALYSIS_GRID_FIT_H

#include "lib/ir/function.h"

typedef enum tile_grid_fit {
    TILE_GRID_FITS,       /* for all arguments; or flatten-grid could not change it */
    TILE_GRID_MAY_EXCEED, /* the arguments decide */
    TILE_GRID_EXCEEDS,    /* for all arguments */
} tile_grid_fit;

/* Of an instantiated kernel before any pass, whose loop may be split along z. */
tile_grid_fit tile_find_grid_fit(const tile_function *kernel, tile_arena *arena);

/* Blocks of a cluster along dim d; 1 where the kernel names none, or no number. */
int64_t tile_grid_cluster_extent(const tile_function *kernel, unsigned d);
/* The product of the first `dims` of them: of all three, the blocks of a cluster; of those before a
 * dim, how far apart ranks are along it. */
int64_t tile_grid_cluster_blocks(const tile_function *kernel, unsigned dims);

/* Whether flatten-grid puts the blocks of dim d, y or z, along x: blocks of a cluster stay
 * neighbours in the dim where they are. */
bool tile_grid_folds(const tile_function *kernel, unsigned d);

/* How many blocks a launch takes along dim d. */
int64_t tile_grid_limit(unsigned d);

/* What there is too much of for loops, which count in an i32, with their last step
 * (TILE_MAX_TILES): what a grid is then, which no launch has. */
typedef enum tile_grid_excess {
    TILE_TOO_MANY_TILES = -1,
    TILE_TOO_MANY_ITERATIONS = -2, /* of all tiles together */
} tile_grid_excess;

/* The blocks where the count is at most TILE_MAX_TILES, the excess where it is more. */
const tile_expr *tile_grid_count(tile_context *context, const tile_expr *count,
                                 const tile_expr *blocks, tile_grid_excess excess);
/* The count of such an expression; NULL: it is none. */
const tile_expr *tile_grid_counted(const tile_expr *expr, tile_grid_excess *excess);

#endif
