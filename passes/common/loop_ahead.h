/* Iterations ahead of the one that runs: whether a loop has them. */
#ifndef TILE_PASSES_COMMON_LOOP_AHEAD_H
#define TILE_PASSES_COMMON_LOOP_AHEAD_H

#include "lib/analysis/range.h"

/* The variable of an iteration that does not exist may be more than an i32 holds. These conditions
 * are exact for all bounds of 32 bits, and in the loop they are one comparison. */
typedef struct loop_ahead {
    tile_op loop;
    tile_value begin, end, step; /* as they were written */
    const tile_range *ranges;
    size_t range_count; /* later values have none */
} loop_ahead;

/* ranges: of that many values of the function. */
loop_ahead loop_ahead_of(const tile_function *f, tile_op loop, const tile_range *ranges,
                         size_t range_count);

/* Of a bound. */
tile_range loop_ahead_range(const loop_ahead *l, tile_value value);
/* i1, in the loop: there is an iteration `count` steps after the one that runs. at: its variable,
 * as i32 addition gives it. */
tile_value loop_ahead_exists(tile_builder *b, const loop_ahead *l, tile_value at, int64_t count);
/* i1, before the loop: there is an iteration number `count`, which is at most `most`. at: as above.
 */
tile_value loop_ahead_starts(tile_builder *b, const loop_ahead *l, tile_value at, tile_value count,
                             int64_t most);

#endif
