/* Matrix instructions: the rows of mma.def, and layouts made of their fragments.
 *
 * A fragment is what a warp's lanes hold of one operand of one instruction. With p elements in a
 * 32-bit register (1 for wider ones), g = lane / 4 and t = lane % 4 (PTX ISA, "Matrix Fragments"):
 *
 *     lhs [m, k]   row g, columns p t to p t + p - 1; next register row g + 8, then columns + 4 p
 *     rhs [k, n]   rows p t to p t + p - 1, column g; next register rows + 4 p
 *     acc [m, n]   row g, columns 2 t and 2 t + 1; then row g + 8
 *
 *     register bits   lhs  k 1 .. p / 2, row 8, k 4p, 8p ..     lane bits  lhs  k p, 2p, rows 1, 2,
 * 4 rhs  k 1 .. p / 2, k 4p, 8p ..                       rhs  k p, 2p, columns 1, 2, 4 acc  column
 * 1, row 8                                 acc  columns 2, 4, rows 1, 2, 4
 *
 * where m is 16; with m = 8 there is no row 8.
 *
 * Exchanged rows. C^T = B^T A^T: a product whose m is 8 would waste half of an instruction's 16
 * rows, and does not where n lies in them. So each row of the table exists a second time with rhs
 * as the instruction's first operand and lhs as its second: its m is the instruction's n, its
 * fragments are the instruction's with their coordinates exchanged. Registers are in the
 * instruction's order, so that nothing else of the code changes.
 *
 * Pure functions on values. */
#ifndef TILE_LIB_LAYOUT_MMA_H
#define TILE_LIB_LAYOUT_MMA_H

#include <stddef.h>

#include "lib/layout/layout.h"
#include "tile/ir.h"
#include "tile/target.h"

typedef enum tile_mma_place { TILE_MMA_PLACE_registers } tile_mma_place;

enum { TILE_MMA_LHS, TILE_MMA_RHS, TILE_MMA_ACC };

/* A row of mma.def, as it is or exchanged: then everything but the shape is said of lhs, rhs and
 * acc of the product. */
typedef struct tile_mma {
    const char *shape; /* "m16n8k16" */
    bool exchanged;    /* the instruction's first operand is rhs, its second lhs */
    uint32_t m, n, k;
    tile_scalar lhs, rhs, acc;
    bool unsigned_lhs, unsigned_rhs;
    tile_mma_place lhs_place, rhs_place;
    tile_feature feature; /* what the target must have */
    unsigned ptx_version;
} tile_mma;

/* The row as it is; NULL past the end. */
const tile_mma *tile_mma_at(unsigned index);
/* The row exchanged, or as it is. */
const tile_mma *tile_mma_swap(const tile_mma *row);
/* Of a row, exchanged or not. */
unsigned tile_mma_index(const tile_mma *row);

/* Finding ------------------------------------------------------------------------------------- */

/* A product of tiles [m, k] x [k, n]. */
typedef struct tile_mma_query {
    tile_scalar lhs, rhs, acc;
    bool unsigned_lhs, unsigned_rhs;
    uint32_t m, n, k;
    uint32_t features;             /* the target's */
    const tile_layout *acc_layout; /* NULL: none yet */
} tile_mma_query;

/* The first row that computes the product; NULL if there is none. */
const tile_mma *tile_mma_find(const tile_mma_query *query);
/* The first one that computes it once both operands are converted to its types, each of which has
 * all values of what it replaces; NULL if there is none. */
const tile_mma *tile_mma_find_wider(const tile_mma_query *query);
/* Why tile_mma_find finds none, in the user's words; text is cut to size. */
void tile_mma_explain(const tile_mma_query *query, char *text, size_t size);

/* The row with the query's types whose fragments have so many elements of lhs, rhs and acc in one
 * lane; NULL if there is none. Extents and features do not matter. */
const tile_mma *tile_mma_of_fragments(const tile_mma_query *types, const int64_t counts[3]);

/* Layouts ------------------------------------------------------------------------------------- */

/* The fragment of an operand in a matrix of these extents: the instruction's own ones, or multiples
 * of them, of which the fragment is the first part. No warps. */
tile_layout tile_mma_fragment(const tile_mma *row, unsigned operand, uint32_t rows,
                              uint32_t columns);
/* How many elements of it a lane has. */
unsigned tile_mma_elements(const tile_mma *row, unsigned operand);

/* How many warps along m and n share each part of an accumulator of [m, n]: each warp's share is
 * square, and none smaller than one instruction while that can be avoided. */
void tile_mma_choose_warps(const tile_mma *row, uint32_t m, uint32_t n, unsigned num_warps,
                           uint32_t *warps_m, uint32_t *warps_n);

/* An accumulator of [m, n], multiples of the instruction's: fragment by fragment along n, then
 * along m; warp bits first over m, then over n, each warp with one contiguous share of each part.
 * Warps that have no share of their own replicate another's. */
tile_layout tile_mma_accumulator(const tile_mma *row, uint32_t m, uint32_t n, uint32_t warps_m,
                                 uint32_t warps_n);

/* Whether a tile's layout consists of the row's acc fragments, in whatever order a thread has them
 * and however they are spread over warps. */
bool tile_mma_holds(const tile_mma *row, const tile_layout *acc);

/* What a warp needs of operand lhs, [m, k], or rhs, [k, n], to make its share of such an
 * accumulator. */
tile_layout tile_mma_operand(const tile_mma *row, const tile_layout *acc, unsigned operand,
                             uint32_t rows, uint32_t columns);

#endif
