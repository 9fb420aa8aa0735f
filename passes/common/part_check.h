/* Where parts of shared buffers begin. */
#ifndef TILE_PASSES_COMMON_PART_CHECK_H
#define TILE_PASSES_COMMON_PART_CHECK_H

#include "lib/analysis/range.h"
#include "passes/pass.h"

/* Calls visit for each operand of the operation that is a part of a shared buffer: the segment of
 * the operand, and the type of the tile that is moved. */
typedef void tile_part_visitor(tile_op op, const tile_value *part, const tile_type *tile,
                               void *user);
void visit_parts(const tile_function *f, tile_op op, tile_part_visitor *visit, void *user);

/* Whether the parts of an operation begin at multiples of their extents, and not all outside of the
 * buffer: by the bits of a coordinate an element of a part is found. False after a diagnostic.
 * What may be outside is checked by the CPU device. ranges: by value id. */
bool check_part_begins(tile_pass *pass, const tile_function *f, tile_op op,
                       const tile_range *ranges);

#endif
