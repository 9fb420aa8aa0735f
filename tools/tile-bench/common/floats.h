/* Many floats at once, to and from the types that memory has them in. */
#ifndef TILE_TOOLS_TILE_BENCH_COMMON_FLOATS_H
#define TILE_TOOLS_TILE_BENCH_COMMON_FLOATS_H

#include "tile/ir.h"

/* What tile_scalar_write and tile_scalar_read do, but that f16 takes finite numbers below 65504 and
 * bf16 finite ones: loops without branches, for vectors. */
void bench_store_floats(tile_scalar scalar, const float *from, size_t count, void *to);
void bench_load_floats(tile_scalar scalar, const void *from, size_t count, float *to);

/* The first element that is a NaN or infinite; count if there is none. */
size_t bench_find_unfinished(tile_scalar scalar, const void *from, size_t count);

#endif
