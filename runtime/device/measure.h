/* Measuring: what kernel.c, plan.c and measure.c share. */
#ifndef TILE_RUNTIME_DEVICE_MEASURE_H
#define TILE_RUNTIME_DEVICE_MEASURE_H

#include "runtime/device/device.h"

/* Fills in the defaults of the options. TILE_INVALID after a report if a value exceeds its
 * limit. */
tile_status tile_take_measure_options(tile_context *context, const tile_measure_options *given,
                                      tile_measure_options *taken);
/* Measures several works. The options set flush and batch; those of `works` are ignored. */
tile_status tile_measure_timed(tile_device *device, const tile_timed *works, unsigned count,
                               const tile_measure_options *options, tile_measurement *out);

#endif
