/* A worker process. It receives messages and answers each; a message is its size and then its bytes
 * (serve.c). */
#define _GNU_SOURCE /* strsignal */
#include "runtime/tune/worker.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/support/clock.h"
#include "runtime/tune/serve.h"

/* The start creates the arrays and a CUDA context. Its limit is a multiple of a candidate's. */
static const double start_factor = 3, least_start_seconds = 5;
/* A process may be killed during its start for temporary reasons (memory, a signal to a group). */
enum { STARTS = 3 };

static const tile_loc no_location = {0, 0, 0};

/* Why there is no answer. */
typedef enum worker_failure { NO_FAILURE, DIED, TIMEOUT, MEMORY, BAD_REPLY } worker_failure;

/* Resident bytes; 0 if unknown. */
static uint64_t count_bytes(pid_t process) {
    char path[64];
    unsigned long pages = 0;
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)process);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    if (fscanf(file, "%*u %lu", &pages) != 1) pages = 0;
    fclose(file);
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static bool keep_going(void *user) {
    const tune_runner *r = user;
    if (r->idle) r->idle(r->user);
    return !r->most_bytes || count_bytes(r->worker.process) <= r->most_bytes;
}

/* Sends a message and reads the answer, a record of this kind, into the arena. */
static worker_failure exchange(tune_runner *r, const tile_text *message, double seconds,
                               tile_arena *arena, const tile_record *record, void *answer) {
    static const worker_failure troubles[] = {[TILE_CHILD_CLOSED] = DIED,
                                              [TILE_CHILD_TIMED_OUT] = TIMEOUT,
                                              [TILE_CHILD_ABANDONED] = MEMORY};
    uint64_t size = message->length;
    const tile_child_wait_limit wait_limit = {tile_seconds_now() + seconds, keep_going, r};
    tile_child_result t = tile_child_put(&r->worker, &size, sizeof size, &wait_limit);
    if (!t) t = tile_child_put(&r->worker, message->data, message->length, &wait_limit);
    if (!t) t = tile_child_get(&r->worker, &size, sizeof size, &wait_limit);
    if (!t && size > TUNE_LONGEST_MESSAGE) return BAD_REPLY;
    if (t) return troubles[t];
    char *data = tile_arena_alloc(arena, (size_t)size + 1);
    t = tile_child_get(&r->worker, data, (size_t)size, &wait_limit);
    if (t) return troubles[t];
    return tile_record_unpack(record, data, (size_t)size, arena, answer) ? NO_FAILURE : BAD_REPLY;
}

/* Starting ------------------------------------------------------------------------------------- */

static tile_status fail_system(const tune_runner *r, int error) {
    tile_report(r->context, TILE_ERROR, no_location, "the worker %s: %s", r->path, strerror(error));
    return error == ENOENT || error == EACCES ? TILE_UNAVAILABLE : TILE_FAILED;
}

static tile_status spawn(tune_runner *r) {
    const char *const words[] = {r->path, NULL};
    int error = tile_child_start(&r->worker, words, false, NULL);
    return error ? fail_system(r, error) : TILE_OK;
}

static const char *describe_end(worker_failure t, int state, tile_arena *arena) {
    switch (t) {
    case TIMEOUT: return "it took too long";
    case MEMORY: return "it took too much memory";
    case BAD_REPLY: return "its answer does not follow the protocol";
    case NO_FAILURE:
    case DIED: break;
    }
    if (WIFSIGNALED(state))
        return tile_arena_format(arena, "its process ended: %s", strsignal(WTERMSIG(state)));
    return tile_arena_format(arena, "its process ended with status %d",
                             WIFEXITED(state) ? WEXITSTATUS(state) : -1);
}

/* Returns the exit state of a worker that has ended by itself; kills any other. */
static int reap(tune_runner *r, worker_failure t) {
    if (t == DIED) tile_child_wait(&r->worker, 1);
    tile_child_end(&r->worker, HUGE_VAL);
    return r->worker.state;
}

/* The report for a worker that does not start. */
static const char *describe_start(worker_failure t, double seconds, int state, tile_arena *arena) {
    switch (t) {
    case TIMEOUT:
        return tile_arena_format(arena,
                                 "no answer within %g s; give a worker program of this library, or "
                                 "a longer timeout if it is one",
                                 seconds);
    case MEMORY:
    case BAD_REPLY:
    case NO_FAILURE:
    case DIED: break;
    }
    return describe_end(t, state, arena);
}

