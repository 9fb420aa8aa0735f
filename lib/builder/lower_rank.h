/* A `load` or `store` of a tile that has more dims than the view: the first dims of extent 1 are
 * dropped until the ranks are equal, and the others are the view's dims in their order. The access
 * moves the tile of lower rank; a `reshape` adds or drops the dims of extent 1. */
#ifndef TILE_LIB_BUILDER_LOWER_RANK_H
#define TILE_LIB_BUILDER_LOWER_RANK_H

#include "lib/ir/function.h"

/* Whether it is such an access. segments: as tile_build_op takes them; type: the load's, as
 * written. */
bool tile_lowers_rank(const tile_builder *builder, tile_opcode opcode, const tile_segment *segments,
                      const tile_type *type);
/* Returns the store; of a load the reshape, whose operand is the load's result. No operation after
 * a diagnostic. */
tile_op tile_build_lower_rank(tile_builder *builder, tile_opcode opcode,
                              const tile_segment *segments, unsigned count, const tile_type *type,
                              const tile_attr *attrs, unsigned attr_count);

#endif
