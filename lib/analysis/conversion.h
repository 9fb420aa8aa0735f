/* How a tile is converted from one layout to another, and at what cost. */
#ifndef TILE_LIB_ANALYSIS_CONVERSION_H
#define TILE_LIB_ANALYSIS_CONVERSION_H

#include "lib/ir/function.h"
#include "lib/layout/lookup.h"
#include "lib/layout/shuffle.h"

typedef enum tile_conversion {
    TILE_CONVERTS_NOT,          /* the layouts are the same */
    TILE_CONVERTS_BY_REGISTERS, /* each thread already has its elements: registers are renamed */
    TILE_CONVERTS_BY_SHUFFLES,  /* each warp already has its elements */
    TILE_CONVERTS_BY_MEMORY,    /* through a shared buffer and a barrier */
} tile_conversion;

/* Returns the cheapest way to convert a tile that has a layout. *cost, if not NULL, is the cost per
 * warp in half cycles of a multiprocessor (lib/layout/shuffle.h). */
tile_conversion tile_conversion_of(const tile_type *tile, const tile_layout *to, unsigned *cost);
/* Finds the shuffles that convert such a tile; returns false if there are none. */
bool tile_conversion_shuffles(const tile_type *tile, const tile_layout *to,
                              tile_shuffle_plan *plan);
/* Finds the shuffles that gather elements of such a tile along an axis, for a result with this
 * layout. Returns false if there are none, or if a shared buffer is cheaper. */
bool tile_gather_shuffles(const tile_type *tile, const tile_layout *to, unsigned axis,
                          tile_lookup_plan *plan);
/* The cost of the cheaper way, in the unit of tile_conversion_of. */
unsigned tile_gather_cost(const tile_type *tile, const tile_layout *to, unsigned axis);

#endif
