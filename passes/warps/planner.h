/* What the conditions of specialize-warps look at, while it plans one loop. */
#ifndef TILE_PASSES_WARPS_PLANNER_H
#define TILE_PASSES_WARPS_PLANNER_H

#include "passes/warps/specialize.h"

typedef struct planner {
    warp_specialization *s;
    tile_function *f;
    tile_op loop;
    tile_region body;
    const uint32_t *uses;     /* by value */
    uint32_t *position;       /* by op, directly in the body: 1, 2, ... */
    unsigned dots;            /* in the loop */
    const char *missed;       /* what remarks say first */
    bool must_be_synchronous; /* no product may be pending */
    bool ok;
} planner;

/* Whether the producer can make the copy, as far as its source goes; a remark if not. What it
 * computes for that is marked as needed. */
bool specialize_can_produce(planner *p, tile_op copy);
/* prefix.c: whether the operation has tiles as operands or results. */
bool specialize_handles_tiles(const tile_function *f, tile_op op);
/* prefix.c: finds the operations before the loops that all warps compute. */
void specialize_divide_prefix(planner *p);
/* outer_ring.c: finds the copies before the loop that the producer makes. */
void specialize_plan_outer_ring(const planner *p);

#endif
