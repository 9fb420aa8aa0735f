/* Facts proven about accesses to a view: the dim along which elements are contiguous in memory, and
 * the number of elements that one access may move. */
#ifndef TILE_LIB_ANALYSIS_ACCESS_H
#define TILE_LIB_ANALYSIS_ACCESS_H

#include "lib/analysis/range.h"
#include "lib/ir/function.h"

typedef struct tile_access_facts {
    /* The view's dim of stride 1; its rank if no stride is known to be 1, or if the index of that
     * dim is an index tile. */
    unsigned unit_dim;
    unsigned points; /* number of leading dims of the tile that come from index tiles */
    /* Elements per access: a power of two, at most 16 bytes. Take any access of this width along
     * unit_dim that begins at a multiple of the width, relative to the element's indices. It is
     * aligned and entirely in or out of bounds. */
    unsigned width;
    /* The same for rows that need not end at such a multiple: an access may end after its row. */
    unsigned row_width;
    /* Elements per access of loads that need no alignment (ld_global_unaligned), where these pay:
     * if an aligned access has less than 4 bytes. Such an access is entirely before a row or
     * begins in it, and may end after the row. Otherwise as `width`. */
    unsigned unaligned;
    bool shifts; /* stores of `unaligned` elements may exchange elements with neighboring lanes:
                    aligned accesses are narrower, and none begins before the row */
} tile_access_facts;

/* element: a view of a level-2 function, followed by one index per dim. */
tile_access_facts tile_view_access(const tile_function *f, const tile_range *ranges,
                                   const tile_value *element);

/* Index of the argument whose memory a view or pointer refers to; arg_count if there is none. */
size_t tile_view_operand(const tile_function *f, tile_value memory);
/* Sets uses[i] for the integer arguments that determine the width of accesses to the view: the
 * integers in its strides, and in its extent along the dim of stride 1. */
void tile_mark_view_integers(const tile_function *f, tile_value view, bool *uses);

/* The dim of a tile of this rank that corresponds to the view's unit_dim; the rank itself if there
 * is none. The tile's dims are its points, followed by the last dims of the view. */
unsigned tile_unit_dim(const tile_access_facts *facts, unsigned view_rank, unsigned tile_rank);

/* The layout with which a block's threads move the tile from or to such a view. Adjacent threads
 * make adjacent accesses along the tile's unit dim, or else its last dim. If the view has a layout,
 * they follow its order. */
tile_layout tile_access_layout(const tile_function *f, const tile_range *ranges,
                               const tile_value *element, const tile_type *tile,
                               unsigned num_warps);
/* The same for a load or store of a whole tile (lib/ops/gather.h) between registers and a view
 * whose rows may begin anywhere: unaligned loads, and stores that exchange elements between lanes.
 */
tile_layout tile_transfer_layout(const tile_function *f, const tile_range *ranges,
                                 const tile_value *element, const tile_type *tile,
                                 unsigned num_warps);
/* Elements per access of a store of a whole tile in this layout. */
unsigned tile_store_width(const tile_access_facts *facts, const tile_layout *layout, unsigned unit);
/* The layout for copying the tile to a shared buffer: accesses are as wide as possible, so a small
 * tile uses fewer threads. Asynchronous copies of less than 16 bytes go through the L1 cache. Rows
 * that allow only accesses of less than 4 bytes, less than the smallest asynchronous copy, are
 * copied by unaligned loads. To a buffer of 4-byte elements that is contiguous along another dim,
 * elements are copied one by one. For plain accesses (lib/ops/gather.h). */
tile_layout tile_copy_layout(const tile_function *f, const tile_range *ranges,
                             const tile_value *element, const tile_type *tile, unsigned num_warps);
/* The same with aligned accesses of at most `most` elements. */
tile_layout tile_narrow_copy_layout(const tile_function *f, const tile_range *ranges,
                                    const tile_value *element, const tile_type *tile,
                                    unsigned num_warps, unsigned most);

#endif
