/* Accesses of a view by tiles or buffers that have more dims than the accessed part: the first dims
 * of extent 1 are dropped until the ranks are equal, and the others are the part's dims in their
 * order. The part of a view has the view's rank; at index tiles, it has their dims first, and then
 * one for each scalar coordinate. The access moves a tile of lower rank, and a `reshape` adds or
 * drops the dims of extent 1. A shared buffer keeps its dims: it is copied from or to a view of the
 * same array that has these dims, too, if the view is a row-major argument. */
#ifndef TILE_LIB_BUILDER_LOWER_RANK_H
#define TILE_LIB_BUILDER_LOWER_RANK_H

#include "lib/ir/function.h"

/* Whether it is such an access. segments: as tile_build_op takes them; type: the load's, as
 * written. */
bool tile_lowers_rank(const tile_builder *builder, tile_opcode opcode, const tile_segment *segments,
                      const tile_type *type);
/* Returns the access; if it has a result, the reshape whose operand is the result. No operation
 * after a diagnostic. */
tile_op tile_build_lower_rank(tile_builder *builder, tile_opcode opcode,
                              const tile_segment *segments, unsigned count, const tile_type *type,
                              const tile_attr *attrs, unsigned attr_count);

#endif
