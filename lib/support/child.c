#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "lib/support/child.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/support/clock.h"

extern char **environ;

enum { LOOK_MILLISECONDS = 50 };
static const struct timespec moment = {.tv_nsec = 1000000};

/* Starting ------------------------------------------------------------------------------------- */

/* Records the new child, or that starting failed. */
static int begin(tile_child *child, pid_t process, const int ends[2], int error) {
    if (ends[1] >= 0) close(ends[1]);
    *child = (tile_child){.process = error ? 0 : process, .socket = ends[0]};
    if (error) tile_child_end(child, 0);
    return error;
}

int tile_child_start(tile_child *child, const char *const *words_, bool on_path, const int *files) {
    int ends[2] = {-1, -1};
    char **words = (char **)words_;
    *child = (tile_child){.socket = -1};
    if (!files && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    const int ours[3] = {ends[1], ends[1], -1};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (int i = 0; i < 3; i++)
        if (files || ours[i] >= 0)
            posix_spawn_file_actions_adddup2(&actions, files ? files[i] : ours[i], i);
    pid_t process;
    int error = on_path ? posix_spawnp(&process, *words, &actions, NULL, words, environ)
                        : posix_spawn(&process, *words, &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return begin(child, process, ends, error);
}

int tile_child_fork(tile_child *child, void (*run)(int to, void *user), void *user) {
    int ends[2];
    *child = (tile_child){.socket = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return errno;
    pid_t process = fork();
    if (process == 0) {
        close(ends[0]);
        run(ends[1], user);
        _exit(1);
    }
    return begin(child, process, ends, process < 0 ? errno : 0);
}

/* Communication -------------------------------------------------------------------------------- */

/* Waits until the socket is ready for `events`. */
static tile_child_result await(const tile_child *child, short events,
                               const tile_child_wait_limit *wait_limit) {
    for (;;) {
        struct pollfd file = {.fd = child->socket, .events = events};
        int ready = poll(&file, 1, LOOK_MILLISECONDS);
        if (ready < 0 && errno != EINTR) return TILE_CHILD_CLOSED;
        if (ready <= 0 && wait_limit->keep_going && !wait_limit->keep_going(wait_limit->user))
            return TILE_CHILD_ABANDONED;
        if (tile_seconds_now() > wait_limit->deadline) return TILE_CHILD_TIMED_OUT;
        if (ready > 0) return TILE_CHILD_OK;
    }
}

static bool is_for_now(ssize_t count) {
    return count < 0 && (errno == EAGAIN || errno == EINTR);
}

tile_child_result tile_child_put(tile_child *child, const void *from, size_t size,
                                 const tile_child_wait_limit *wait_limit) {
    for (const char *at = from, *end = at + size; at < end;) {
        tile_child_result result = await(child, POLLOUT, wait_limit);
        if (result) return result;
        ssize_t sent = send(child->socket, at, (size_t)(end - at), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (is_for_now(sent)) continue;
        if (sent <= 0) return TILE_CHILD_CLOSED;
        at += sent;
    }
    return TILE_CHILD_OK;
}

tile_child_result tile_child_get_some(tile_child *child, void *to, size_t size, size_t *got,
                                      const tile_child_wait_limit *wait_limit) {
    for (;;) {
        tile_child_result result = await(child, POLLIN, wait_limit);
        if (result) return result;
        ssize_t count = recv(child->socket, to, size, MSG_DONTWAIT);
        if (is_for_now(count)) continue;
        *got = count > 0 ? (size_t)count : 0;
        return count > 0 ? TILE_CHILD_OK : TILE_CHILD_CLOSED;
    }
}

tile_child_result tile_child_get(tile_child *child, void *to, size_t size,
                                 const tile_child_wait_limit *wait_limit) {
    for (size_t done = 0, got; done < size; done += got) {
        tile_child_result result =
            tile_child_get_some(child, (char *)to + done, size - done, &got, wait_limit);
        if (result) return result;
    }
    return TILE_CHILD_OK;
}

/* Ending --------------------------------------------------------------------------------------- */

void tile_child_finish(tile_child *child) {
    if (child->socket >= 0) shutdown(child->socket, SHUT_WR);
}

bool tile_child_wait(tile_child *child, double seconds) {
    double end = tile_seconds_now() + seconds;
    while (child->process) {
        pid_t ended = waitpid(child->process, &child->state, seconds < HUGE_VAL ? WNOHANG : 0);
        if (ended == child->process || (ended < 0 && errno != EINTR)) child->process = 0;
        if (!child->process || tile_seconds_now() >= end) break;
        nanosleep(&moment, NULL);
    }
    return !child->process;
}

void tile_child_end(tile_child *child, double seconds) {
    if (child->process) {
        kill(child->process, SIGKILL);
        tile_child_wait(child, seconds);
    }
    child->process = 0;
    if (child->socket >= 0) close(child->socket);
    child->socket = -1;
}
