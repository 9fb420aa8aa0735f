/* Runs candidates, in a separate process or in a session of this process. */
#ifndef TILE_RUNTIME_TUNE_WORKER_H
#define TILE_RUNTIME_TUNE_WORKER_H

#include "lib/support/child.h"
#include "runtime/tune/session.h"

typedef struct tune_runner {
    tile_context *context; /* to which errors are reported */
    const char *path;      /* path of the worker program; NULL: run in this process */
    const char *task;      /* a message of tune_task_write */
    size_t task_size;
    double timeout;           /* of one candidate in seconds; of a start: three times that, or 5 */
    uint64_t most_bytes;      /* limit on a worker's host memory */
    void (*idle)(void *user); /* called about ten times a second during a trial; may be NULL */
    void *user;
    tune_session *session; /* if candidates run in this process */
    tile_child worker;     /* otherwise: the worker's process */
    unsigned restarts;
} tune_runner;

/* Starts the worker or session. A worker that is killed by a signal during its start is started
 * again, three times in all. TILE_UNAVAILABLE, or another status, after a report if it does not
 * start. */
tile_status tune_runner_start(tune_runner *runner);
/* Tries a candidate. If it ends the worker, that is its outcome and a new worker is started. A
 * failure to do so is reported, and no further candidate can be tried. */
tile_status tune_runner_try(tune_runner *runner, const tune_trial *trial, tile_arena *arena,
                            tune_outcome *outcome);
void tune_runner_stop(tune_runner *runner);

#endif
