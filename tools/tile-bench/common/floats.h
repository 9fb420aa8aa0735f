/* Converts many floats at once to and from the types in memory. */
#ifndef TILE_TOOLS_TILE_BENCH_COMMON_FLOATS_H
#define TILE_TOOLS_TILE_BENCH_COMMON_FLOATS_H

#include "tile/ir.h"

/* Same as tile_scalar_write and tile_scalar_read, except that f16 takes only finite numbers below
 * 65504 and bf16 only finite ones: branchless loops that vectorize. */
void bench_store_floats(tile_scalar scalar, const float *from, size_t count, void *to);
void bench_load_floats(tile_scalar scalar, const void *from, size_t count, float *to);

/* Returns the index of the first NaN or infinity; count if there is none. */
size_t bench_find_nonfinite(tile_scalar scalar, const void *from, size_t count);

#endif
