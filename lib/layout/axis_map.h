/* Who holds the bits of a coordinate: what moves along one dim of a tile. */
#ifndef TILE_LIB_LAYOUT_AXIS_MAP_H
#define TILE_LIB_LAYOUT_AXIS_MAP_H

#include <stdbool.h>

#include "tile/layout.h"

typedef enum tile_holder {
    TILE_HELD_BY_REGISTER,
    TILE_HELD_BY_LANE,
    TILE_HELD_BY_WARP
} tile_holder;

/* Bit k of the coordinate is the holder's bit `bit`, and nothing else. */
typedef struct tile_axis_map {
    unsigned axis;
    unsigned count; /* bits of a part's coordinate */
    struct {
        tile_holder holder;
        unsigned bit;
    } bits[TILE_LAYOUT_MAX_BITS];
    unsigned others;                      /* register bits that stay in the row .. */
    unsigned other[TILE_LAYOUT_MAX_BITS]; /* .. and which */
} tile_axis_map;

/* False if some bit is not held by one holder's bit alone. */
bool tile_axis_map_find(const tile_layout *layout, unsigned axis, tile_axis_map *along);
/* Whether elements that follow each other are first a thread's, then the next lane's, then the next
 * warp's, and what is left a thread's again: then a row can be scanned where it is. */
bool tile_axis_map_is_in_order(const tile_layout *layout, unsigned axis, tile_axis_map *along);

/* The tile of one cell for each round of registers behind the neighbours (2^near_bits of them) and
 * each warp along the axis, warps inside and rounds outside; the other extents stay. Nobody holds
 * anything yet. */
tile_layout tile_axis_map_cells(const tile_layout *layout, const tile_axis_map *along,
                                unsigned near_bits);
/* The index in it of what an index has besides the axis. */
uint32_t tile_axis_map_cell(const tile_layout *layout, const tile_layout *cells, unsigned axis,
                            uint32_t index);
/* A thread's registers of the parts are (row, step): so many steps along the axis, parts outermost,
 * and so many rows. */
uint32_t tile_axis_map_steps(const tile_layout *layout, const tile_axis_map *along);
uint32_t tile_axis_map_rows(const tile_layout *layout, const tile_axis_map *along);
uint32_t tile_axis_map_register(const tile_layout *layout, const tile_axis_map *along, uint32_t row,
                                uint32_t step);

#endif
