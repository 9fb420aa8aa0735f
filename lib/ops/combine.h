/* `reduce` and `scan` with a function of the author's: the function and what it combines. */
#ifndef TILE_LIB_OPS_COMBINE_H
#define TILE_LIB_OPS_COMBINE_H

#include "lib/layout/axis_map.h"
#include "lib/ir/function.h"

/* The maximum number of operands of tiles. Of tensors it is one less, because `schedule` adds one.
 */
enum { TILE_MAX_COMBINED = 9 };

typedef struct tile_combine {
    const tile_function *function; /* a func: 2n scalars to n */
    unsigned count;                /* n */
    unsigned axis;
    bool reduces, reverse, exclusive;
} tile_combine;

static inline bool tile_combines_by_function(tile_opcode opcode) {
    return opcode == TILE_OP_reduce_with || opcode == TILE_OP_scan_with;
}

/* Returns false while the axis has no value yet, or if there is no such func. */
bool tile_combine_of(const tile_function *f, tile_op op, tile_combine *combine);

/* The layout of the results for operands of this layout, whose rows must be in order
 * (tile_axis_map_is_in_order). */
tile_layout tile_combine_result(const tile_combine *combine, const tile_layout *layout);
/* The integer type in which warps exchange an element of each operand through the buffer. */
tile_scalar tile_combine_word(const tile_function *f, tile_op op);
/* The buffer for operands of this layout: a stage for each. NULL: it needs none. */
const tile_type *tile_combine_buffer(const tile_function *f, tile_op op, const tile_layout *layout);

#endif
