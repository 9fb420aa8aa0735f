/* Who runs candidates: a process of its own, or a session in this one. */
#ifndef TILE_RUNTIME_TUNE_WORKER_H
#define TILE_RUNTIME_TUNE_WORKER_H

#include "lib/support/child.h"
#include "runtime/tune/session.h"

typedef struct tune_runner {
    tile_context *context; /* of what is reported */
    const char *path;      /* of the worker program; NULL: in this process */
    const char *task;      /* a message of tune_task_write */
    size_t task_size;
    double timeout;           /* seconds that a candidate may take; a start: three times, or 5 */
    uint64_t most_bytes;      /* of host memory that a worker may take */
    void (*idle)(void *user); /* called some ten times a second while a worker works; may be NULL */
    void *user;
    tune_session *session; /* in this process */
    tile_child worker;     /* or the program's process */
    unsigned restarts;
} tune_runner;

/* Starts it. A worker that is killed by a signal while it starts is started again, three times in
 * all. TILE_UNAVAILABLE, or another status, after a report if it does not begin. */
tile_status tune_runner_start(tune_runner *runner);
/* Tries a candidate. What ends the worker is the candidate's outcome, and a new one is started;
 * failing that is reported, and no further one can be tried. */
tile_status tune_runner_try(tune_runner *runner, const tune_trial *trial, tile_arena *arena,
                            tune_outcome *outcome);
void tune_runner_stop(tune_runner *runner);

#endif
