/* The state of specialize-warps while it plans one loop. */
#ifndef TILE_PASSES_WARPS_PLANNER_H
#define TILE_PASSES_WARPS_PLANNER_H

#include "passes/warps/specialize.h"

typedef struct planner {
    warp_specialization *s;
    tile_function *f;
    tile_op loop;
    tile_region body;
    const uint32_t *uses;     /* by value */
    uint32_t *position;       /* by op at the top level of the body: 1, 2, ... */
    unsigned dots;            /* number of dots in the loop */
    const char *missed;       /* prefix of the remarks */
    bool must_be_synchronous; /* no dot may be pending */
    bool ok;
} planner;

/* Checks that the producer can issue the copy, as far as its source is concerned. Emits a remark if
 * not. Marks the values that the producer computes for it. */
bool specialize_can_produce(planner *p, tile_op copy);
/* prefix.c: returns whether the operation has tiles as operands or results. */
bool specialize_handles_tiles(const tile_function *f, tile_op op);
/* prefix.c: finds the operations before the loops that all warps execute. */
void specialize_divide_prefix(planner *p);
/* outer_ring.c: finds the copies before the loop that the producer issues. */
void specialize_plan_outer_ring(const planner *p);

#endif
