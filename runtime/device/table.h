/* Host tables of launches. A table is made once for each shape and freed with the device. */
#ifndef TILE_RUNTIME_DEVICE_TABLE_H
#define TILE_RUNTIME_DEVICE_TABLE_H

#include "runtime/device/device.h"

/* Fills launch->tables for its variant; args: as tile_abi_grid takes them. It finds existing tables
 * without a lock and makes missing ones, unless the stream is being captured. */
tile_status tile_take_tables(tile_device *device, const int64_t *args, tile_launch *launch);
void tile_free_tables(tile_device *device);

#endif
