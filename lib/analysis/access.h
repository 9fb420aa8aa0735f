/* What is proven about accesses to a view: along which dim neighbours are contiguous in memory,
 * and how many elements one access may move. */
#ifndef TILE_LIB_ANALYSIS_ACCESS_H
#define TILE_LIB_ANALYSIS_ACCESS_H

#include "lib/analysis/range.h"
#include "lib/ir/function.h"

typedef struct tile_access_facts {
    unsigned unit_dim; /* the view's dim of stride 1; its rank if no stride is known to be 1, or an
                          index tile stands there */
    unsigned points;   /* the tile's first dims, which index tiles give */
    unsigned width;    /* elements: a power of two, at most 16 bytes. Any access of so many elements
                          along unit_dim that begins at a multiple of it, counted from the element's
                          indices, is aligned and lies wholly inside or outside the view */
} tile_access_facts;

/* element: a view of a level-2 function, then one index for each dim. */
tile_access_facts tile_view_access(const tile_function *f, const tile_range *ranges,
                                   const tile_value *element);

/* The argument whose memory a view or pointer reaches; arg_count if it is none's. */
size_t tile_view_operand(const tile_function *f, tile_value memory);
/* Sets uses[i] for the integer arguments on which the width of accesses to the view depends: those
 * in its strides, and in its extent along the dim of stride 1. */
void tile_mark_view_integers(const tile_function *f, tile_value view, bool *uses);

/* The dim of a tile of this rank (behind its points, the view's last dims) that lies along the
 * view's unit_dim; the rank itself if none does. */
unsigned tile_unit_dim(const tile_access_facts *facts, unsigned view_rank, unsigned tile_rank);

/* The layout in which a block's threads move a tile's extents to or from such a view: neighbouring
 * threads take neighbouring accesses along the tile's unit dim, or its last one, or in the order of
 * the view's layout. */
tile_layout tile_access_layout(const tile_function *f, const tile_range *ranges,
                               const tile_value *element, const tile_type *tile,
                               unsigned num_warps);
/* Of a tile that is copied to a shared buffer: as wide as can be, by fewer threads if it is small.
 * Asynchronous copies of less than 16 bytes go through the L1. */
tile_layout tile_copy_layout(const tile_function *f, const tile_range *ranges,
                             const tile_value *element, const tile_type *tile, unsigned num_warps);
/* The same with accesses of so many elements at most. */
tile_layout tile_narrow_copy_layout(const tile_function *f, const tile_range *ranges,
                                    const tile_value *element, const tile_type *tile,
                                    unsigned num_warps, unsigned most);

#endif
