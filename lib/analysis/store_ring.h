/* The ring buffer through which the tiles of a product are stored in pieces (store_async). Its
 * number of stages depends on the free shared memory. The pass that builds it and the cost model
 * share these functions. */
#ifndef TILE_LIB_ANALYSIS_STORE_RING_H
#define TILE_LIB_ANALYSIS_STORE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "tile/target.h"

typedef struct tile_store_query {
    uint32_t dims[2]; /* extents of the tile */
    unsigned row_dim; /* the dim that is the row dim of the instruction: TILE_WGMMA_PLAIN or
                         TILE_WGMMA_SWAPPED */
    unsigned element_bytes;
    /* Warps of the set that stores, and the number of sets with rings of their own. */
    unsigned warps, sets;
    unsigned block_warps, registers; /* warps of the block; registers per thread, 0: unknown */
    int64_t others;                  /* other shared memory of the block, in bytes */
    int64_t released;                /* further bytes, used before and free when tiles are stored */
    bool alone;                      /* the kernel needs no other ring */
} tile_store_query;

typedef struct tile_store_ring {
    uint32_t extents[2]; /* extents of a stage */
    unsigned stages;     /* summed over all groups of a set */
    int64_t bytes;       /* summed over all sets */
} tile_store_ring;

/* Pieces into which a tile can be cut. */
typedef struct tile_store_cut {
    uint32_t extents[2];
    uint32_t count, groups; /* pieces of a set, and groups of its warps that store them */
} tile_store_cut;
enum { TILE_MAX_STORE_CUTS = 5 };

/* Lists the cuts, the widest first. They depend on the tile, its row dim, the size of an element
 * and the warps of the set only. Returns their number. */
unsigned tile_list_store_cuts(const tile_store_query *query,
                              tile_store_cut cuts[TILE_MAX_STORE_CUTS]);

/* Chooses the pieces and stages of the ring. Pieces are preferably 64 rows of 128 bytes, and two
 * stages per warpgroup allow one to be written while the other one is read. Pieces are narrower if
 * the parts of the tile are, or if the shared memory is too small; the last resort is one stage.
 * The ring gets up to one stage per piece if that does not reduce the number of resident blocks.
 * Returns false if not even one stage fits, or if warpgroups do not hold whole pieces. */
bool tile_choose_store_ring(const tile_target *target, const tile_store_query *query,
                            tile_store_ring *ring);

/* The same with the cuts of the query. */
bool tile_choose_store_ring_of(const tile_target *target, const tile_store_query *query,
                               const tile_store_cut *cuts, unsigned count, tile_store_ring *ring);

/* Returns whether the tile can be stored through a ring whose stages have these extents. */
bool tile_fits_store_ring(const tile_store_query *query, const uint32_t extents[2]);

#endif
