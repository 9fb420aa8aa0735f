/* How long launches take on a device.
 *
 *   tile_measure_options options = {.size = sizeof options, .warmup = 5, .repeats = 50,
 *                                   .flush = TILE_FLUSH_DIRTY};
 *   tile_measurement taken;
 *   tile_measure(kernel, arguments, count, NULL, &options, &taken);   taken.median: seconds
 *
 * On a GPU the time is that between two events on the stream, one before and one behind the launch;
 * on the CPU device it is the wall clock's, and a flush does nothing. Without a flush and with a
 * batch of 1 the GPU may be idle when the launch comes: then the host's part is in the time.
 *
 * Threads: a device measures for one thread at a time. */
#ifndef TILE_MEASURE_H
#define TILE_MEASURE_H

#include "tile/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the L2 holds when a launch begins. */
typedef enum tile_flush {
    TILE_FLUSH_NONE,  /* what the launch before left there */
    TILE_FLUSH_DIRTY, /* lines just written, which must go to memory first: a buffer of several
                         times its size is written before each launch */
    TILE_FLUSH_CLEAN, /* lines that can be dropped: such a buffer is read */
} tile_flush;

enum { TILE_MAX_REPEATS = 1000000 };

typedef struct tile_measure_options {
    size_t size; /* sizeof(tile_measure_options) */
    unsigned
        warmup; /* launches that do not count, before the others; as long as these in all else */
    unsigned repeats; /* timed ones; 0: 1. At most TILE_MAX_REPEATS each */
    unsigned batch; /* launches in a row, between the same two events, that count as one timed one,
                       of a batch-th of the time; 0: 1. A flush stands before the batch */
    tile_flush flush;
    /* Seconds; 0: never. Gives up when it is clear that the median will be above: three timed
     * launches were all slower, or one to warm up, other than the first, took twice that. */
    double abandon_above;
    /* Where the timed launches' seconds go, in the order in which they ran; NULL: nowhere. Room for
     * `repeats`, of each work in a row of its own. */
    double *samples;
} tile_measure_options;

/* Seconds of one launch; all 0 if the grid is empty. */
typedef struct tile_measurement {
    double median; /* of an even number the upper one of the middle two */
    double fastest, slowest;
    double lower, upper; /* quartiles: half of the launches lie between them */
    unsigned repeats;    /* timed launches, or batches */
    bool abandoned;      /* it was given up */
} tile_measurement;

/* Measures launches of a kernel or plan: prepared first (tile_kernel_prepare), then launched on the
 * stream (a CUstream or NULL). options may be NULL: one launch, nothing else. Fails as a launch
 * does. */
TILE_API tile_status tile_measure(tile_kernel *kernel, const tile_argument *arguments,
                                  unsigned argument_count, void *stream,
                                  const tile_measure_options *options, tile_measurement *out);

/* Something that can be launched on a stream: another library's kernel, or several launches. What
 * is not TILE_OK has been reported, and ends the measurement. */
typedef struct tile_work {
    tile_status (*launch)(void *stream, void *user);
    void *user;
} tile_work;

/* Measures several works in turn: each once, then each once more, and so on, so that they share
 * what the clock and the temperature do meanwhile. out has `count` entries. One that is given up
 * (options->abandon_above) is left out from then on. Fails as the works do, TILE_FAILED where the
 * driver has no events. */
TILE_API tile_status tile_measure_works(tile_device *device, const tile_work *works, unsigned count,
                                        void *stream, const tile_measure_options *options,
                                        tile_measurement *out);

#ifdef __cplusplus
}
#endif

#endif
