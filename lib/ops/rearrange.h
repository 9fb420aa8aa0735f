/* The semantics of transpose, reshape, join, unjoin, slice and concat, for code that computes or
 * lowers them: the position of each operand's elements in each result. */
#ifndef TILE_LIB_OPS_REARRANGE_H
#define TILE_LIB_OPS_REARRANGE_H

#include "lib/ops/dims.h"

/* Returns whether op is a transpose, reshape, join, unjoin, slice, or a concat of tiles or tensors.
 */
bool tile_is_rearrangement(const tile_function *f, tile_op op);

/* The shared buffer through which its elements are exchanged; or none. */
tile_value tile_rearranging_buffer(const tile_function *f, tile_op op);

/* The position of the elements of one operand in one result. In dim d of the result, it is the
 * operand's coordinate along the dim `source[d]` (0 if that is TILE_NO_DIM) + added[d]; elements
 * outside of the result are dropped. If the operand's last dim is split, only its elements at
 * `fixed` are taken. The elements of a broadcast are at every coordinate of a dim that has no
 * source. */
typedef struct tile_placement {
    bool flat; /* in the same row-major order; all other fields are then ignored */
    unsigned rank;
    unsigned source[TILE_MAX_RANK];
    int64_t added[TILE_MAX_RANK];
    bool takes_apart, repeats;
    int64_t fixed;
} tile_placement;

/* For an operation with known attributes and extents. */
tile_placement tile_placement_of(const tile_function *f, tile_op op, unsigned operand,
                                 unsigned result);
/* For other operations. before: how much of concat's axis the preceding operands take. first: the
 * values of slice's operands of that name. */
tile_placement tile_rearrange(const tile_function *f, tile_op op, unsigned operand, unsigned result,
                              const int64_t *first, int64_t before);

/* Copies the elements, of this size and in row-major order, of one operand to one result. */
void tile_place_elements(const tile_placement *placement, const int64_t *from_dims,
                         unsigned from_rank, const int64_t *to_dims, size_t size, const void *from,
                         void *to);
/* The result's coordinates of an operand's element; false if it is dropped. Not for flat
 * placements. */
bool tile_placed_coordinates(const tile_placement *placement, const int64_t *from_at,
                             unsigned from_rank, const int64_t *to_dims, int64_t *to_at);

#endif
