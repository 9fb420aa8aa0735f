/* Which operand interleave-rows reads in another order: see the head comment of interleave_rows.c.
 */
#ifndef TILE_PASSES_EXPAND_INTERLEAVE_ROWS_H
#define TILE_PASSES_EXPAND_INTERLEAVE_ROWS_H

#include "lib/analysis/range.h"
#include "passes/pass.h"

/* An operand of the product, which the loop copies from a view to a shared buffer. */
typedef struct interleave_operand {
    tile_op copy;
    tile_value buffer, view;
    tile_value index[TILE_MAX_RANK]; /* of the copied tile in the view */
    unsigned rank;                   /* of the view */
    unsigned k;                      /* the view's dim along k */
    unsigned rows;                   /* its other dim that the tile has */
} interleave_operand;

/* A product with few rows, or few columns, whose other operand has rows that begin anywhere. */
typedef struct interleave_plan {
    tile_op loop, dot;
    unsigned large; /* TILE_MMA_LHS or TILE_MMA_RHS: the operand whose rows are interleaved */
    interleave_operand sides[2];
    unsigned grid_dim; /* the dim of the grid along which blocks have other rows */
    tile_op block_id;
    int64_t tile;    /* rows of a tile */
    int64_t period;  /* rows this far apart begin at the same offset in their segments */
    int64_t segment; /* elements of 64 bytes, which memory transfers at once */
    int64_t chunk;   /* elements of 16 bytes */
} interleave_plan;

/* Returns false if the kernel has no such product, or does something that the pass cannot
 * rewrite. */
bool interleave_find(tile_pass *pass, tile_function *f, interleave_plan *plan);

/* Returns whether the value is the product of the block's coordinate and the tile's rows: the first
 * row of the tile. */
bool interleave_is_first_row(const tile_function *f, const interleave_plan *plan, tile_value value);

/* The extent of the view as a host expression; NULL: it is none. */
const tile_expr *interleave_extent(const tile_function *f, tile_value view, unsigned d);

#endif
