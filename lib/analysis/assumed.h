/* Facts about integers that `assume` states. Private to the range analysis and to folding that uses
 * it. */
#ifndef TILE_LIB_ANALYSIS_ASSUMED_H
#define TILE_LIB_ANALYSIS_ASSUMED_H

#include "lib/analysis/range.h"

/* Assumptions about a value: bounds, and a divisor that is at least 1. */
typedef struct tile_assumed {
    int64_t min, max, divisor;
} tile_assumed;

/* Assumptions by value id, in the arena; NULL if the function has no assumptions. An `assume`
 * applies to the values of its own region. In the function's body it applies to all values, because
 * every thread that computes them executes it. */
const tile_assumed *tile_find_assumed(const tile_function *f, tile_arena *arena);

/* The range restricted by the assumptions; the unchanged range if nothing would remain. */
tile_range tile_range_within(tile_range range, const tile_assumed *assumed);

/* Values from which conditions of `assume` are computed, by value id. These must not be folded
 * using the assumptions, so that the CPU device can still check the conditions. NULL as above. */
bool *tile_find_conditions(const tile_function *f, tile_arena *arena);

#endif
