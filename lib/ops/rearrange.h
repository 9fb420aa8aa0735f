/* What transpose, reshape, join, unjoin, slice and concat say, for whoever computes or lowers them:
 * where the elements of each operand come in each result. */
#ifndef TILE_LIB_OPS_REARRANGE_H
#define TILE_LIB_OPS_REARRANGE_H

#include "lib/ops/dims.h"

/* A transpose, reshape, join, unjoin, slice, or a concat of tiles or tensors. */
bool tile_is_rearrangement(const tile_function *f, tile_op op);

/* The shared buffer that its elements go through; or none. */
tile_value tile_rearranging_buffer(const tile_function *f, tile_op op);

/* Where the elements of one operand come in one result: at the coordinate along the dim `source[d]`
 * of the operand (0 where that is TILE_NO_DIM) + added[d] in dim d of the result, those outside of
 * it nowhere. Where its last dim is taken apart, only the elements at `fixed` there. A broadcast's
 * come at every coordinate of a dim that has no source. */
typedef struct tile_placement {
    bool flat; /* in the same row-major order; then nothing else counts */
    unsigned rank;
    unsigned source[TILE_MAX_RANK];
    int64_t added[TILE_MAX_RANK];
    bool takes_apart, repeats;
    int64_t fixed;
} tile_placement;

/* Of an operation whose numbers are known, of types with known extents. */
tile_placement tile_placement_of(const tile_function *f, tile_op op, unsigned operand,
                                 unsigned result);
/* Of others: before is how much of concat's axis the operands before this one take, first what
 * slice's operands of that name are. */
tile_placement tile_rearrange(const tile_function *f, tile_op op, unsigned operand, unsigned result,
                              const int64_t *first, int64_t before);

/* Copies the elements, of this size and row-major, that one operand gives to one result. */
void tile_place_elements(const tile_placement *placement, const int64_t *from_dims,
                         unsigned from_rank, const int64_t *to_dims, size_t size, const void *from,
                         void *to);
/* The result's coordinates of an operand's element; false if it comes nowhere. Not for flat ones.
 */
bool tile_placed_coordinates(const tile_placement *placement, const int64_t *from_at,
                             unsigned from_rank, const int64_t *to_dims, int64_t *to_at);

#endif
