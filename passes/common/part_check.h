/* Checks where parts of shared buffers begin. */
#ifndef TILE_PASSES_COMMON_PART_CHECK_H
#define TILE_PASSES_COMMON_PART_CHECK_H

#include "lib/analysis/range.h"
#include "passes/pass.h"

/* Called for each operand of the operation that is a part of a shared buffer, with the operand's
 * segment and the type of the tile that is moved. */
typedef void tile_part_visitor(tile_op op, const tile_value *part, const tile_type *tile,
                               void *user);
void visit_parts(const tile_function *f, tile_op op, tile_part_visitor *visit, void *user);

/* Checks that the parts of an operation begin at multiples of their extents, because the bits of
 * a coordinate select an element of the part. They must not be entirely outside the buffer.
 * Returns false after a diagnostic. The CPU device checks parts that may be outside. ranges: by
 * value id. */
bool check_part_begins(tile_pass *pass, const tile_function *f, tile_op op,
                       const tile_range *ranges);

#endif
