/* What a launch checks of its arguments, of a kernel and of a plan alike. */
#ifndef TILE_RUNTIME_DEVICE_ARGUMENTS_H
#define TILE_RUNTIME_DEVICE_ARGUMENTS_H

#include "runtime/device/device.h"

/* Whether the device can take these arguments, as many as the abi has: their kinds, their buffers,
 * and that these hold what views reach; what is wrong is reported of @name. numbers become what
 * conditions and host expressions read: integers and addresses. */
tile_status tile_check_arguments(const tile_device *device, const char *name, const tile_abi *abi,
                                 const tile_argument *arguments, int64_t *numbers);

/* Of an empty kernel that has the arguments of this kernel or plan, which is instantiated: what is
 * known of them before anything is compiled. The caller's; NULL after a diagnostic. */
tile_abi *tile_arguments_create(const tile_module *module, const char *name);

#endif
