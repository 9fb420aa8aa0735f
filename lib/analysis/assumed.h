/* What `assume` says of integers: private to the analysis of ranges and to who folds with it. */
#ifndef TILE_LIB_ANALYSIS_ASSUMED_H
#define TILE_LIB_ANALYSIS_ASSUMED_H

#include "lib/analysis/range.h"

/* What is assumed of a value wherever it is known: bounds, and a divisor that is at least 1. */
typedef struct tile_assumed {
    int64_t min, max, divisor;
} tile_assumed;

/* By value id, in the arena; NULL where the function assumes nothing. An operation `assume` counts
 * for the values of its own region, and in the function's body for all that are known there: who
 * computes them reaches it. */
const tile_assumed *tile_find_assumed(const tile_function *f, tile_arena *arena);

/* The range that is left; the same where nothing would be. */
tile_range tile_range_within(tile_range range, const tile_assumed *assumed);

/* By value id: what conditions of `assume` are computed from, and must not be folded by what they
 * say, so that whoever runs the kernel can check them. NULL as above. */
bool *tile_find_conditions(const tile_function *f, tile_arena *arena);

#endif
