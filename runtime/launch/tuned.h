/* Tuned points in the device's cache: their keys and bindings. */
#ifndef TILE_RUNTIME_LAUNCH_TUNED_H
#define TILE_RUNTIME_LAUNCH_TUNED_H

#include "runtime/device/device.h"
#include "tile/cache.h"

/* The key of the tuned point of this kernel (not instantiated) for these arguments on this device.
 * It has their bucket, "m=96 n=4096" (tile/device.h), and their sizes: the integers in order.
 * {const} arguments without a value are not rounded in either. integers: one for each argument. The
 * strings belong to the arena or the device. */
tile_point_key tile_tuned_key(tile_device *device, const tile_function *kernel,
                              const int64_t *integers, tile_arena *arena);
/* Parses the arguments' sizes of such a key into one integer for each argument; other arguments
 * keep their value. Returns false on a syntax error. */
bool tile_read_sizes(const tile_function *kernel, const char *sizes, int64_t *integers);

/* Parses bindings such as "block_m=128 T=f16" (may be empty) into the arena. NULL on a syntax
 * error. */
tile_binding *tile_read_bindings(const char *text, tile_arena *arena, unsigned *count);

/* Returns whether a kernel or plan without `tune` has been tuned with splits and a split was
 * fastest for some sizes. */
bool tile_has_tuned_split(tile_device *device, const tile_function *f);

/* Visits the points of these arguments' bucket: first those in the device's cache, newest first,
 * then those in its table. */
void tile_list_tuned(tile_device *device, const tile_function *kernel, const int64_t *integers,
                     tile_point_visitor visit, void *user);

#endif
