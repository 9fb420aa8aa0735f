/* Running candidates: a device, the arrays, the checks. A session is in a worker or in the caller's
 * process. */
#ifndef TILE_RUNTIME_TUNE_SESSION_H
#define TILE_RUNTIME_TUNE_SESSION_H

#include "runtime/tune/task.h"

typedef struct tune_session tune_session;

/* task: a message of tune_task_write, which must outlive the session. NULL if it fails, with the
 * reason in the arena. */
tune_session *tune_session_open(const char *task, size_t size, tile_arena *arena, const char **why);
void tune_session_close(tune_session *session);

/* Builds the artifacts that the trial lacks, checks and measures. The outcome's strings are in the
 * arena. */
void tune_session_try(tune_session *session, const tune_trial *trial, tile_arena *arena,
                      tune_outcome *outcome);

#endif
