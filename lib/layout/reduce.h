/* How the threads that hold a tile combine its elements along one dim.
 *
 * What a thread holds of a row is combined in the thread. Then lanes exchange what they have: with
 * each step, every lane combines its own with another one's, whose elements are others of the same
 * row. Then each warp writes what it has into a cell of its own, and everybody reads all cells of a
 * row. Elements that several threads hold count once.
 *
 *     [8, 256] along dim 1, 4 warps side by side      cells   0  1  2  3
 *     warp 0  1  2  3                                 row 0   s  s  s  s   s: a warp's sum
 *     |....|....|....|....|  row 0                    row 1   s  s  s  s
 *     |....|....|....|....|  row 1
 *
 * Each step pairs elements by exclusive-or, and both of a pair combine the same two, and what a
 * thread combines of its own it does in the order of all that hold the same elements, or by pairs:
 * all holders of a result have the same bits. */
#ifndef TILE_LIB_LAYOUT_REDUCE_H
#define TILE_LIB_LAYOUT_REDUCE_H

#include <stdbool.h>

#include "tile/layout.h"

typedef struct tile_reduce_plan {
    tile_layout source;
    unsigned axis;
    tile_layout narrow; /* extent 1 along the axis: what each thread holds of the result by then */
    unsigned own_steps; /* registers that differ in the sums of some of these are of one row */
    uint32_t own[TILE_LAYOUT_MAX_BITS];   /* bits of a register of a part */
    uint32_t first[TILE_LAYOUT_MAX_BITS]; /* by register bit of the narrow one: the source's */
    unsigned lane_steps;
    struct {
        uint32_t lane; /* the other's number differs in these bits, */
        uint32_t reg;  /* and the number of its register, of the narrow layout */
    } lanes[TILE_LANE_BITS];
    unsigned cell_bits;  /* log2 of how many cells a row has; 0: no warps exchange */
    tile_layout partial; /* the tile of all cells, along the axis: who writes what */
} tile_reduce_plan;

/* Of a register layout that is sound. */
tile_reduce_plan tile_reduce_make_plan(const tile_layout *source, unsigned axis);

/* The registers of the source that the thread combines for one register of the narrow layout:
 * number `step`, below the power of two of own_steps, of part `part` along the axis. */
uint32_t tile_reduce_register(const tile_reduce_plan *plan, uint32_t narrow, uint32_t step,
                              uint32_t part);

/* Whether all threads that hold the same elements of a row hold them in the same order of steps. */
bool tile_reduce_in_order(const tile_reduce_plan *plan);

/* Who reads which cells to have the result in this layout: as partial, all cells in registers. */
tile_layout tile_reduce_gathered(const tile_reduce_plan *plan, const tile_layout *result);
/* The cells' order in shared memory, for a result of this layout. */
tile_layout tile_reduce_shared(const tile_reduce_plan *plan, const tile_layout *result,
                               unsigned element_bytes);
/* Whether the largest of each row is found first and then, in a second exchange, where it is. */
bool tile_reduce_in_turn(const tile_reduce_plan *plan, const tile_layout *result);
/* Whether the result needs the cells. */
bool tile_reduce_exchanges(const tile_reduce_plan *plan, const tile_layout *result);

#endif
