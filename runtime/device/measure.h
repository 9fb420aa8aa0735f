/* Measuring, as kernel.c, plan.c and measure.c share it. */
#ifndef TILE_RUNTIME_DEVICE_MEASURE_H
#define TILE_RUNTIME_DEVICE_MEASURE_H

#include "runtime/device/device.h"

/* Options with their defaults. TILE_INVALID after a report if they ask for too much. */
tile_status tile_take_measure_options(tile_context *context, const tile_measure_options *given,
                                      tile_measure_options *taken);
/* Measures several works; `works` says nothing of flush and batch, the options do. */
tile_status tile_measure_timed(tile_device *device, const tile_timed *works, unsigned count,
                               const tile_measure_options *options, tile_measurement *out);

#endif
