/* Finds integers that count up along a dim of a tile, and comparisons that are constant along a
 * run. */
#ifndef TILE_LIB_ANALYSIS_RUNS_H
#define TILE_LIB_ANALYSIS_RUNS_H

#include "lib/analysis/range.h"
#include "lib/ir/function.h"

enum { TILE_LONGEST_RUN = 64 };

/* The largest power of two R such that element c along dim d is e + c % R, where e is a multiple of
 * R and equal for all elements with the same c / R; 1 if none is known.
 *
 *     iota(axis = 1) + 8 * %j, of [2, 16]     along dim 1: 8
 */
unsigned tile_counting_run(const tile_function *f, const tile_range *ranges, tile_value value,
                           unsigned d);

/* The number of neighbors along dim d, starting at a multiple of it, for which a comparison of
 * tiles provably has equal results: a power of two. For `%at < %n`, where %at counts and %n is
 * divisible by 8: 8. */
unsigned tile_compare_run(const tile_function *f, const tile_range *ranges, tile_op op, unsigned d);

#endif
