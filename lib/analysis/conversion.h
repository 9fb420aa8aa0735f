/* How a tile gets from one layout to another, and what that takes. */
#ifndef TILE_LIB_ANALYSIS_CONVERSION_H
#define TILE_LIB_ANALYSIS_CONVERSION_H

#include "lib/ir/function.h"
#include "lib/layout/lookup.h"
#include "lib/layout/shuffle.h"

typedef enum tile_conversion {
    TILE_CONVERTS_NOT,          /* the layouts are the same */
    TILE_CONVERTS_BY_REGISTERS, /* each thread has what it needs: a renaming */
    TILE_CONVERTS_BY_SHUFFLES,  /* each warp has */
    TILE_CONVERTS_BY_MEMORY,    /* through a shared buffer and a barrier */
} tile_conversion;

/* Of a tile with a layout; the cheapest way. *cost, if not NULL: for each warp, in half cycles of a
 * multiprocessor (lib/layout/shuffle.h). */
tile_conversion tile_conversion_of(const tile_type *tile, const tile_layout *to, unsigned *cost);
/* The shuffles that convert such a tile; false if there are none. */
bool tile_conversion_shuffles(const tile_type *tile, const tile_layout *to,
                              tile_shuffle_plan *plan);
/* The shuffles that gather elements of such a tile along an axis, for a result with this layout;
 * false if there are none, or a shared buffer is cheaper. */
bool tile_gather_shuffles(const tile_type *tile, const tile_layout *to, unsigned axis,
                          tile_lookup_plan *plan);
/* What the cheaper way takes, as tile_conversion_of has it. */
unsigned tile_gather_cost(const tile_type *tile, const tile_layout *to, unsigned axis);

#endif
