/* Tuned points in the device's cache: what they are found by, and the bindings they hold. */
#ifndef TILE_RUNTIME_TUNED_H
#define TILE_RUNTIME_TUNED_H

#include "runtime/device.h"
#include "tile/cache.h"

/* What a point of this kernel (not instantiated) is kept under, for a bucket of arguments on this
 * device; its texts are the arena's or the device's. */
tile_point_key tile_tuned_key(tile_device *device, const tile_function *kernel, const char *bucket,
                              tile_arena *arena);

/* The bindings of the point in the device's cache, in the arena; NULL if there is no cache, no such
 * point, or none that can be read. */
tile_binding *tile_find_tuned(tile_device *device, const tile_function *kernel, const char *bucket,
                              tile_arena *arena, unsigned *count);

#endif
