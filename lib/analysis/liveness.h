/* Live ranges of shared buffers. */
#ifndef TILE_LIB_ANALYSIS_LIVENESS_H
#define TILE_LIB_ANALYSIS_LIVENESS_H

#include "lib/ir/function.h"

/* An interval of positions in the function's text. Operations are numbered in the order in which
 * they are written, and the end of a region has a number, too. Two buffers whose intervals are
 * disjoint can have the same address. */
typedef struct tile_lifetime {
    tile_op alloc;
    tile_value buffer;
    uint32_t first, last;
    bool freed;                     /* a free_shared frees it */
    bool explicit_;                 /* a `sync explicit` region uses it */
    bool exchange;                  /* only convert_layout uses it */
    tile_region role;               /* the region of roles that allocates it; 0: none */
    tile_region freed_in;           /* the region of roles that frees it for all regions; 0: none */
    tile_op free;                   /* that free_shared */
    uint32_t held_first, held_last; /* see below; usually equal to first, last */
} tile_lifetime;

/* Returns one entry for each alloc_shared and alloc_barrier, in order; *count of them, in the
 * arena.
 *
 * A buffer is live from its first use to its last use, with these extensions:
 *
 * - A loop that uses a buffer but does not contain its alloc_shared counts as one use as a whole.
 * - An asynchronous copy uses its buffer until the next `wait_group 0` that every path from the
 *   copy executes, or else to the end of the function.
 * - Regions of roles run concurrently. A buffer from outside that one of them uses is live in all
 *   of them, and so is a buffer that several groups allocate. Buffers that different roles allocate
 *   are live at the same time, whatever the positions (tile_live_together).
 * - A free_shared directly in one region, executed by one group, ends the live range with respect
 *   to buffers that this region allocates later. The author guarantees that the other regions are
 *   done with it.
 * - Under `sync explicit` a buffer is live from its alloc_shared to its free_shared, or to the end
 *   if it has none. The user places the barriers, so only the user can tell when the threads are
 *   done.
 * - A buffer that map_shared uses may be accessed by other blocks wherever this block accesses the
 *   result of map_shared. It is live from the last cluster_arrive before such an access, or else
 *   the beginning of the function, to the next cluster_wait after it, or else the end.
 * - Under `sync explicit` the user's barriers do not cover the buffers of convert_layout, which the
 *   compiler adds. Such a buffer is held until the end of the function against all other buffers,
 *   and inside a loop from the beginning of the loop (held_first, held_last). For two such buffers,
 *   or after a buffer that is no longer live, the barrier at the start of convert_layout is enough.
 */
tile_lifetime *tile_shared_lifetimes(tile_function *f, tile_arena *arena, unsigned *count);

/* Bytes of the buffers that are live at each operation, by operation. */
int64_t *tile_live_shared_bytes(tile_function *f, tile_arena *arena);

/* Returns whether the two buffers must not share memory. */
bool tile_live_together(const tile_function *f, const tile_lifetime *a, const tile_lifetime *b);

#endif
