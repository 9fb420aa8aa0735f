/* Tuned points in the device's cache: what they are found by, and the bindings they hold. */
#ifndef TILE_RUNTIME_TUNED_H
#define TILE_RUNTIME_TUNED_H

#include "runtime/device.h"
#include "tile/cache.h"

/* What a point of this kernel (not instantiated) is kept under, for a bucket of arguments on this
 * device; its texts are the arena's or the device's. */
tile_point_key tile_tuned_key(tile_device *device, const tile_function *kernel, const char *bucket,
                              tile_arena *arena);

/* "m=96 n=4096": the bucket of these arguments (tile/device.h), integers in their order; {const}
 * ones that have no value yet are as they are. integers: one for each argument. In the arena. */
const char *tile_bucket_text(const tile_function *kernel, const int64_t *integers,
                             tile_arena *arena);
/* What such text says, "block_m=128 T=f16", in the arena; NULL if it is written differently. */
tile_binding *tile_read_bindings(const char *text, tile_arena *arena, unsigned *count);

/* The bindings of the point in the device's cache or table, in the arena; NULL if there is no such
 * point, or none that can be read. */
tile_binding *tile_find_tuned(tile_device *device, const tile_function *kernel, const char *bucket,
                              tile_arena *arena, unsigned *count);

#endif
