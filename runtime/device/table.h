/* Host tables of launches: made once for each shape, kept by the device until its end. */
#ifndef TILE_RUNTIME_DEVICE_TABLE_H
#define TILE_RUNTIME_DEVICE_TABLE_H

#include "runtime/device/device.h"

/* Fills launch->tables for its variant; args: as tile_abi_grid takes them. Finds them without a
 * lock, and makes what is missing, but not while the stream is being captured. */
tile_status tile_take_tables(tile_device *device, const int64_t *args, tile_launch *launch);
void tile_free_tables(tile_device *device);

#endif
