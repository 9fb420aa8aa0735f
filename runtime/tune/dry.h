/* A device that compiles for another device and runs nothing. tile_kernel_create and
 * tile_kernel_prepare make the same artifacts on it as on the other device, and keep them in a
 * store. */
#ifndef TILE_RUNTIME_TUNE_DRY_H
#define TILE_RUNTIME_TUNE_DRY_H

#include "runtime/compile/store.h"
#include "runtime/device/device.h"

typedef struct tile_dry_device {
    tile_device base;
    uint64_t next; /* next free address: the memory is never accessed */
} tile_dry_device;

/* Fills *device; tile_device_destroy closes its base. like: of any context; its target, assembler,
 * level and number of multiprocessors are copied. */
void tile_dry_device_open(tile_dry_device *device, tile_context *context, const tile_device *like,
                          tile_store *store, tile_store_log *log);

#endif
