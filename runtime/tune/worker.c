/* A worker's process: started with posix_spawn on one end of a socket pair, which is its standard
 * input and output. Sockets rather than pipes, so that writing to one that died gives an error and
 * no signal. A message is its size, then its bytes (serve.c). */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "runtime/tune/worker.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/support/clock.h"
#include "runtime/tune/serve.h"

extern char **environ;

enum { LOOK_MILLISECONDS = 50 };
/* To begin, which makes the arrays and a CUDA context: of the time that a candidate may take. */
static const double start_factor = 3, least_start_seconds = 5;
/* A process may be killed while it starts, for reasons that pass (memory, a signal to a group). */
enum { STARTS = 3 };

static const tile_loc no_place = {0, 0, 0};

/* Why there was no answer. */
typedef enum trouble { NO_TROUBLE, DIED, TIMEOUT, MEMORY, NONSENSE } trouble;

/* Ends it, however it is. *state: as waitpid says. */
static void end_process(tune_runner *r, int *state) {
    *state = 0;
    if (!r->process) return;
    kill(r->process, SIGKILL);
    while (waitpid(r->process, state, 0) < 0 && errno == EINTR) {
    }
    close(r->socket);
    r->process = 0;
}

/* Resident bytes; 0 if that cannot be known. */
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

/* Waits until the socket is ready for `events`. */
static trouble wait_for(tune_runner *r, short events, double deadline) {
    for (;;) {
        struct pollfd file = {.fd = r->socket, .events = events};
        int ready = poll(&file, 1, LOOK_MILLISECONDS);
        if (ready > 0) return NO_TROUBLE;
        if (ready < 0 && errno != EINTR) return DIED;
        if (r->idle) r->idle(r->user);
        if (r->most_bytes && count_bytes(r->process) > r->most_bytes) return MEMORY;
        if (tile_seconds_now() > deadline) return TIMEOUT;
    }
}

