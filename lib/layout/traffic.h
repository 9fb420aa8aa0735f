/* What a warp takes to move a tile to or from memory, counted by the layouts. Pure functions on
 * values. */
#ifndef TILE_LIB_LAYOUT_TRAFFIC_H
#define TILE_LIB_LAYOUT_TRAFFIC_H

#include "lib/layout/cut.h"

enum {
    TILE_SECTOR = 32, /* bytes that global memory moves at least */
    TILE_LINE = 128,  /* of a cache: each that a request touches is looked up */
};

/* Of the first warp. */
typedef struct tile_traffic {
    unsigned bytes;      /* of a thread's access */
    unsigned accesses;   /* instructions */
    unsigned wavefronts; /* lines of banks that are served; of global memory: sectors */
    unsigned conflicts;  /* how many of these because lanes want different words of one bank; of
                            global memory: sectors beyond those that the bytes fill */
    unsigned lines;      /* of global memory: how many the requests touch */
    bool matrices;       /* ldmatrix or stmatrix */
} tile_traffic;

/* How ldmatrix gives what threads hold: lane i of a warp gets four neighbouring bytes, p elements,
 * of row i / 4 of a matrix: elements p * (i % 4) to p * (i % 4) + p - 1. A row is 16 bytes in a row
 * of shared memory, and lane i says where row i % 8 of matrix i / 8 begins. With .trans, rows and
 * columns of an 8x8 matrix of 16-bit elements change places. So of what the register and lane bits
 * add to the offset,
 *
 *              registers       lane 0, 1    lane 2, 3, 4
 *    plain     1 .. p / 2      p, 2p        rows            columns are contiguous
 *    trans     row 1           rows 2, 4    1, 2, 4         rows are contiguous
 *
 * and everything else must leave the bits inside a row alone. stmatrix stores what ldmatrix loads.
 */
typedef struct tile_matrices {
    bool match;
    bool trans;
    unsigned own_bits; /* register bits inside a matrix: log2 of p */
    uint32_t rows[3];  /* what bits 0..2 of a row's number add */
} tile_matrices;

/* reg, lane, warp: what the layout's bits add to the offset, in elements of so many bits (not
 * bytes); begin: all bits that something else can add. */
tile_matrices tile_matrices_find(const tile_layout *layout, const uint32_t *reg,
                                 const uint32_t *lane, const uint32_t *warp, uint32_t begin,
                                 unsigned element_bits);

/* In shared memory laid out by `memory`: by ldmatrix where the layouts have it and `matrices`, else
 * with accesses as wide as elements are contiguous. */
tile_traffic tile_traffic_shared(const tile_layout *tile, const tile_layout *memory,
                                 unsigned element_bytes, bool matrices);

/* In global memory, where neighbours along dim d are contiguous (rank: none are) in rows that
 * begin with a sector of their own; accesses of at most `width` elements. */
tile_traffic tile_traffic_global(const tile_layout *tile, unsigned d, unsigned width,
                                 unsigned element_bytes);
/* What that takes, in half cycles of a multiprocessor, as tile_shuffle_cost. Lines count beside
 * sectors: a transpose whose requests move half lines of twice as many rows takes 148 us where
 * whole lines and a way through shared memory take 133 (8192 x 8192, f32, H200). */
unsigned tile_traffic_cost_global(const tile_traffic *traffic);

#endif
