/* Reading memory as fast as the device can: the floor of everything that has to. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_READ_KERNEL_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_READ_KERNEL_H

#include "tile/device.h"

typedef struct bench_reader bench_reader;

enum { BENCH_READER_POINTS = 8 };

/* Kernels that read `bytes` bytes of a buffer of their own. NULL after a diagnostic. */
bench_reader *bench_reader_create(tile_context *context, tile_device *device, size_t bytes);
/* The one that is launched: one of BENCH_READER_POINTS ways to do it. */
tile_status bench_reader_choose(bench_reader *reader, unsigned point);
void bench_reader_destroy(bench_reader *reader);
/* The launch of a tile_work. */
tile_status bench_reader_launch(void *stream, void *reader);
/* "block=8192 blocks=4 policy=evict_first" */
const char *bench_reader_point(unsigned point);

#endif