static trouble put(tune_runner *r, const void *from, size_t size, double deadline) {
    const char *at = from;
    while (size) {
        trouble t = wait_for(r, POLLOUT, deadline);
        if (t) return t;
        ssize_t sent = send(r->socket, at, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (sent <= 0) return DIED;
        at += sent;
        size -= (size_t)sent;
    }
    return NO_TROUBLE;
}

static trouble get(tune_runner *r, void *to, size_t size, double deadline) {
    char *at = to;
    while (size) {
        trouble t = wait_for(r, POLLIN, deadline);
        if (t) return t;
        ssize_t got = recv(r->socket, at, size, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
        if (got <= 0) return DIED;
        at += got;
        size -= (size_t)got;
    }
    return NO_TROUBLE;
}

/* Sends a message and reads the answer into the arena. */
static trouble ask(tune_runner *r, const tile_text *message, double seconds, tile_arena *arena,
                   tune_reader *answer) {
    uint64_t size = message->length;
    double deadline = tile_seconds_now() + seconds;
    trouble t = put(r, &size, sizeof size, deadline);
    if (!t) t = put(r, message->data, message->length, deadline);
    if (!t) t = get(r, &size, sizeof size, deadline);
    if (!t && size > TUNE_LONGEST_MESSAGE) t = NONSENSE;
    if (t) return t;
    char *data = tile_arena_alloc(arena, (size_t)size + 1);
    *answer = (tune_reader){.at = data, .end = data + size, .arena = arena};
    return get(r, data, (size_t)size, deadline);
}

/* Starting --------------------------------------------------------------------------------------
 */

static tile_status fail_system(const tune_runner *r, int error) {
    tile_report(r->context, TILE_ERROR, no_place, "the worker %s: %s", r->path, strerror(error));
    return error == ENOENT || error == EACCES ? TILE_UNAVAILABLE : TILE_FAILED;
}

static tile_status spawn(tune_runner *r) {
    int ends[2];
    char *words[] = {(char *)r->path, NULL};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return fail_system(r, errno);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    int error = posix_spawn(&r->process, r->path, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    r->socket = ends[0];
    if (!error) return TILE_OK;
    close(ends[0]);
    r->process = 0;
    return fail_system(r, error);
}

static const char *describe_end(trouble t, int state, tile_arena *arena) {
    switch (t) {
    case TIMEOUT: return "it took too long";
    case MEMORY: return "it took too much memory";
    case NONSENSE: return "what it answers is not of this protocol";
    case NO_TROUBLE:
    case DIED: break;
    }
    if (WIFSIGNALED(state))
        return tile_arena_format(arena, "its process ended: %s", strsignal(WTERMSIG(state)));
    return tile_arena_format(arena, "its process ended with status %d",
                             WIFEXITED(state) ? WEXITSTATUS(state) : -1);
}

/* A worker that has ended by itself is asked how; another one is killed. */
static void reap(tune_runner *r, trouble t, int *state) {
    *state = 0;
    if (t == DIED) {
        const struct timespec moment = {.tv_nsec = 1000000};
        for (int i = 0; i < 1000; i++) {
            if (waitpid(r->process, state, WNOHANG) == r->process) {
                close(r->socket);
                r->process = 0;
                return;
            }
            nanosleep(&moment, NULL);
        }
    }
    end_process(r, state);
}

/* What a worker that does not begin is reported with. */
static const char *describe_start(trouble t, double seconds, int state, tile_arena *arena) {
    switch (t) {
    case TIMEOUT:
        return tile_arena_format(arena,
                                 "no answer within %g s; give a worker program of this library, or "
                                 "a longer timeout if it is one",
                                 seconds);
    case MEMORY:
    case NONSENSE:
    case NO_TROUBLE:
    case DIED: break;
    }
    return describe_end(t, state, arena);
}

/* Starts a process and sends it the task. *why, in the arena: what is wrong, NULL if it is ready;
 * *killed: it ended by a signal. */
static tile_status begin_once(tune_runner *r, tile_arena *arena, const char **why, bool *killed) {
    tile_text message = {.arena = arena};
    tune_reader answer;
    int state = 0;
    double seconds = fmax(start_factor * r->timeout, least_start_seconds);
    tile_status status = spawn(r);
    if (status != TILE_OK) return status;
    tune_put_text(&message, tune_protocol(arena));
    tune_put(&message, r->task, r->task_size);
    trouble t = ask(r, &message, seconds, arena, &answer);
    const char *refusal = t ? NULL : tune_get_text(&answer);
    if (!t && !refusal) t = NONSENSE;
    *killed = false;
    *why = NULL;
    if (!t && !*refusal) return TILE_OK;
    reap(r, t, &state);
    *killed = t == DIED && WIFSIGNALED(state);
    *why = refusal ? refusal : describe_start(t, seconds, state, arena);
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
        tile_report(r->context, TILE_ERROR, no_place, "the worker %s does not begin: %s%s", r->path,
                    why, often);
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
    if (!r->session) tile_report(r->context, TILE_ERROR, no_place, "%s", why);
    tile_arena_reset(&arena);
    return r->session ? TILE_OK : TILE_FAILED;
}

void tune_runner_stop(tune_runner *r) {
    int state;
    tune_session_close(r->session);
    r->session = NULL;
    if (!r->process) return;
    shutdown(r->socket, SHUT_RDWR); /* it reads the end */
    reap(r, DIED, &state);
}

/* Trying ----------------------------------------------------------------------------------------
 */

static tile_status restart(tune_runner *r) {
    r->restarts++;
    return begin_process(r);
}

static tile_status try_in_process(tune_runner *r, const tune_trial *trial, tile_arena *arena,
                                  tune_outcome *outcome) {
    tune_session_try(r->session, trial, arena, outcome);
    if (!outcome->broken) return TILE_OK;
    tile_report(
        r->context, TILE_ERROR, no_place,
        "a candidate's fault (%s) has ended this process's CUDA context: tune with a worker",
        outcome->why);
    return TILE_FAULT;
}

tile_status tune_runner_try(tune_runner *r, const tune_trial *trial, tile_arena *arena,
                            tune_outcome *outcome) {
    static const tile_candidate_state states[] = {[DIED] = TILE_CANDIDATE_fault,
                                                  [TIMEOUT] = TILE_CANDIDATE_timeout,
                                                  [MEMORY] = TILE_CANDIDATE_memory,
                                                  [NONSENSE] = TILE_CANDIDATE_fault};
    tile_arena scratch = {0};
    tile_text message = {.arena = &scratch};
    tune_reader answer;
    int state;
    if (!r->path) return try_in_process(r, trial, arena, outcome);
    tune_trial_write(&message, trial);
    trouble t = ask(r, &message, r->timeout, arena, &answer);
    tile_arena_reset(&scratch);
    if (!t && !tune_outcome_read(&answer, outcome)) t = NONSENSE;
    if (!t && !outcome->broken) return TILE_OK;
    reap(r, t ? t : DIED, &state);
    if (t) *outcome = (tune_outcome){.state = states[t], .why = describe_end(t, state, arena)};
    return restart(r);
}
