/* The matrix instruction of a warpgroup, wgmma.mma_async: the distribution of its accumulator over
 * four warps, and the layout of its operands in shared memory.
 *
 * Fragments. Warp w of the group holds rows 16 w to 16 w + 15 of the instruction's 64, in the
 * fragments of mma (mma.h), one after the other along n. It holds the same rows of an lhs in
 * registers.
 *
 * Operands in shared memory are described by a descriptor: an address, two strides and a swizzle.
 * With S bytes of swizzle (128, 64, 32, or 16: none) they consist of atoms, eight rows of S bytes:
 *
 *     K-major: a row is along k                MN-major: a row is along m (or n),
 *                                              16-bit types only
 *
 *        k ->  S bytes                            mn ->  S bytes     leading
 *     mn +--------------+                      k  +--------------+--------------+
 *      | |  8 rows      |                      |  |  8 rows      |              |
 *      v +--------------+ stride               v  +--------------+--------------+ stride
 *        |              |                         |              |              |
 *
 * K-major without swizzle, `leading` is the step to the next 16 bytes of k. MN-major without
 * swizzle, the strides are exchanged. The hardware adds start and strides, then xors bits 4 .. of
 * the address with bits 7 .. of it (3, 2 or 1 bits). So atoms must be aligned to their size. A
 * further step along k inside an atom is added to the start.
 *
 * All strides and starts refer to the sum, before the swizzle. Pure functions on values. Source:
 * PTX ISA, "Asynchronous warpgroup level matrix instructions". */
#ifndef TILE_LIB_LAYOUT_WGMMA_H
#define TILE_LIB_LAYOUT_WGMMA_H

#include "lib/layout/layout.h"
#include "lib/layout/mma.h"

enum { TILE_WGMMA_ROWS = 64, TILE_WGMMA_MAX_COLUMNS = 256, TILE_WARPGROUP = 4 };

/* Instructions -------------------------------------------------------------------------------- */

/* How the instruction interprets the elements of its operands (wgmma.def). */
typedef enum tile_wgmma_elements {
    TILE_WGMMA_none, /* no such instruction */
    TILE_WGMMA_floats,
    TILE_WGMMA_integers,
    TILE_WGMMA_bits
} tile_wgmma_elements;

/* The instruction for these types; the query's signs, extents and layout are ignored. */
tile_wgmma_elements tile_wgmma_find(const tile_mma_query *types);
/* Returns whether it multiplies these types as numbers. */
bool tile_wgmma_multiplies(const tile_mma_query *types);
/* Elements along k of one instruction: 32 bytes. */
uint32_t tile_wgmma_depth(tile_scalar lhs);
/* Returns whether there is an instruction with this many columns. */
bool tile_wgmma_admits_columns(uint32_t columns, tile_scalar acc);

/* Accumulators -------------------------------------------------------------------------------- */

/* The dim of a product's accumulator along the instruction's rows: 0, or 1 if C^T = B^T A^T is
 * computed, with rhs as the instruction's first operand. */
enum { TILE_WGMMA_PLAIN = 0, TILE_WGMMA_SWAPPED = 1 };

/* Products of at most this many rows, which only the exchanged form computes, use mma.sync unless
 * the user requests wgmma (choose-instructions). */
enum { TILE_WGMMA_FEW_ROWS = 32 };

/* Returns whether tile_wgmma_accumulator has a layout for it. num_warps: any number. */
bool tile_wgmma_admits(const uint32_t dims[2], unsigned row_dim, unsigned num_warps);
/* The accumulator of [m, n]: warpgroups first over rows, then over columns, each with a contiguous
 * share of each part; registers fragment by fragment along columns, then along rows. */
tile_layout tile_wgmma_accumulator(const uint32_t dims[2], unsigned row_dim, unsigned num_warps);
/* The same with the instruction's rows in another order: rows g and g + 8 of a fragment are rows 2
 * g and 2 g + 1, so that a first operand in registers can be read in pairs of bytes (mma.h). */
