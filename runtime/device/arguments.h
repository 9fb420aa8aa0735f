/* Argument checks of launches, for kernels and plans. */
#ifndef TILE_RUNTIME_DEVICE_ARGUMENTS_H
#define TILE_RUNTIME_DEVICE_ARGUMENTS_H

#include "runtime/device/device.h"

/* Returns whether the device accepts these arguments, of which there are as many as the abi has:
 * their kinds, their buffers, and that each buffer contains what its view accesses. Errors are
 * reported for @name. `numbers` receives the values for conditions and host expressions: integers
 * and addresses. */
tile_status tile_check_arguments(const tile_device *device, const char *name, const tile_abi *abi,
                                 const tile_argument *arguments, int64_t *numbers);

/* The abi of an empty kernel that has the arguments of this instantiated kernel or plan: what is
 * known of the arguments before anything is compiled. Owned by the caller; NULL after a
 * diagnostic. */
tile_abi *tile_arguments_create(const tile_module *module, const char *name);

#endif
