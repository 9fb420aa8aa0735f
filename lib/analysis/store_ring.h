/* The ring of buffers through which a product's tiles are stored piece by piece (store_async): its
 * stages, by what shared memory is left. The pass that makes it and the model that estimates it ask
 * here. */
#ifndef TILE_LIB_ANALYSIS_STORE_RING_H
#define TILE_LIB_ANALYSIS_STORE_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "tile/target.h"

typedef struct tile_store_query {
    uint32_t dims[2]; /* of the tile */
    unsigned row_dim; /* where the rows of the instruction lie: TILE_WGMMA_PLAIN or _EXCHANGED */
    unsigned element_bytes;
    unsigned warps, sets; /* of the set that stores, and how many sets have rings of their own */
    unsigned block_warps, registers; /* of the block; of a thread, 0: not known */
    int64_t others;   /* bytes of the block's shared memory that are in use beside the rings */
    int64_t released; /* bytes more that are free when tiles are stored: the block has had them */
    bool alone;       /* the kernel needs no other ring */
} tile_store_query;

typedef struct tile_store_ring {
    uint32_t extents[2]; /* of a stage */
    unsigned stages;     /* of all groups of a set */
    int64_t bytes;       /* of all sets */
} tile_store_ring;

/* Pieces are 64 rows of 128 bytes, and two stages for each warpgroup let one be written while the
 * other one is read. Narrower ones where the tile's parts are or there is no room, and then one
 * stage; as many stages as
 * pieces where that takes nothing from anybody: no other block would find room. False if not even
 * one stage fits, or warpgroups do not hold whole pieces. */
bool tile_choose_store_ring(const tile_target *target, const tile_store_query *query,
                            tile_store_ring *ring);

/* Whether the tile can go through a ring whose stages have these extents. */
bool tile_fits_store_ring(const tile_store_query *query, const uint32_t extents[2]);

#endif
