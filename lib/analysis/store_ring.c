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
static int64_t ring_bytes(const tile_store_query *q, const tile_store_cut *cut, unsigned stages) {
    return (int64_t)cut->extents[0] * cut->extents[1] * q->element_bytes * cut->groups * stages *
           q->sets;
}

unsigned tile_list_store_cuts(const tile_store_query *q, tile_store_cut cuts[TILE_MAX_STORE_CUTS]) {
    unsigned count = 0;
    tile_pieces pieces;
    if (!tile_wgmma_admits(q->dims, q->row_dim, q->warps)) return 0;
    const tile_layout acc = tile_wgmma_accumulator(q->dims, q->row_dim, q->warps);
    for (unsigned bytes = WIDEST; bytes >= narrowest(q) && count < TILE_MAX_STORE_CUTS;
         bytes /= 2) {
        tile_store_cut *cut = &cuts[count]; /* across the instruction's rows */
        cut->extents[q->row_dim] = TILE_WGMMA_ROWS;
        cut->extents[1 - q->row_dim] = bytes / q->element_bytes;
        if (!cut->extents[1 - q->row_dim] || !tile_pieces_cut(&acc, cut->extents, &pieces))
            continue;
        cut->count = pieces.count;
        cut->groups = pieces.groups;
        count++;
    }
    return count;
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

bool tile_choose_store_ring_of(const tile_target *target, const tile_store_query *q,
                               const tile_store_cut *cuts, unsigned count, tile_store_ring *ring) {
    int64_t room = (int64_t)target->max_shared_bytes - q->others;
    const tile_store_cut *cut = cuts;
    unsigned stages = 0;
    for (unsigned most = 2; most > 0 && !stages; most--)
        for (unsigned i = 0; i < count && !stages; i++) {
            cut = &cuts[i];
            unsigned wanted = cut->count < most ? cut->count : most;
            if (ring_bytes(q, cut, wanted) <= room) stages = wanted;
        }
    if (!stages) return false;
    int64_t enough = q->released;
    if (!enough)
        enough = as_many_blocks(target, q, q->others + ring_bytes(q, cut, stages)) - q->others;
    if (enough > room) enough = room;
    while (q->alone && stages < cut->count && ring_bytes(q, cut, stages + 1) <= enough) stages++;
    for (unsigned d = 0; d < 2; d++) ring->extents[d] = cut->extents[d];
    ring->stages = stages * cut->groups;
    ring->bytes = ring_bytes(q, cut, stages);
    return true;
}

bool tile_choose_store_ring(const tile_target *target, const tile_store_query *query,
                            tile_store_ring *ring) {
    tile_store_cut cuts[TILE_MAX_STORE_CUTS];
    const unsigned count = tile_list_store_cuts(query, cuts);
    return tile_choose_store_ring_of(target, query, cuts, count, ring);
}
