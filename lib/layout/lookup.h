/* Looks elements up along one axis of a tile without exchanges between warps: by shuffles from
 * lanes that the index selects.
 *
 *     from    axis: bit 0 in a register, bits 1 to 5 in the lanes
 *             others: registers, warps
 *     to      anything that has the others in the same threads
 *
 *     element k     lane k >> 1 of the warp, register 0 or 1:
 *                   two shuffles from there, and a select by k & 1
 *
 * The bits of a lane's number that hold other dims are kept. Pure functions on values. */
#ifndef TILE_LIB_LAYOUT_LOOKUP_H
#define TILE_LIB_LAYOUT_LOOKUP_H

#include <stdbool.h>

#include "tile/layout.h"

typedef struct tile_lookup_plan {
    uint32_t lanes;    /* bits of a lane's number that depend on the index */
    uint32_t bits;     /* bits of the index that determine them */
    uint32_t lane[32]; /* by bit of the index: what it adds to the lane's number */
    unsigned sources;  /* candidate registers, selected by the other index bits */
} tile_lookup_plan;

/* Finds how each thread gets elements of a tile with layout `from` whose coordinates equal those of
 * its elements in layout `to` except along the axis. Returns false if the elements may be in other
 * warps, or if the layouts differ in more than the axis. */
bool tile_lookup_find(const tile_layout *from, const tile_layout *to, unsigned axis,
                      tile_lookup_plan *plan);
/* Lists the registers that may hold the element for a register of the result; the array has room
 * for plan.sources. Returns their number, which is less if the layouts differ in more than the
 * axis. */
unsigned tile_lookup_sources(const tile_layout *from, const tile_layout *to, unsigned axis,
                             uint32_t register_, uint32_t *sources);
/* The cost for each warp, in half cycles of a multiprocessor (shuffle.h). */
unsigned tile_lookup_cost(const tile_lookup_plan *plan, const tile_layout *to,
                          unsigned element_bytes);

#endif
