/* Integers that count up along a dim of a tile, and what comparisons with them have in common. */
#ifndef TILE_LIB_ANALYSIS_RUNS_H
#define TILE_LIB_ANALYSIS_RUNS_H

#include "lib/analysis/range.h"
#include "lib/ir/function.h"

enum { TILE_LONGEST_RUN = 64 };

/* The largest power of two R such that along dim d element c of the value is e + c % R, where e is
 * a multiple of R and the same for all elements whose c / R is; 1 if none is known.
 *
 *     iota(axis = 1) + 8 * %j, of [2, 16]     along dim 1: 8 */
unsigned tile_counting_run(const tile_function *f, const tile_range *ranges, tile_value value,
                           unsigned d);

/* How many neighbours along dim d, from a multiple of that number on, a comparison of tiles surely
 * gives the same for: a power of two. `%at < %n` where %at counts and %n is divisible by 8: 8. */
unsigned tile_compare_run(const tile_function *f, const tile_range *ranges, tile_op op, unsigned d);

#endif