tile_layout tile_wgmma_paired_accumulator(const uint32_t dims[2], unsigned row_dim,
                                          unsigned num_warps);
/* The row of a lane's second register pair relative to its first one: 8, or 1 if rows are paired.
 * acc: an accumulator. */
uint32_t tile_wgmma_far_row(const tile_layout *acc, unsigned row_dim);
/* Returns whether a layout consists of such fragments, in any order. *columns is then the widest
 * instruction's number of columns into which a warpgroup's share can be split. */
bool tile_wgmma_holds(const tile_layout *acc, unsigned row_dim, tile_scalar scalar,
                      uint32_t *columns);
/* The columns of the widest instruction, at most `most` (or 8), into which this many columns can be
 * split. */
uint32_t tile_wgmma_cut_columns(uint32_t columns, uint32_t most);
/* The columns, at most most_columns, of each instruction of this accumulator, which must be
 * admitted. */
uint32_t tile_wgmma_columns(const uint32_t dims[2], unsigned row_dim, unsigned num_warps,
                            tile_scalar acc, uint32_t most_columns);
/* The number of elements, for each element of k, that the instructions of this accumulator read of
 * both operands in shared memory. Each instruction reads its 64 rows and its columns, at most
 * most_columns. The accumulator must be admitted. */
uint64_t tile_wgmma_reads(const uint32_t dims[2], unsigned row_dim, unsigned num_warps,
                          tile_scalar acc, uint32_t most_columns);
/* The instruction's first operand in registers, with the extents of the product's lhs (or rhs if
 * the product is exchanged): what the warps need to compute their shares of this accumulator. */
tile_layout tile_wgmma_first_operand(const tile_layout *acc, unsigned row_dim, tile_scalar scalar,
                                     const uint32_t dims[2]);

/* Operands in shared memory ------------------------------------------------------------------- */

typedef struct tile_wgmma_matrix {
    unsigned swizzle; /* 128, 64, 32; 16: none */
    bool mn_major;
    uint32_t leading, stride; /* bytes; 16 if the instruction ignores it */
} tile_wgmma_matrix;

/* The layout of a buffer of these extents, with rows along dim `fastest`, in atoms of the widest
 * swizzle that the rows fill: one column of atoms after the other. */
tile_layout tile_wgmma_shared(const uint32_t dims[2], unsigned fastest, unsigned element_bytes);
/* Finds how descriptors address blocks of `extent` (along m or n) x 32 bytes of k, at multiples of
 * these, in a buffer whose dim k_dim is k. Returns false if they cannot. The buffer must begin at a
 * multiple of 8 swizzles, so that all of its stages do. */
bool tile_wgmma_match(const tile_layout *shared, unsigned k_dim, unsigned element_bytes,
                      uint32_t extent, tile_wgmma_matrix *matrix);
/* The start of the block at these coordinates in a stage, in bytes. */
uint32_t tile_wgmma_start(const tile_layout *shared, const tile_wgmma_matrix *matrix,
                          unsigned element_bytes, const uint32_t coordinates[2]);
/* The xor mask of a shared address under a swizzle of S bytes: the swizzled address is address ^
 * mask. */
uint32_t tile_wgmma_cross(unsigned swizzle, uint32_t address);

/* Boxes of tensor maps ------------------------------------------------------------------------ */

/* The largest box that one TMA transfer can fill in a buffer: a dense array with order[0]
 * innermost, under a swizzle. Boxes at multiples of the extents then tile the buffer, each
 * beginning at the offset of its first element. */
typedef struct tile_tma_box {
    unsigned swizzle; /* 128, 64, 32; 16: none */
    unsigned rank;
    unsigned order[TILE_MAX_RANK];
    uint32_t extent[TILE_MAX_RANK]; /* by dim of the buffer, 256 at most */
} tile_tma_box;

/* Returns false if fewer than 16 bytes are contiguous. */
bool tile_tma_find_box(const tile_layout *shared, unsigned element_bytes, tile_tma_box *box);

#endif
