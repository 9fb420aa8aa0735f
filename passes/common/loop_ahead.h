/* Tests whether a loop has an iteration a given number of steps ahead of the current one. */
#ifndef TILE_PASSES_COMMON_LOOP_AHEAD_H
#define TILE_PASSES_COMMON_LOOP_AHEAD_H

#include "lib/analysis/range.h"

/* The variable of an iteration that does not exist may exceed an i32. These conditions are exact
 * for all 32-bit bounds. In the loop, each is a single comparison. */
typedef struct loop_ahead {
    tile_op loop;
    tile_value begin, end, step; /* the operands of the loop */
    const tile_range *ranges;
    size_t range_count; /* values created later have no range */
} loop_ahead;

/* ranges: by value id, of the function's first range_count values. */
loop_ahead loop_ahead_of(const tile_function *f, tile_op loop, const tile_range *ranges,
                         size_t range_count);

/* The range of begin, end or step. */
tile_range loop_ahead_range(const loop_ahead *l, tile_value value);
/* Builds an i1, in the loop: an iteration exists `count` steps after the current one. at: the
 * variable of that iteration, computed in i32. */
tile_value loop_ahead_exists(tile_builder *b, const loop_ahead *l, tile_value at, int64_t count);
/* Builds an i1, before the loop: iteration number `count` exists, count <= most. at: as above. */
tile_value loop_ahead_starts(tile_builder *b, const loop_ahead *l, tile_value at, tile_value count,
                             int64_t most);

#endif
