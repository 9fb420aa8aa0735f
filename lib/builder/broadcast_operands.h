/* Operands of different shapes: what stands beside a tile becomes one. */
#ifndef TILE_LIB_BUILDER_BROADCAST_OPERANDS_H
#define TILE_LIB_BUILDER_BROADCAST_OPERANDS_H

#include "lib/ir/function.h"

/* Before an element-wise operation: puts a `splat` behind each scalar beside a tile, tensor or
 * vector, and a `broadcast` behind each tile or tensor with extents of 1 beside longer ones, so
 * that all of them have one shape. Tensors' ranks may differ; what the operation repeats itself, a
 * scalar or tensor of lower rank beside one other tensor, stays as it is. So does a scalar
 * condition, and all of them where there is no common shape, which the operation's rule then
 * reports. False after a diagnostic. */
bool tile_broadcast_operands(tile_builder *builder, tile_opcode opcode, tile_value *operands,
                             unsigned count);

/* What an access with index tiles stores or combines, if it is a scalar, becomes a tile of their
 * shape. False after a diagnostic. */
bool tile_splat_scalars(tile_builder *builder, tile_opcode opcode, tile_value *operands,
                        const uint16_t *sizes);

/* The predicate of an access (TILE_TRAIT_GATHERS), a tile with extents of 1, becomes one of the
 * shape of what is moved: operands and sizes as in tile_op_data, given the result's type as
 * written, or NULL. What does not fit stays as it is. False after a diagnostic. */
bool tile_broadcast_predicate(tile_builder *builder, tile_opcode opcode, tile_value *operands,
                              const uint16_t *sizes, const tile_type *given);

#endif
