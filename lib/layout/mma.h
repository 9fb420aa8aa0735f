/* Matrix instructions: the rows of mma.def, and layouts that consist of their fragments.
 *
 * A fragment is the part of one operand of one instruction that the lanes of a warp hold. With p
 * elements in a 32-bit register (1 for wider types), g = lane / 4 and t = lane % 4 (PTX ISA,
 * "Matrix Fragments"):
 *
 *     lhs [m, k]   row g, columns p t to p t + p - 1; next register row g + 8, then columns + 4 p
 *     rhs [k, n]   rows p t to p t + p - 1, column g; next register rows + 4 p
 *     acc [m, n]   row g, columns 2 t and 2 t + 1; then row g + 8
 *
 *     register bits   lhs  k 1 .. p / 2, row 8, k 4p, 8p ..
 *                     rhs  k 1 .. p / 2, k 4p, 8p ..
 *                     acc  column 1, row 8
 *     lane bits       lhs  k p, 2p, rows 1, 2, 4
 *                     rhs  k p, 2p, columns 1, 2, 4
 *                     acc  columns 2, 4, rows 1, 2, 4
 *
 * where m is 16; with m = 8 there is no row 8.
 *
 * Exchanged rows. C^T = B^T A^T: a product whose m is 8 would waste half of an instruction's 16
 * rows, but not if n is along those rows. So each row of the table has a second form with rhs as
 * the instruction's first operand and lhs as its second. Its m is the instruction's n, and its
 * fragments are the instruction's with exchanged coordinates. Registers are in the instruction's
 * order, so the rest of the code does not change.
 *
 * Paired rows. The instructions need bytes that are contiguous along k. If they are contiguous
 * along m (or n, exchanged) in shared memory, ldmatrix.trans gives a lane two rows of two bytes:
 * elements 2 g and 2 g + 1 of both. So each form also exists with the instruction's rows in another
 * order: row g is row 2 g of the matrix, and row g + 8 is row 2 g + 1. A lane then has all bytes of
 * its fragment, and one prmt for each register brings them into order (ldmatrix: traffic.h).
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

/* A form of a row of mma.def. If it is exchanged, all fields except the shape describe lhs, rhs and
 * acc of the product. */
typedef struct tile_mma {
    const char *shape; /* "m16n8k16" */
    bool exchanged;    /* the instruction's first operand is rhs, its second is lhs */
    bool paired;       /* rows g and g + 8 of the first operand are rows 2 g and 2 g + 1 */
    uint32_t m, n, k;
    tile_scalar lhs, rhs, acc;
    bool unsigned_lhs, unsigned_rhs;
    tile_mma_place lhs_place, rhs_place;
    tile_feature feature; /* required feature of the target */
    unsigned ptx_version;
} tile_mma;

/* The plain row; NULL past the end. */
const tile_mma *tile_mma_at(unsigned index);
/* The other form of a row: exchanged or plain. */
const tile_mma *tile_mma_swap(const tile_mma *row);
/* The paired form of a row, plain or exchanged, of which the operand is the first one. NULL if an
 * instruction has 8 rows, or if the operand's elements are not bytes. */
const tile_mma *tile_mma_pair(const tile_mma *row, unsigned operand);
/* The index of a row, in any form. */
unsigned tile_mma_index(const tile_mma *row);

/* Selection ------------------------------------------------------------------------------------ */

/* A product of tiles [m, k] x [k, n]. A u8 operand is an i8 that is read as unsigned. Sums wrap, so
 * those of a u32 are those of an i32. */
typedef struct tile_mma_query {
    tile_scalar lhs, rhs, acc;
    bool unsigned_lhs, unsigned_rhs;
    uint32_t m, n, k;
    uint32_t features;             /* of the target */
    const tile_layout *acc_layout; /* NULL: not chosen yet */
} tile_mma_query;

/* The query for operands of these element types, without extents. */
tile_mma_query tile_mma_query_of(tile_scalar lhs, tile_scalar rhs, tile_scalar acc);
/* The query of `precision = tf32`: operands of f32 are multiplied as tf32. */
tile_mma_query tile_mma_query_as_tf32(tile_mma_query query);
/* "u8" for an i8 that is read as unsigned. */
const char *tile_mma_type_name(tile_scalar scalar, bool is_unsigned);
/* Returns the first row that computes the product; NULL if there is none. Without a layout it is
 * not paired. */
const tile_mma *tile_mma_find(const tile_mma_query *query);
/* Returns the first row that computes the product after both operands are converted to its types,
 * which must represent all values of the original types; NULL if there is none. */
const tile_mma *tile_mma_find_wider(const tile_mma_query *query);
/* Writes why tile_mma_find finds no row, in the user's words; text is truncated to size. */
void tile_mma_explain(const tile_mma_query *query, char *text, size_t size);

/* Returns the row with the query's types whose fragments of lhs, rhs and acc have these numbers of
 * elements per lane; NULL if there is none. Extents and features are ignored. */
const tile_mma *tile_mma_of_fragments(const tile_mma_query *types, const int64_t counts[3]);

/* Layouts ------------------------------------------------------------------------------------- */

/* The fragment of an operand in a matrix of these extents: the instruction's own extents, or
 * multiples of them, in which the fragment is the first part. It has no warp bits. */
tile_layout tile_mma_fragment(const tile_mma *row, unsigned operand, uint32_t rows,
                              uint32_t columns);
/* The number of elements of the fragment per lane. */
unsigned tile_mma_elements(const tile_mma *row, unsigned operand);

/* Chooses how many warps along m and n share each part of an accumulator of [m, n]. Each warp's
 * share is as square as possible, and at least one instruction if that is possible. */
void tile_mma_choose_warps(const tile_mma *row, uint32_t m, uint32_t n, unsigned num_warps,
                           uint32_t *warps_m, uint32_t *warps_n);

/* The layout of an accumulator of [m, n], multiples of the instruction's: fragment by fragment
 * along n, then along m. Warp bits go first over m, then over n; each warp has one contiguous share
 * of each part. Extra warps replicate shares. */
tile_layout tile_mma_accumulator(const tile_mma *row, uint32_t m, uint32_t n, uint32_t warps_m,
                                 uint32_t warps_n);

/* Returns whether a tile's layout consists of the row's acc fragments, in any order within a thread
 * and with any distribution over warps. */
bool tile_mma_holds(const tile_mma *row, const tile_layout *acc);

/* The layout of operand lhs, [m, k], or rhs, [k, n], from which each warp computes its share of
 * this accumulator. */
tile_layout tile_mma_operand(const tile_mma *row, const tile_layout *acc, unsigned operand,
                             uint32_t rows, uint32_t columns);

#endif
