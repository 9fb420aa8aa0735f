/* Converts operands of different shapes to a common shape. */
#ifndef TILE_LIB_BUILDER_BROADCAST_OPERANDS_H
#define TILE_LIB_BUILDER_BROADCAST_OPERANDS_H

#include "lib/ir/function.h"

/* Called before an elementwise operation is built, to give its operands one shape. Adds a `splat`
 * of each scalar that is combined with a tile, tensor or vector, and a `broadcast` of each tile or
 * tensor with extents of 1 that is combined with a larger one. Tensors may have different ranks.
 * Some operands do not change: a scalar or lower-rank tensor that the operation itself repeats
 * along another tensor, and a scalar condition. If there is no common shape, nothing changes and
 * the operation's rule reports the error. Returns false after a diagnostic. */
bool tile_broadcast_operands(tile_builder *builder, tile_opcode opcode, tile_value *operands,
                             unsigned count);

/* If an access has index tiles, converts a scalar that it stores or combines to a tile of their
 * shape. Returns false after a diagnostic. */
bool tile_splat_scalars(tile_builder *builder, tile_opcode opcode, tile_value *operands,
                        const uint16_t *sizes);

/* Broadcasts the predicate of an access (TILE_TRAIT_GATHERS) with extents of 1 to the shape of the
 * moved tile. operands and sizes are as in tile_op_data; given is the type of the result as
 * written, or NULL. Predicates that cannot be broadcast do not change. Returns false after a
 * diagnostic. */
bool tile_broadcast_predicate(tile_builder *builder, tile_opcode opcode, tile_value *operands,
                              const uint16_t *sizes, const tile_type *given);

/* The type of elements `element`, a scalar type, in the common shape of the arguments, which may
 * have any element types; NULL if there is no common shape. */
const tile_type *tile_broadcast_type(tile_function *f, const tile_value *arguments, unsigned count,
                                     const tile_type *element);

#endif
