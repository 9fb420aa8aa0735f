/* The matrix instruction of a warpgroup, wgmma.mma_async: how its accumulator is spread over four
 * warps, and how its operands lie in shared memory.
 *
 * Fragments. Warp w of the group has rows 16 w to 16 w + 15 of the instruction's 64, in the
 * fragments of mma (mma.h), one after the other along n; so has it its rows of an lhs in registers.
 *
 * Operands in shared memory are named by a descriptor: an address, two strides and a swizzle. With
 * S bytes of swizzle (128, 64, 32, or 16: none) they consist of atoms, eight rows of S bytes:
 *
 *     K-major: a row goes along k              MN-major: a row goes along m (or n), 16-bit types
 * only
 *
 *        k ->  S bytes                            mn ->  S bytes     leading
 *     mn +--------------+                      k  +--------------+--------------+
 *      | |  8 rows      |                      |  |  8 rows      |              |
 *      v +--------------+ stride               v  +--------------+--------------+ stride
 *        |              |                         |              |              |
 *
 * K-major without swizzle `leading` leads to the next 16 bytes of k; MN-major without swizzle the
 * strides change places. The hardware takes the sum of start and strides, then crosses bits 4 ..
 * of the address with bits 7 .. of it (exclusive-or; 3, 2 or 1 bits): so atoms must begin at
 * multiples of their size. A further step along k inside an atom is added to the start.
 *
 * All strides and starts are of the sum, before the crossing. Pure functions on values. Source: PTX
 * ISA, "Asynchronous warpgroup level matrix instructions". */
#ifndef TILE_LIB_LAYOUT_WGMMA_H
#define TILE_LIB_LAYOUT_WGMMA_H

#include "lib/layout/layout.h"
#include "lib/layout/mma.h"

enum { TILE_WGMMA_ROWS = 64, TILE_WGMMA_MAX_COLUMNS = 256, TILE_WARPGROUP = 4 };

/* Instructions -------------------------------------------------------------------------------- */

/* As what it takes the elements of its operands (wgmma.def). */
typedef enum tile_wgmma_elements {
    TILE_WGMMA_none, /* there is no such instruction */
    TILE_WGMMA_floats,
    TILE_WGMMA_integers,
    TILE_WGMMA_bits
} tile_wgmma_elements;

/* The instruction for these types; the query's signs, extents and layout do not matter. */
tile_wgmma_elements tile_wgmma_find(const tile_mma_query *types);
/* Whether it multiplies these types as numbers. */
bool tile_wgmma_multiplies(const tile_mma_query *types);
/* Elements along k of one instruction: 32 bytes of it. */
uint32_t tile_wgmma_depth(tile_scalar lhs);
/* Whether there is one with so many columns. */
bool tile_wgmma_admits_columns(uint32_t columns, tile_scalar acc);

/* Accumulators -------------------------------------------------------------------------------- */

/* The dim of a product's accumulator that the instruction's rows lie in: 0, or 1 where C^T = B^T
 * A^T is computed, rhs being the instruction's first operand. */
enum { TILE_WGMMA_PLAIN = 0, TILE_WGMMA_SWAPPED = 1 };

/* Products of so many rows and fewer, which only the exchanged form computes, go by mma.sync where
 * nobody asks for wgmma (choose-instructions). */
enum { TILE_WGMMA_FEW_ROWS = 32 };

/* Whether tile_wgmma_accumulator makes a layout of it. num_warps: any number. */
bool tile_wgmma_admits(const uint32_t dims[2], unsigned row_dim, unsigned num_warps);
/* The accumulator of [m, n]: warpgroups first over rows, then over columns, each with a contiguous
 * share of each part; registers fragment by fragment along columns, then along rows. */
tile_layout tile_wgmma_accumulator(const uint32_t dims[2], unsigned row_dim, unsigned num_warps);
/* Whether a layout consists of such fragments, in whatever order; *columns then is how many the
 * widest instruction has that a warpgroup's share of it can be cut into. */
bool tile_wgmma_holds(const tile_layout *acc, unsigned row_dim, tile_scalar scalar,
                      uint32_t *columns);
/* The columns of the widest instruction with at most so many (or 8) that this many can be cut into.
 */
uint32_t tile_wgmma_cut_columns(uint32_t columns, uint32_t most);
/* Elements that the instructions of such an accumulator, which is admitted, read of both operands
 * in shared memory for each of k: an instruction its 64 rows and its columns, which are at most
 * most_columns. */
uint64_t tile_wgmma_reads(const uint32_t dims[2], unsigned row_dim, unsigned num_warps,
                          tile_scalar acc, uint32_t most_columns);
/* The instruction's first operand in registers, of the extents of the product's lhs (or rhs where
 * it is exchanged): what the warps need to make their share of such an accumulator. */
tile_layout tile_wgmma_first_operand(const tile_layout *acc, unsigned row_dim, tile_scalar scalar,
                                     const uint32_t dims[2]);

/* Operands in shared memory ------------------------------------------------------------------- */

typedef struct tile_wgmma_matrix {
    unsigned swizzle; /* 128, 64, 32; 16: none */
    bool mn_major;
    uint32_t leading, stride; /* bytes; 16 where the instruction does not look */
} tile_wgmma_matrix;

/* The layout of a buffer of these extents, rows along dim `fastest` in atoms of the widest swizzle
 * that they fill: a column of atoms, then the next one. */
tile_layout tile_wgmma_shared(const uint32_t dims[2], unsigned fastest, unsigned element_bytes);
/* Whether blocks of `extent` (along m or n) x 32 bytes of k, at multiples of these, can be named by
 * descriptors in a buffer whose dim k_dim is k, and how. The buffer must begin at a multiple of 8
 * swizzles, as all of its stages then do. */
bool tile_wgmma_match(const tile_layout *shared, unsigned k_dim, unsigned element_bytes,
                      uint32_t extent, tile_wgmma_matrix *matrix);
/* Where the block that begins at these coordinates starts in a stage, in bytes. */
uint32_t tile_wgmma_start(const tile_layout *shared, const tile_wgmma_matrix *matrix,
                          unsigned element_bytes, const uint32_t coordinates[2]);
/* What a shared address is crossed with under a swizzle of S bytes: address ^ this. */
uint32_t tile_wgmma_cross(unsigned swizzle, uint32_t address);

/* Boxes of tensor maps ------------------------------------------------------------------------ */

/* The largest box that a TMA transfer can fill in a buffer at one go: a dense array with order[0]
 * innermost, under a swizzle. Boxes at multiples of the extents then tile the buffer, each
 * beginning at the offset of its first element. */
typedef struct tile_tma_box {
    unsigned swizzle; /* 128, 64, 32; 16: none */
    unsigned rank;
    unsigned order[TILE_MAX_RANK];
    uint32_t extent[TILE_MAX_RANK]; /* by dim of the buffer, 256 at most */
} tile_tma_box;

/* False if not even 16 bytes are contiguous. */
bool tile_tma_find_box(const tile_layout *shared, unsigned element_bytes, tile_tma_box *box);

#endif
