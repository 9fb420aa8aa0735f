/* The cost for a warp to move a tile to or from memory, computed from the layouts. Pure functions
 * on values. */
#ifndef TILE_LIB_LAYOUT_TRAFFIC_H
#define TILE_LIB_LAYOUT_TRAFFIC_H

#include "lib/layout/cut.h"

enum {
    TILE_SECTOR = 32, /* bytes of the smallest global-memory transfer */
    TILE_LINE = 128,  /* bytes of a cache line; each line that a request touches is looked up */
};

/* The traffic of the first warp. */
typedef struct tile_traffic {
    unsigned bytes;      /* of one thread's access */
    unsigned accesses;   /* number of instructions */
    unsigned wavefronts; /* wavefronts of shared memory; sectors of global memory */
    unsigned conflicts;  /* wavefronts due to different words of one bank; global memory: sectors
                            beyond those that the bytes fill */
    unsigned lines;      /* global memory: lines that the requests touch */
    bool matrices;       /* uses ldmatrix or stmatrix */
} tile_traffic;

/* The elements that ldmatrix distributes: lane i of a warp gets four adjacent bytes, p elements, of
 * row i / 4 of a matrix: elements p * (i % 4) to p * (i % 4) + p - 1. A row is 16 contiguous bytes
 * of shared memory, and lane i provides the address of row i % 8 of matrix i / 8. With .trans, rows
 * and columns of an 8x8 matrix of 16-bit elements are exchanged. So the register and lane bits must
 * add to the offset,
 *
 *              registers               lane 0, 1    lane 2, 3, 4
 *    plain     1 .. p / 2              p, 2p        rows            columns are contiguous
 *    trans     row 1                   rows 2, 4    1, 2, 4         rows are contiguous
 *    pairs     row 1, any, contiguous  rows 2, 4    2, 4, 8         the same with bytes
 *
 * and no other bit may change the offset inside a row. stmatrix is the inverse of ldmatrix.
 *
 * Pairs. ldmatrix.trans does not separate bytes, so each of a lane's words has two bytes of a row,
 * and below them two of the next one. The fragment has four bytes of a column in a word: those of
 * two matrices, whose number is the second register bit. Its third one is the byte of the pair.
 *
 *    register bits   of the fragment   row 1, matrix 1, byte, matrix 2 ..
 *                    of the words      byte, row 1, matrix 1, matrix 2 .. */
typedef struct tile_matrices {
    bool match;
    bool trans;
    bool pairs;
    unsigned own_bits; /* register bits inside a matrix: log2 of p */
    uint32_t rows[3];  /* what bits 0..2 of a row's number add to the offset */
} tile_matrices;

/* What register bit `bit`, which tells matrices apart, adds to the offset: `reg` by the layout's
 * register bits. bit: 0 .. number of register bits - own_bits - 1. */
uint32_t tile_matrices_step(const tile_matrices *m, const uint32_t *reg, unsigned bit);
/* Pairs: the element of the words that is element i of the fragment. */
uint32_t tile_matrices_word_element(uint32_t i);

/* reg, lane, warp: what the layout's bits add to the offset, in elements of this many bits (not
 * bytes). begin: all bits that anything else can add. */
tile_matrices tile_matrices_find(const tile_layout *layout, const uint32_t *reg,
                                 const uint32_t *lane, const uint32_t *warp, uint32_t begin,
                                 unsigned element_bits);

/* Traffic to shared memory with layout `memory`: by ldmatrix if `matrices` is set and the layouts
 * permit it, else with accesses as wide as the elements are contiguous. */
tile_traffic tile_traffic_shared(const tile_layout *tile, const tile_layout *memory,
                                 unsigned element_bytes, bool matrices);

/* Traffic to global memory in which elements along dim d are contiguous (d = rank: along no dim),
 * in rows that begin at a new sector; accesses of at most `width` elements. */
tile_traffic tile_traffic_global(const tile_layout *tile, unsigned d, unsigned width,
                                 unsigned element_bytes);
/* The cost in half cycles of a multiprocessor, like tile_shuffle_cost. Lines count in addition to
 * sectors: a transpose whose requests move half lines of twice as many rows takes 148 us. With
 * whole lines and a pass through shared memory it takes 133 us (8192 x 8192, f32, H200). */
unsigned tile_traffic_cost_global(const tile_traffic *traffic);

#endif
