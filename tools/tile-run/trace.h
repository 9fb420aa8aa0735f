/* --trace: writes events of the CPU device in the Trace Event Format, which Perfetto and Chrome
 * read. A process is a block, a thread one of its warps. Asynchronous events of a warp are shown as
 * another thread below it, or several where they overlap. */
#ifndef TILE_TOOLS_TILE_RUN_TRACE_H
#define TILE_TOOLS_TILE_RUN_TRACE_H

#include <stdio.h>

#include "tile/device.h"

typedef struct trace_row {
    int64_t block[3];
    unsigned warp, number; /* number: of the block in the trace, from 1 */
    unsigned lane;         /* index of the row for a warp's asynchronous events, from 0 */
    bool background;
    uint64_t end; /* of the last event */
} trace_row;

/* Zero-initialize; then nothing is written. */
typedef struct trace {
    FILE *file;
    const char *path;
    unsigned blocks; /* at most this many blocks are traced */
    unsigned block_count;
    trace_row *rows; /* the rows whose names were written */
    size_t row_count, row_capacity;
    uint64_t events, left_out;
    bool failed;
} trace;

/* path NULL: no trace. False after a message. */
bool trace_open(trace *t, const char *path, unsigned blocks);
/* For tile_device_options.trace; user is the trace. */
void trace_event(const tile_trace_event *event, void *user);
/* Reports what was omitted. False after a message if the file could not be written. */
bool trace_close(trace *t);

#endif
