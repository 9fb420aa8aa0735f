/* The description of a tuning for the process that runs candidates. A worker or a session in this
 * process is started with it. */
#ifndef TILE_RUNTIME_TUNE_TASK_H
#define TILE_RUNTIME_TUNE_TASK_H

#include "lib/support/record.h"
#include "runtime/device/device.h"
#include "tile/tune.h"

/* The version of the messages, which must be equal on both sides. Their builds may differ: a
 * program with libtile.a inside may use the installed worker. In the arena. */
const char *tune_protocol(tile_arena *arena);

/* The integers and floats of an argument list, one entry for each argument; entries of arrays are
 * ignored. */
typedef struct tune_task {
    bool cuda;
    tile_device_options device;
    const char *target; /* name of the device's target, in a message */
    const char *text;   /* text of the module */
    const char *kernel;
    unsigned argument_count;
    tile_tune_argument *arguments; /* at the tuned shape */
    unsigned small_count;          /* the count of `arguments` */
    int64_t *small; /* the integers of the small shape, if they differ from those of `arguments` */
    bool unchecked; /* no results are compared */
    uint64_t seed;
    tile_measure_options measure;
} tune_task;

void tune_task_write(tile_text *to, const tune_task *task);
/* False if it is not such a message. Strings and arrays are in the arena, `data` in the message. */
bool tune_task_read(const char *message, size_t size, tile_arena *arena, tune_task *task);

bool tune_task_has_small_shape(const tune_task *task);

/* The first message to a worker: the protocol and the task. */
typedef struct tune_start {
    const char *protocol;
    const void *task; /* from tune_task_write */
    size_t task_size;
} tune_start;

/* The answer of the worker. */
typedef struct tune_answer {
    const char *refusal; /* "": the worker is ready */
} tune_answer;

/* An artifact that was compiled for a candidate. */
typedef struct tune_artifact {
    const char *key;
    const void *data;
    size_t size;
} tune_artifact;

/* A candidate to try: its bindings and its artifacts. */
typedef struct tune_trial {
    const char *bindings; /* "block_m=128 block_n=64" */
    double abandon_above; /* seconds, above which a candidate is abandoned; 0: never */
    bool again; /* its results were correct before: only measure the time, as one of several rounds
                 */
    unsigned artifact_count;
    tune_artifact *artifacts;
} tune_trial;

/* The outcome of a trial. The strings are in the arena in which it was read or made. */
typedef struct tune_outcome {
    tile_candidate_state state;
    const char *why;
    const char *check; /* describes what was compared; NULL: nothing */
    bool broken;       /* the device cannot be used any more */
    tile_measurement time;
    int registers, local_bytes, shared_bytes, blocks_per_sm;
} tune_outcome;

extern const tile_record tune_task_record, tune_start_record, tune_answer_record, tune_trial_record,
    tune_outcome_record;

#endif
