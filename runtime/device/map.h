/* Tensor maps of launches: encoded when a launch first needs them, kept in a small cache of the
 * variant. */
#ifndef TILE_RUNTIME_DEVICE_MAP_H
#define TILE_RUNTIME_DEVICE_MAP_H

#include "runtime/device/device.h"

/* Room for those of launches with the last few arrays; NULL if the interface names no map. */
tile_map_cache *tile_map_cache_create(const tile_abi *abi);
void tile_map_cache_destroy(tile_map_cache *cache); /* NULL is fine */

/* Fills launch->maps for its variant; args: as tile_abi_tensor_map takes them. Takes no lock,
 * allocates nothing and asks the GPU nothing, so that it is done while a stream is captured, too.
 * TILE_UNAVAILABLE, without a report, where the hardware or the driver takes no such map: *why, in
 * words that go on after "a tensor map needs", or the driver's. */
tile_status tile_take_maps(tile_device *device, const int64_t *args, tile_launch *launch,
                           const char **why);

#endif
