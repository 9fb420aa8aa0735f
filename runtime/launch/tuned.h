/* Tuned points in the device's cache: what they are found by, and the bindings they hold. */
#ifndef TILE_RUNTIME_LAUNCH_TUNED_H
#define TILE_RUNTIME_LAUNCH_TUNED_H

#include "runtime/device/device.h"
#include "tile/cache.h"

/* What the point of this kernel (not instantiated) for these arguments is kept under on this
 * device: their bucket, "m=96 n=4096" (tile/device.h), and their sizes, integers in their order,
 * and {const} ones that have no value yet as they are in both. integers: one for each argument. Its
 * texts are the arena's or the device's. */
tile_point_key tile_tuned_key(tile_device *device, const tile_function *kernel,
                              const int64_t *integers, tile_arena *arena);
/* The arguments' sizes of such a key, into one integer for each argument; the others stay as they
 * are. False if it is written differently. */
bool tile_read_sizes(const tile_function *kernel, const char *sizes, int64_t *integers);

/* What such text says, "block_m=128 T=f16" or nothing, in the arena; NULL if it is written
 * differently. */
tile_binding *tile_read_bindings(const char *text, tile_arena *arena, unsigned *count);

/* Whether a kernel or plan without `tune` has been tuned with splits, and one of them was the best
 * for some sizes. */
bool tile_has_tuned_split(tile_device *device, const tile_function *f);

/* The points of the bucket of these arguments in the device's cache, the newest first, then those
 * in its table. */
void tile_list_tuned(tile_device *device, const tile_function *kernel, const int64_t *integers,
                     tile_point_visitor visit, void *user);

#endif
