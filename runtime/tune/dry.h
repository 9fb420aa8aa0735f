/* A device that compiles for another one and runs nothing: what tile_kernel_create and
 * tile_kernel_prepare make on it is what they would make there, and lies in a store then. */
#ifndef TILE_RUNTIME_TUNE_DRY_H
#define TILE_RUNTIME_TUNE_DRY_H

#include "runtime/compile/store.h"
#include "runtime/device/device.h"

typedef struct tile_dry_device {
    tile_device base;
    uint64_t next; /* address: memory is never touched */
} tile_dry_device;

/* Fills *device, whose base is closed by tile_device_destroy. like: of any context; its target,
 * assembler, level and multiprocessors are taken. */
void tile_dry_device_open(tile_dry_device *device, tile_context *context, const tile_device *like,
                          tile_store *store, tile_store_log *log);

#endif
