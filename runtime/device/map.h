/* Tensor maps of launches. They are encoded when a launch first needs them and kept in a small
 * cache of the variant. */
#ifndef TILE_RUNTIME_DEVICE_MAP_H
#define TILE_RUNTIME_DEVICE_MAP_H

#include "runtime/device/device.h"

/* A cache for the maps of launches with the last few arrays; NULL if the interface has no tensor
 * map. */
tile_map_cache *tile_map_cache_create(const tile_abi *abi);
void tile_map_cache_destroy(tile_map_cache *cache); /* NULL is fine */

/* Fills launch->maps for its variant; args: as tile_abi_tensor_map takes them. Takes no lock, does
 * not allocate and does not query the GPU, so it also works while a stream is captured. Returns
 * TILE_UNAVAILABLE without a report if the hardware or the driver does not support such a map. *why
 * is then the reason: words that complete "a tensor map needs", or the driver's message. */
tile_status tile_take_maps(tile_device *device, const int64_t *args, tile_launch *launch,
                           const char **why);

#endif
