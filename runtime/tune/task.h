/* What is tuned, as the process that runs candidates needs to know it: a worker is started with it,
 * and a session in this process, too. */
#ifndef TILE_RUNTIME_TUNE_TASK_H
#define TILE_RUNTIME_TUNE_TASK_H

#include "runtime/device/device.h"
#include "runtime/tune/message.h"
#include "tile/tune.h"

/* Integers and floats of an argument list, one entry for each; those of arrays are not looked at.
 */
typedef struct tune_task {
    bool cuda;
    tile_device_options device;
    const char *text; /* the module's */
    const char *kernel;
    unsigned argument_count;
    tile_tune_argument *arguments; /* at the tuned shape */
    int64_t *small; /* the integers of the small shape; those of `arguments`: there is none */
    bool unchecked; /* nothing is compared */
    uint64_t seed;
    tile_measure_options measure;
} tune_task;

void tune_task_write(tile_text *to, const tune_task *task);
/* False if the message is none. Texts and arrays are the arena's, `data` the message's. */
bool tune_task_read(tune_reader *from, tune_task *task);

bool tune_task_has_small_shape(const tune_task *task);

/* A candidate to be tried: its bindings, and what was compiled for it. */
typedef struct tune_trial {
    const char *bindings; /* "block_m=128 block_n=64" */
    double hopeless;      /* seconds; 0: none is */
    bool again; /* it was right before: only the time is asked for, of a round of several */
    unsigned artifact_count;
    const char **keys;
    const void **data;
    size_t *sizes;
} tune_trial;

/* What became of it. The texts are the arena's in which it was read or made. */
typedef struct tune_outcome {
    tile_candidate_state state;
    const char *why;
    const char *check; /* what was compared, in words; NULL: nothing */
    bool broken;       /* the device is of no use any more */
    tile_measurement time;
    int registers, local_bytes, shared_bytes, blocks_per_sm;
} tune_outcome;

void tune_trial_write(tile_text *to, const tune_trial *trial);
bool tune_trial_read(tune_reader *from, tune_trial *trial);
void tune_outcome_write(tile_text *to, const tune_outcome *outcome);
bool tune_outcome_read(tune_reader *from, tune_outcome *outcome);

#endif
