/* Reads memory as fast as the device can: a lower bound for every kernel that must read its
 * operands. */
#ifndef TILE_TOOLS_TILE_BENCH_MEASURE_READ_KERNEL_H
#define TILE_TOOLS_TILE_BENCH_MEASURE_READ_KERNEL_H

#include "tools/tile-bench/common/lab.h"

typedef struct bench_reader bench_reader;

enum { BENCH_READER_POINTS = 8 };

/* Creates kernels that read their own buffer. NULL after a diagnostic. */
bench_reader *bench_reader_create(tile_context *context, bench_lab *lab);
/* From now on they read so many bytes. */
tile_status bench_reader_set(bench_reader *reader, size_t bytes);
/* Selects which of the BENCH_READER_POINTS variants is launched, after bench_reader_set. */
tile_status bench_reader_choose(bench_reader *reader, unsigned point);
void bench_reader_destroy(bench_reader *reader);
/* The launch function of a tile_work. */
tile_status bench_reader_launch(void *stream, void *reader);
/* "block=8192 blocks=4 policy=evict_first" */
const char *bench_reader_point(unsigned point);

#endif
