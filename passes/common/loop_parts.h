/* The iterations of a loop, distributed round-robin. */
#ifndef TILE_PASSES_COMMON_LOOP_PARTS_H
#define TILE_PASSES_COMMON_LOOP_PARTS_H

#include "passes/common/loop_ahead.h"

typedef struct loop_part {
    tile_value begin, end, step;
} loop_part;

/* Builds the bounds of the loop that runs one part's share: part p of `parts` runs iterations p, p
 * + parts, p + 2 * parts, ... (0 <= p < parts; 2 <= parts <= 65535).
 *
 * Exact for all 32-bit bounds: a part without iterations has an empty loop. If a step of that many
 * iterations does not fit an i32, each part runs two consecutive iterations. A step that is not
 * positive stays not positive. */
loop_part loop_part_build(tile_builder *b, const loop_ahead *l, tile_value part, int64_t parts);
/* Returns whether the parts provably interleave: ranges show that a step of `parts` iterations fits
 * an i32. */
bool loop_parts_interleave(const loop_ahead *l, int64_t parts);

#endif
