/* Splits a thread's registers of a tile into accesses of adjacent elements. Pure functions on
 * values. */
#ifndef TILE_LIB_LAYOUT_CUT_H
#define TILE_LIB_LAYOUT_CUT_H

#include <stdbool.h>

#include "tile/layout.h"

/* bits[i] is the register bit of element offset 1 << i inside an access. The other register bits
 * enumerate the accesses of a part. Parts follow one after the other. */
typedef struct tile_access_split {
    unsigned count; /* number of accesses */
    unsigned width_bits;
    unsigned bits[5];
    unsigned rest_bits;
    unsigned rest[TILE_LAYOUT_MAX_BITS];
} tile_access_split;

/* For accesses of up to `widest` elements. offsets[b] is what register bit b adds to the linear
 * position, fixed are the bits that other inputs add. */
tile_access_split tile_split_fragment_accesses(const tile_layout *layout, const uint32_t *offsets,
                                               uint32_t fixed, unsigned widest);
/* For accesses along dim d of the tile. */
tile_access_split tile_split_accesses_along(const tile_layout *layout, unsigned d, unsigned widest);
/* Register number of element `element` of access `index`. */
unsigned tile_access_split_register(const tile_access_split *cut, unsigned index, unsigned element);

/* The number of adjacent lanes, a power of two, that hold adjacent runs of `vec` elements along dim
 * d, each lane one run; 0 if no lane holds whole runs. */
unsigned tile_layout_run_lanes(const tile_layout *layout, unsigned d, unsigned vec);

#endif
