/* Elements that are looked up along one axis of a tile, where no warp has to ask another one: by
 * shuffles from lanes that the index names.
 *
 *     from    axis: bit 0 in a register, bits 1 to 5 in the lanes       to    anything that has the
 *             others: registers, warps                                        others in the same
 * threads
 *
 *     element k     lane k >> 1 of the warp, register 0 or 1: two shuffles from there, and a select
 * by k & 1
 *
 * A lane keeps those bits of its number that hold other dims. Pure functions on values. */
#ifndef TILE_LIB_LAYOUT_LOOKUP_H
#define TILE_LIB_LAYOUT_LOOKUP_H

#include <stdbool.h>

#include "tile/layout.h"

typedef struct tile_lookup_plan {
    uint32_t lanes;    /* bits of a lane's number that the index tells */
    uint32_t bits;     /* bits of the index that tell them */
    uint32_t lane[32]; /* by bit of the index: what it adds to the lane's number */
    unsigned sources;  /* registers that an element may lie in, told by the index' other bits */
} tile_lookup_plan;

/* How each thread gets elements of a tile that is held as `from` says, which differ from those it
 * holds of another tile, as `to` says, in the coordinate along the axis alone. False if they may
 * lie in other warps, or the layouts differ in more. */
bool tile_lookup_find(const tile_layout *from, const tile_layout *to, unsigned axis,
                      tile_lookup_plan *plan);
/* The registers in which the element for a register of the result may lie; room for plan.sources.
 * Returns how many there are, fewer where the layouts differ in more than the axis. */
unsigned tile_lookup_sources(const tile_layout *from, const tile_layout *to, unsigned axis,
                             uint32_t register_, uint32_t *sources);
/* What that takes, for each warp, in half cycles of a multiprocessor (shuffle.h). */
unsigned tile_lookup_cost(const tile_lookup_plan *plan, const tile_layout *to,
                          unsigned element_bytes);

#endif
