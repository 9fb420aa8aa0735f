/* How the threads that hold a tile combine its elements along one dim.
 *
 * Each thread first combines its own elements of a row. Then lanes exchange partial results: in
 * each step, every lane combines its value with that of another lane, which covers other elements
 * of the same row. Then each warp writes its value to its own cell, and all threads read all cells
 * of a row. Elements that several threads hold are counted once.
 *
 *     [8, 256] along dim 1, 4 warps along dim 1       cells   0  1  2  3
 *     warp 0  1  2  3                                 row 0   s  s  s  s   s: a warp's sum
 *     |....|....|....|....|  row 0                    row 1   s  s  s  s
 *     |....|....|....|....|  row 1
 *
 * Each exchange pairs lanes by exclusive-or, and both lanes of a pair combine the same two values.
 * A thread combines its own elements either in the order of all threads that hold the same
 * elements, or by pairs. So all holders of a result have the same bits. */
#ifndef TILE_LIB_LAYOUT_REDUCE_H
#define TILE_LIB_LAYOUT_REDUCE_H

#include <stdbool.h>

#include "tile/layout.h"

typedef struct tile_reduce_plan {
    tile_layout source;
    unsigned axis;
    tile_layout narrow; /* extent 1 along the axis: the result as each thread holds it then */
    unsigned own_steps; /* registers whose numbers differ in sums of these are of one row */
    uint32_t own[TILE_LAYOUT_MAX_BITS];   /* bits of a register in a part */
    uint32_t first[TILE_LAYOUT_MAX_BITS]; /* source register, by narrow register bit */
    unsigned lane_steps;
    struct {
        uint32_t lane; /* the numbers of the two lanes differ in these bits, .. */
        uint32_t reg;  /* .. and their registers, in the narrow layout, in these */
    } lanes[TILE_LANE_BITS];
    unsigned cell_bits;  /* log2 of the cells per row; 0: warps exchange nothing */
    tile_layout partial; /* the tile of all cells: which thread writes which */
} tile_reduce_plan;

/* source: a valid register layout. */
tile_reduce_plan tile_reduce_make_plan(const tile_layout *source, unsigned axis);

/* The registers of the source that the thread combines for one register of the narrow layout:
 * number `step`, less than 2^own_steps, of part `part` along the axis. */
uint32_t tile_reduce_register(const tile_reduce_plan *plan, uint32_t narrow, uint32_t step,
                              uint32_t part);

/* Returns whether all threads that hold the same elements of a row hold them in the same order of
 * steps. */
bool tile_reduce_in_order(const tile_reduce_plan *plan);

/* The cells that each thread reads to have the result in this layout: the layout of partial, with
 * all cells of a row in registers. */
tile_layout tile_reduce_gathered(const tile_reduce_plan *plan, const tile_layout *result);
/* The layout of the cells in shared memory, for a result of this layout. */
tile_layout tile_reduce_shared(const tile_reduce_plan *plan, const tile_layout *result,
                               unsigned element_bytes);
/* Returns whether the largest element of each row is found first and then, in a second exchange,
 * its index. */
bool tile_reduce_in_turn(const tile_reduce_plan *plan, const tile_layout *result);
/* Returns whether the result needs the cells. */
bool tile_reduce_exchanges(const tile_reduce_plan *plan, const tile_layout *result);

#endif
