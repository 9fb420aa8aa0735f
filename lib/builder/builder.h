/* What the builder has for passes and the parser beside tile/build.h. */
#ifndef TILE_LIB_BUILDER_BUILDER_H
#define TILE_LIB_BUILDER_BUILDER_H

#include "lib/ir/function.h"

/* At the end of op's region r, with the builder's location. */
static inline tile_builder tile_builder_in(const tile_builder *builder, tile_op op, unsigned r) {
    tile_function *f = builder->function;
    tile_builder inner = tile_builder_at_end(f, tile_op_region(f, op, r));
    inner.loc = builder->loc;
    return inner;
}

/* Zero of the type, which is a scalar's, a tile's or a vector's. */
tile_value tile_build_zero(tile_builder *builder, const tile_type *type);
/* tile_build_op of an operation whose results' types its attributes tell, too: those that it will
 * get. It has none yet. NULL: they are not known, so that the type must be. */
tile_op tile_build_op_of(tile_builder *builder, tile_opcode opcode, const tile_segment *segments,
                         unsigned segment_count, const tile_type *type, const tile_attr *attrs,
                         unsigned attr_count);

#endif