/* Starts a process and sends it the task. *why, in the arena: the error, NULL if the worker is
 * ready. *killed: a signal ended it. */
static tile_status begin_once(tune_runner *r, tile_arena *arena, const char **why, bool *killed) {
    tile_text message = {.arena = arena};
    const tune_start begin = {tune_protocol(arena), r->task, r->task_size};
    tune_answer answer = {NULL};
    double seconds = fmax(start_factor * r->timeout, least_start_seconds);
    tile_status status = spawn(r);
    if (status != TILE_OK) return status;
    tile_record_pack(&tune_start_record, &begin, &message);
    worker_failure t = exchange(r, &message, seconds, arena, &tune_answer_record, &answer);
    *killed = false;
    *why = NULL;
    if (!t && !*answer.refusal) return TILE_OK;
    int state = reap(r, t);
    *killed = t == DIED && WIFSIGNALED(state);
    *why = !t ? answer.refusal : describe_start(t, seconds, state, arena);
    return TILE_OK;
}

static tile_status begin_process(tune_runner *r) {
    tile_arena arena = {0};
    const char *why = "";
    bool killed = true;
    tile_status status = TILE_OK;
    for (int start = 0; start < STARTS && killed && status == TILE_OK; start++) {
        if (start) r->restarts++;
        status = begin_once(r, &arena, &why, &killed);
    }
    if (status == TILE_OK && why) {
        const char *often = killed ? ", in each of three starts" : "";
        tile_report(r->context, TILE_ERROR, no_location, "the worker %s does not start: %s%s",
                    r->path, why, often);
        status = TILE_UNAVAILABLE;
    }
    tile_arena_reset(&arena);
    return status;
}

tile_status tune_runner_start(tune_runner *r) {
    tile_arena arena = {0};
    const char *why = "";
    if (r->path) return begin_process(r);
    r->session = tune_session_open(r->task, r->task_size, &arena, &why);
    if (!r->session) tile_report(r->context, TILE_ERROR, no_location, "%s", why);
    tile_arena_reset(&arena);
    return r->session ? TILE_OK : TILE_FAILED;
}

void tune_runner_stop(tune_runner *r) {
    tune_session_close(r->session);
    r->session = NULL;
    if (!r->worker.process) return;
    tile_child_finish(&r->worker); /* the worker sees the end of its input */
    reap(r, DIED);
}

/* Trials --------------------------------------------------------------------------------------- */

static tile_status restart(tune_runner *r) {
    r->restarts++;
    return begin_process(r);
}

static tile_status try_in_process(tune_runner *r, const tune_trial *trial, tile_arena *arena,
                                  tune_outcome *outcome) {
    tune_session_try(r->session, trial, arena, outcome);
    if (!outcome->broken) return TILE_OK;
    tile_report(
        r->context, TILE_ERROR, no_location,
        "a candidate's fault (%s) has ended this process's CUDA context: tune with a worker",
        outcome->why);
    return TILE_FAULT;
}

tile_status tune_runner_try(tune_runner *r, const tune_trial *trial, tile_arena *arena,
                            tune_outcome *outcome) {
    static const tile_candidate_state states[] = {[DIED] = TILE_CANDIDATE_fault,
                                                  [TIMEOUT] = TILE_CANDIDATE_timeout,
                                                  [MEMORY] = TILE_CANDIDATE_memory,
                                                  [BAD_REPLY] = TILE_CANDIDATE_fault};
    tile_arena scratch = {0};
    tile_text message = {.arena = &scratch};
    if (!r->path) return try_in_process(r, trial, arena, outcome);
    tile_record_pack(&tune_trial_record, trial, &message);
    worker_failure t = exchange(r, &message, r->timeout, arena, &tune_outcome_record, outcome);
    tile_arena_reset(&scratch);
    if (!t && !outcome->broken) return TILE_OK;
    int state = reap(r, t ? t : DIED);
    if (t) *outcome = (tune_outcome){.state = states[t], .why = describe_end(t, state, arena)};
    return restart(r);
}
