#include "lib/analysis/store_ring.h"

#include "lib/layout/pieces.h"
#include "lib/layout/wgmma.h"
#include "lib/support/target.h"

enum { WIDEST = 128, NARROWEST = 32 /* bytes of a swizzle */, FEWEST_ROWS = 8 };

/* In the swapped form a piece is 64 elements wide and has this number of rows. */
static unsigned narrowest(const tile_store_query *q) {
    unsigned rows = FEWEST_ROWS * q->element_bytes;
    return q->row_dim == TILE_WGMMA_SWAPPED && rows < NARROWEST ? rows : NARROWEST;
}

/* Bytes of all rings of the block with this number of stages per group. */
static int64_t ring_bytes(const tile_store_query *q, const tile_pieces *pieces,
                          const uint32_t extents[2], unsigned stages) {
    return (int64_t)extents[0] * extents[1] * q->element_bytes * pieces->groups * stages * q->sets;
}

/* Cuts pieces of this many bytes across the instruction's rows. */
static bool cut(const tile_store_query *q, unsigned bytes, uint32_t extents[2],
                tile_pieces *pieces) {
    extents[q->row_dim] = TILE_WGMMA_ROWS;
    extents[1 - q->row_dim] = bytes / q->element_bytes;
    tile_layout acc = tile_wgmma_accumulator(q->dims, q->row_dim, q->warps);
    return extents[1 - q->row_dim] > 0 && tile_pieces_cut(&acc, extents, pieces);
}

bool tile_fits_store_ring(const tile_store_query *query, const uint32_t extents[2]) {
    tile_pieces pieces;
    if (!tile_wgmma_admits(query->dims, query->row_dim, query->warps)) return false;
    tile_layout acc = tile_wgmma_accumulator(query->dims, query->row_dim, query->warps);
    return tile_pieces_cut(&acc, extents, &pieces);
}

/* The largest shared memory per block with the same number of resident blocks. */
static int64_t as_many_blocks(const tile_target *target, const tile_store_query *q, int64_t bytes) {
    unsigned blocks =
        tile_target_residency(target, q->block_warps, q->registers,
                              bytes < UINT32_MAX ? (unsigned)bytes : UINT32_MAX, NULL);
    if (!blocks) return bytes;
    int64_t most = (int64_t)target->sm_shared_bytes / blocks - TILE_SHARED_RESERVED;
    return most < (int64_t)target->max_shared_bytes ? most : (int64_t)target->max_shared_bytes;
}

bool tile_choose_store_ring(const tile_target *target, const tile_store_query *query,
                            tile_store_ring *ring) {
    const tile_store_query *q = query;
    int64_t room = (int64_t)target->max_shared_bytes - q->others;
    tile_pieces pieces;
    unsigned stages = 0;
    if (!tile_wgmma_admits(q->dims, q->row_dim, q->warps)) return false;
    for (unsigned most = 2; most > 0 && !stages; most--)
        for (unsigned bytes = WIDEST; bytes >= narrowest(q) && !stages; bytes /= 2) {
            if (!cut(q, bytes, ring->extents, &pieces)) continue;
            unsigned wanted = pieces.count < most ? pieces.count : most;
            if (ring_bytes(q, &pieces, ring->extents, wanted) <= room) stages = wanted;
        }
    if (!stages) return false;
    int64_t enough = q->released;
    if (!enough)
        enough =
            as_many_blocks(target, q, q->others + ring_bytes(q, &pieces, ring->extents, stages)) -
            q->others;
    if (enough > room) enough = room;
    while (q->alone && stages < pieces.count &&
           ring_bytes(q, &pieces, ring->extents, stages + 1) <= enough)
        stages++;
    ring->stages = stages * pieces.groups;
    ring->bytes = ring_bytes(q, &pieces, ring->extents, stages);
    return true;
}
