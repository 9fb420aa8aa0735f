/* Running candidates: a device, the arrays, the checks. One of these lives in a worker, or in the
 * caller's process. */
#ifndef TILE_RUNTIME_TUNE_SESSION_H
#define TILE_RUNTIME_TUNE_SESSION_H

#include "runtime/tune/task.h"

typedef struct tune_session tune_session;

/* task: a message of tune_task_write, which must live as long. NULL, with why in the arena, if it
 * cannot be. */
tune_session *tune_session_open(const char *task, size_t size, tile_arena *arena, const char **why);
void tune_session_close(tune_session *session);

/* Builds what the trial has no artifacts of, checks and measures. The outcome's texts are the
 * arena's. */
void tune_session_try(tune_session *session, const tune_trial *trial, tile_arena *arena,
                      tune_outcome *outcome);

#endif
