/* Layouts of tiles with rearranged elements, and of the memory that converts between two layouts.
 * Pure functions on values. */
#ifndef TILE_LIB_LAYOUT_REARRANGE_H
#define TILE_LIB_LAYOUT_REARRANGE_H

#include "lib/layout/layout.h"

/* The layout of a tile of these extents whose dim d is dim source[d] of a tile with layout `from`,
 * or none of its dims (TILE_MAX_RANK). The tile holds the elements, from 0 on, that both have; each
 * thread keeps the elements that it holds. Elements that only `from` has must be in registers of
 * their own, which are dropped. Elements that only the tile has are appended as registers. A dim
 * has the parts of `from`, or one part. Returns false if there is no such layout. */
bool tile_layout_rearrange(const tile_layout *from, const uint32_t *dims, unsigned rank,
                           const unsigned *source, tile_layout *to);
/* Returns whether tile_layout_rearrange can replace one extent by the other: one is a part, or some
 * number of parts, of the other. */
bool tile_layout_is_part(uint32_t part, uint32_t whole);

/* The layout of the same elements in row-major order with these extents. Returns false if an extent
 * that is no power of two is split such that the parts of both shapes have different elements. */
bool tile_layout_reshape(const tile_layout *from, const uint32_t *dims, unsigned rank,
                         tile_layout *to);

/* Returns whether each thread holds the same elements, in any order. */
bool tile_layout_same_threads(const tile_layout *a, const tile_layout *b);

/* The layout in which each thread holds w1 adjacent elements along dim d1 and w2 along d2, powers
 * of two that divide the extents: registers for both, then four lanes along d1, eight along d2,
 * then warps. */
tile_layout tile_layout_blocked_two_dims(const uint32_t *dims, unsigned rank, unsigned d1,
                                         unsigned w1, unsigned d2, unsigned w2, unsigned num_warps);

/* The shared-memory layout of a tile that is stored in layout `from` and then loaded in layout
 * `to`: tile_layout_shared_swizzled, or one with fewer bank conflicts. */
tile_layout tile_layout_exchange(const tile_layout *from, const tile_layout *to,
                                 unsigned element_bytes);

#endif
