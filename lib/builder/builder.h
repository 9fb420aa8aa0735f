/* Builder functions for passes and the parser, in addition to tile/build.h. */
#ifndef TILE_LIB_BUILDER_BUILDER_H
#define TILE_LIB_BUILDER_BUILDER_H

#include "lib/ir/function.h"

/* A builder at the end of op's region r, with the same location. */
static inline tile_builder tile_builder_in(const tile_builder *builder, tile_op op, unsigned r) {
    tile_function *f = builder->function;
    tile_builder inner = tile_builder_at_end(f, tile_op_region(f, op, r));
    inner.loc = builder->loc;
    return inner;
}

/* Zero of a scalar, tile or vector type. */
tile_value tile_build_zero(tile_builder *builder, const tile_type *type);
/* tile_build_op for operations whose attributes help to determine the types of results. attrs are
 * the attributes that the operation will get; they are not set yet. NULL: unknown, so type is
 * required. */
tile_op tile_build_op_of(tile_builder *builder, tile_opcode opcode, const tile_segment *segments,
                         unsigned segment_count, const tile_type *type, const tile_attr *attrs,
                         unsigned attr_count);

#endif
