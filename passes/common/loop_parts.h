/* The iterations of a loop, distributed round-robin. */
#ifndef TILE_PASSES_COMMON_LOOP_PARTS_H
#define TILE_PASSES_COMMON_LOOP_PARTS_H

#include "passes/common/loop_ahead.h"

typedef struct loop_part {
    tile_value begin, end, step;
} loop_part;

/* The bounds of the loop that runs a part's share of the loop, built at the builder: part p of
 * `parts` runs the iterations p, p + parts, p + 2 * parts, ... (0 <= p < parts <= 65535; parts >=
 * 2).
 *
 * Exact for all bounds of 32 bits: a part without an iteration has a loop that does not run. If a
 * step of that many iterations does not fit an i32, each part runs two iterations that follow each
 * other. A step that is not positive stays one. */
loop_part loop_part_build(tile_builder *b, const loop_ahead *l, tile_value part, int64_t parts);
/* Whether the parts surely take turns: by ranges, a step of `parts` iterations is an i32. */
bool loop_parts_interleave(const loop_ahead *l, int64_t parts);

#endif
