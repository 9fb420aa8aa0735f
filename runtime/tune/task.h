/* What is tuned, as the process that runs candidates needs to know it: a worker is started with it,
 * and a session in this process, too. */
#ifndef TILE_RUNTIME_TUNE_TASK_H
#define TILE_RUNTIME_TUNE_TASK_H

#include "lib/support/record.h"
#include "runtime/device/device.h"
#include "tile/tune.h"

/* Which messages they are: the versions of the two sides, that have to be the same. Their builds
 * need not be: a program with libtile.a inside may use the worker that is installed. In the arena.
 */
const char *tune_protocol(tile_arena *arena);

/* Integers and floats of an argument list, one entry for each; those of arrays are not looked at.
 */
typedef struct tune_task {
    bool cuda;
    tile_device_options device;
    const char *target; /* the device's, in a message */
    const char *text;   /* the module's */
    const char *kernel;
    unsigned argument_count;
    tile_tune_argument *arguments; /* at the tuned shape */
    unsigned small_count;          /* as many */
    int64_t *small; /* the integers of the small shape; those of `arguments`: there is none */
    bool unchecked; /* nothing is compared */
    uint64_t seed;
    tile_measure_options measure;
} tune_task;

void tune_task_write(tile_text *to, const tune_task *task);
/* False if the message is none. Texts and arrays are the arena's, `data` the message's. */
bool tune_task_read(const char *message, size_t size, tile_arena *arena, tune_task *task);

bool tune_task_has_small_shape(const tune_task *task);

/* The first message to a worker: which protocol it is of, and the task. */
typedef struct tune_start {
    const char *protocol;
    const void *task; /* of tune_task_write */
    size_t task_size;
} tune_start;

/* Its answer. */
typedef struct tune_answer {
    const char *refusal; /* "": the worker is ready */
} tune_answer;

/* What was compiled for a candidate. */
typedef struct tune_artifact {
    const char *key;
    const void *data;
    size_t size;
} tune_artifact;

/* A candidate to be tried: its bindings, and what was compiled for it. */
typedef struct tune_trial {
    const char *bindings; /* "block_m=128 block_n=64" */
    double hopeless;      /* seconds; 0: none is */
    bool again; /* it was right before: only the time is asked for, of a round of several */
    unsigned artifact_count;
    tune_artifact *artifacts;
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

extern const tile_record tune_task_record, tune_start_record, tune_answer_record, tune_trial_record,
    tune_outcome_record;

#endif
