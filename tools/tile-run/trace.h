/* --trace: events of the CPU device as a trace in the Trace Event Format, which Perfetto and Chrome
 * read. A process is a block, a thread one of its warps; what goes on in the background of a warp
 * has a thread of its own below it, or several where that overlaps. */
#ifndef TILE_TOOLS_TILE_RUN_TRACE_H
#define TILE_TOOLS_TILE_RUN_TRACE_H

#include <stdio.h>

#include "tile/device.h"

typedef struct trace_row {
    int64_t block[3];
    unsigned warp, number; /* of the block in the trace, from 1 */
    unsigned lane;         /* of the rows of a warp's background, from 0 */
    bool background;
    uint64_t end; /* of the last event */
} trace_row;

/* Start with zeros: then nothing is written. */
typedef struct trace {
    FILE *file;
    const char *path;
    unsigned blocks; /* of how many at most */
    unsigned block_count;
    trace_row *rows; /* that have their names */
    size_t row_count, row_capacity;
    uint64_t events, left_out;
    bool failed;
} trace;

/* path NULL: no trace. False after a message. */
bool trace_open(trace *t, const char *path, unsigned blocks);
/* For tile_device_options.trace; user is the trace. */
void trace_event(const tile_trace_event *event, void *user);
/* Says what has been left out. False after a message if the file could not be written. */
bool trace_close(trace *t);

#endif
