/* Layouts of tiles whose elements come in other places, and of the memory between two layouts. Pure
 * functions on values. */
#ifndef TILE_LIB_LAYOUT_REARRANGE_H
#define TILE_LIB_LAYOUT_REARRANGE_H

#include "lib/layout/layout.h"

/* Of a tile of these extents whose dim d lies along dim source[d] of one with layout `from`, or
 * along none of them (TILE_MAX_RANK), and holds the elements from 0 on that both have: each thread
 * holds what it held of these. What `from` has beside them must be in registers of its own, which
 * are left out; what the tile has beside them comes into registers behind the others. A dim's parts
 * are those of `from`, or it has one. False if there is no such layout. */
bool tile_layout_rearrange(const tile_layout *from, const uint32_t *dims, unsigned rank,
                           const unsigned *source, tile_layout *to);
/* Whether tile_layout_rearrange can take an extent for the other: the one is a part, or so many
 * parts, of the other. */
bool tile_layout_is_part(uint32_t part, uint32_t whole);

/* Of the same elements in row-major order in these extents. False if an extent that is no power of
 * two is taken apart such that the parts of both shapes have different elements. */
bool tile_layout_reshape(const tile_layout *from, const uint32_t *dims, unsigned rank,
                         tile_layout *to);

/* Whether each thread holds the same elements, in whatever order. */
bool tile_layout_same_threads(const tile_layout *a, const tile_layout *b);

/* In which threads hold `w1` neighbours along dim d1 and w2 along d2, powers of two that divide
 * the extents: registers for both, then four lanes along d1, eight along d2, then warps. */
tile_layout tile_layout_blocked_two_dims(const uint32_t *dims, unsigned rank, unsigned d1,
                                         unsigned w1, unsigned d2, unsigned w2, unsigned num_warps);

/* In shared memory, for a tile that is stored as held by `from` and then loaded as by `to`: that of
 * tile_layout_shared_swizzled, or one with fewer bank conflicts. */
tile_layout tile_layout_exchange(const tile_layout *from, const tile_layout *to,
                                 unsigned element_bytes);

#endif
