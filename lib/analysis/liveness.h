/* When each shared buffer is needed. */
#ifndef TILE_LIB_ANALYSIS_LIVENESS_H
#define TILE_LIB_ANALYSIS_LIVENESS_H

#include "lib/ir/function.h"

/* A stretch of the function's text, in positions: operations are numbered in the order in which
 * they are written, a region's end has a number too. Two buffers whose stretches have no position
 * in common can lie at the same place. */
typedef struct tile_lifetime {
    tile_op alloc;
    tile_value buffer;
    uint32_t first, last;
    bool freed;                     /* there is a free_shared */
    bool explicit_;                 /* a `sync explicit` region uses it */
    bool exchange;                  /* only convert_layout uses it */
    tile_region role;               /* the region of roles that makes it; 0: none */
    tile_region freed_in;           /* the region of roles that frees it for them all; 0: none */
    tile_op free;                   /* where it does */
    uint32_t held_first, held_last; /* as below; else the same as first, last */
} tile_lifetime;

/* One entry for each alloc_shared and alloc_barrier, in order; *count of them, in the arena.
 *
 * A buffer lives from its first use to its last one. A loop that uses it and does not hold its
 * alloc_shared counts as one use as a whole. A copy in the background uses its buffer up to the
 * next `wait_group 0` that every path from the copy takes, else to the function's end. Regions of
 * roles run side by side: a buffer from outside that one of them uses lives as long as all of them,
 * and so does one that several groups make; what other roles make lives at the same time, whatever
 * the positions (tile_live_together). A free_shared directly in one region, run by one group, ends
 * it for what this region makes behind it: that the others are done by then is the author's word.
 * Under `sync explicit` a buffer lives from its alloc_shared to its free_shared, or to the end if
 * it has none: where the user puts the barriers, only the user knows when the threads are done. A
 * buffer that map_shared names is accessed by other blocks, too, wherever this one accesses what
 * map_shared gives: it lives from the cluster_arrive before such an access, or the function's
 * beginning, to the cluster_wait behind it, or to the end. The user knows
 * nothing of the compiler's convert_layout: a buffer of these is held to the function's end against
 * all others, and in a loop from the loop's beginning. Among themselves, and after a buffer that is
 * done with, the barrier that convert_layout begins with is enough. */
tile_lifetime *tile_shared_lifetimes(tile_function *f, tile_arena *arena, unsigned *count);

/* Bytes of the buffers that live where each operation stands, by operation. */
int64_t *tile_live_shared_bytes(tile_function *f, tile_arena *arena);

/* Whether the two buffers must not share bytes. */
bool tile_live_together(const tile_function *f, const tile_lifetime *a, const tile_lifetime *b);

#endif
