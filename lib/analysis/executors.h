/* Which warps execute an operation.
 *
 * The executing set is what tiles are spread over, what a thread's number counts in and what a
 * plain `sync` waits for: today all warps of the block. Nobody else looks at a function's warps. */
#ifndef TILE_LIB_ANALYSIS_EXECUTORS_H
#define TILE_LIB_ANALYSIS_EXECUTORS_H

#include "lib/ir/function.h"

enum { TILE_MAX_WARPS = 32 }; /* of a block */

typedef struct tile_executors {
    unsigned first; /* the set's first warp, as the block counts them */
    unsigned warps; /* 0: not known yet, a parameter decides */
} tile_executors;

/* Of what stands in this region. */
tile_executors tile_executors_in(const tile_function *f, tile_region region);
tile_executors tile_executors_of(const tile_function *f, tile_op op);
/* Who computes a value. */
tile_executors tile_executors_of_value(const tile_function *f, tile_value value);
/* All warps of the block. */
tile_executors tile_executors_of_block(const tile_function *f);

/* Bits of the number of a warp in its set; for sets that tile operations take: 2^n warps. */
unsigned tile_warp_bits(tile_executors who);

/* Where the threads that execute a `sync` or `sync_arrive` meet, and how many warps do: as the
 * operation says, or the executing set, whose barrier is number 0 if that is the whole block. warps
 * 0: not known yet. */
typedef struct tile_barrier {
    unsigned number;
    unsigned warps;
} tile_barrier;
tile_barrier tile_barrier_of(const tile_function *f, tile_op op);

enum {
    TILE_MAX_BARRIERS = 16, /* of a block: numbers 0 to 15 */
    TILE_WARP_BARRIER = 16, /* in the place of a number: one warp, which needs none */
};

/* The only maker of barriers: all threads of the set meet at the builder's place, which is one of
 * the set's. */
void tile_build_sync_for(tile_builder *builder, tile_executors who);

#endif
