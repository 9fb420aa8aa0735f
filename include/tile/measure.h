/* Measures how long launches take on a device.
 *
 *   tile_measure_options options = {.size = sizeof options, .warmup = 5, .repeats = 50,
 *                                   .flush = TILE_FLUSH_DIRTY};
 *   tile_measurement taken;
 *   tile_measure(kernel, arguments, count, NULL, &options, &taken);   taken.median: seconds
 *
 * On a GPU, the time between two events on the stream is measured, one before and one after the
 * launch. On the CPU device it is wall time, and a flush does nothing. Without a flush and with a
 * batch of 1, the GPU may be idle before the launch. Then the time includes the host's launch
 * overhead.
 *
 * Threads: a device measures for one thread at a time. */
#ifndef TILE_MEASURE_H
#define TILE_MEASURE_H

#include "tile/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The contents of the L2 cache when a launch begins. */
typedef enum tile_flush {
    TILE_FLUSH_NONE,  /* whatever the previous launch left there */
    TILE_FLUSH_DIRTY, /* dirty lines, which must be written back: a buffer of several times the size
                         of the L2 is written before each launch */
    TILE_FLUSH_CLEAN, /* clean lines, which can be dropped: such a buffer is read before each launch
                       */
} tile_flush;

enum { TILE_MAX_REPEATS = 1000000 };

typedef struct tile_measure_options {
    size_t size; /* sizeof(tile_measure_options) */
    /* Untimed launches before the timed ones, otherwise identical to them. */
    unsigned warmup;
    unsigned repeats; /* timed launches; 0: 1. warmup and repeats are at most TILE_MAX_REPEATS */
    /* Number of consecutive launches between the same two events. They count as one timed launch,
     * whose time is divided by batch. 0: 1. A flush precedes the whole batch. */
    unsigned batch;
    tile_flush flush;
    /* Seconds; 0: no limit. The measurement stops when the median will clearly exceed it: the first
     * three timed launches were all slower, or a warmup launch other than the first took twice as
     * long. */
    double abandon_above;
    /* Receives the seconds of the timed launches, in the order in which they ran; NULL: not stored.
     * Space for `repeats` numbers, for several works one row of them each. */
    double *samples;
} tile_measure_options;

/* Seconds per launch; all 0 if the grid is empty. */
typedef struct tile_measurement {
    double median; /* for an even number of launches the upper of the two middle values */
    double fastest, slowest;
    double lower, upper; /* quartiles: half of the launches are between them */
    unsigned repeats;    /* timed launches, or batches */
    bool abandoned;      /* the measurement stopped early */
} tile_measurement;

/* Measures launches of a kernel or plan. The kernel is prepared first (tile_kernel_prepare) and
 * then launched on the stream (a CUstream or NULL). options may be NULL: one launch without warmup.
 * Fails as a launch does. */
TILE_API tile_status tile_measure(tile_kernel *kernel, const tile_argument *arguments,
                                  unsigned argument_count, void *stream,
                                  const tile_measure_options *options, tile_measurement *out);

/* Work that can be launched on a stream: another library's kernel, or several launches. launch must
 * report any error; a status other than TILE_OK ends the measurement. */
typedef struct tile_work {
    tile_status (*launch)(void *stream, void *user);
    void *user;
} tile_work;

/* Measures several works alternately: each once, then each once more, and so on, so that changes of
 * clock rate and temperature affect all of them. out has `count` entries. A work that exceeds
 * options->abandon_above is not launched again. Fails as the works do; TILE_FAILED if the driver
 * has no events. */
TILE_API tile_status tile_measure_works(tile_device *device, const tile_work *works, unsigned count,
                                        void *stream, const tile_measure_options *options,
                                        tile_measurement *out);

/* A launch of a kernel or plan. The string is valid during the call that receives it. */
typedef struct tile_step_measurement {
    const char *kernel; /* "fill" for the launch that fills an array */
    int64_t grid[3];    /* blocks */
    double seconds;     /* what the launch adds to the median of those before it; at least 0 */
    /* Of the arrays that the launch reads and writes. Each array counts once and whole, even if the
     * kernel reads it several times or in part; scratch that belongs to the kernel does not count.
     */
    double read_bytes, written_bytes;
    /* Multiplications and additions of products, also those in the padding of tiles. They are
     * scaled to 16-bit floats on the target's tensor cores: one of another type counts as many as
     * these do in its time. So operations / (the peak of f16) is the least time. */
    double operations;
} tile_step_measurement;

typedef void (*tile_step_visit)(const tile_step_measurement *step, void *user);

/* Measures the launches of a plan, or of a kernel, one by one and calls visit for each, in order.
 * The first launch is timed alone, then the first two together, and so on; the difference is the
 * time of a launch. So the caches and the overlap of launches are those of the whole plan. A flush
 * precedes the first launch only. options as for tile_measure; `samples` and `abandon_above` are
 * ignored. No other thread may launch on the device meanwhile. Fails as a launch does;
 * TILE_UNSUPPORTED if there are more than 256 launches. */
TILE_API tile_status tile_measure_steps(tile_kernel *kernel, const tile_argument *arguments,
                                        unsigned argument_count, void *stream,
                                        const tile_measure_options *options, tile_step_visit visit,
                                        void *user);

#ifdef __cplusplus
}
#endif

#endif
