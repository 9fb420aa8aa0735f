/* Which inputs (register, lane and warp bits) hold the bits of a coordinate along one dim of a
 * tile. */
#ifndef TILE_LIB_LAYOUT_AXIS_MAP_H
#define TILE_LIB_LAYOUT_AXIS_MAP_H

#include <stdbool.h>

#include "tile/layout.h"

typedef enum tile_holder {
    TILE_HELD_BY_REGISTER,
    TILE_HELD_BY_LANE,
    TILE_HELD_BY_WARP
} tile_holder;

/* Bit k of the coordinate is exactly the holder's bit `bit`. */
typedef struct tile_axis_map {
    unsigned axis;
    unsigned count; /* bits of a coordinate within a part */
    struct {
        tile_holder holder;
        unsigned bit;
    } bits[TILE_LAYOUT_MAX_BITS];
    unsigned others;                      /* register bits that do not move along the axis .. */
    unsigned other[TILE_LAYOUT_MAX_BITS]; /* .. and which ones */
} tile_axis_map;

/* Returns false if a coordinate bit is not exactly one bit of one holder. */
bool tile_axis_map_find(const tile_layout *layout, unsigned axis, tile_axis_map *along);
/* Returns whether consecutive elements are first in one thread, then in the next lane, then in the
 * next warp, and the remaining ones in the thread's registers again: then a row can be scanned in
 * place. */
bool tile_axis_map_is_in_order(const tile_layout *layout, unsigned axis, tile_axis_map *along);

/* The same layout with the axis in another order: a thread's registers hold consecutive elements,
 * if each coordinate bit is held by one bit of one holder. Returns false if it is so already. */
bool tile_axis_map_registers_first(const tile_layout *layout, unsigned axis, tile_layout *ordered);

/* The tile of cells for partial results: one cell for each warp along the axis and each group of
 * 2^near_bits registers, warps innermost, groups outermost. The other extents stay. No thread holds
 * any element of it yet. */
tile_layout tile_axis_map_cells(const tile_layout *layout, const tile_axis_map *along,
                                unsigned near_bits);
/* The layout in shared memory of the cells for groups of neighbors of one thread. */
tile_layout tile_axis_map_shared_cells(const tile_layout *layout, const tile_axis_map *along,
                                       unsigned element_bytes);
/* The index in the cells of an index of the tile, without the axis. */
uint32_t tile_axis_map_cell(const tile_layout *layout, const tile_layout *cells, unsigned axis,
                            uint32_t index);
/* A thread's registers of the parts are numbered (row, step): the number of steps along the axis,
 * parts outermost, and the number of rows. */
uint32_t tile_axis_map_steps(const tile_layout *layout, const tile_axis_map *along);
uint32_t tile_axis_map_rows(const tile_layout *layout, const tile_axis_map *along);
uint32_t tile_axis_map_register(const tile_layout *layout, const tile_axis_map *along, uint32_t row,
                                uint32_t step);

#endif
