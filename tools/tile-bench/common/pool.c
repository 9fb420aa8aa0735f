/* Worker processes that exchange lines with their parent. */
#define _POSIX_C_SOURCE 200809L
#include "tools/tile-bench/common/pool.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/support/child.h"
#include "lib/support/clock.h"
#include "tools/common/tool.h"

struct bench_worker {
    tile_child child;
    tool_text text;    /* data read after the last answer, not consumed yet */
    size_t received;   /* length of the last answer, including its newline */
    char failure[160]; /* its answer to every request after it ended */
};

static volatile sig_atomic_t stopped;

static void stop(int signal_number) {
    (void)signal_number;
    if (++stopped > 3) _exit(1);
}

void bench_catch_signals(void) {
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool bench_is_stopped(void) {
    return stopped != 0;
}

/* The driver may need a while to kill a process whose kernel still runs. */
enum { MAX_WORDS = 80, NO_PROGRAM = 127, KILL_SECONDS = 20 };

static const char no_program[] = "failed its program cannot be started";

/* Returns the path of this program. */
static const char *self(char path[512]) {
    ssize_t length = readlink("/proc/self/exe", path, 511);
    path[length > 0 ? length : 0] = 0;
    return path;
}

bench_worker *bench_worker_start(const char *program, const char *const *words, const char *under,
                                 const char *const *under_words) {
    unsigned count = 0;
    char path[512];
    const char *list[MAX_WORDS] = {NULL};
    if (under) list[count++] = under;
    for (; under && *under_words && count < MAX_WORDS / 3; under_words++)
        list[count++] = *under_words;
    if (!program) program = self(path);
    list[count++] = program;
    for (; *words && count + 1 < MAX_WORDS; words++) list[count++] = *words;
    bench_worker *w = calloc(1, sizeof *w);
    if (!w) abort();
    signal(SIGPIPE, SIG_IGN); /* a closed standard output is reported at the end */
    fflush(stdout);
    int error = tile_child_start(&w->child, list, true, NULL);
    bool none = error == ENOENT || error == EACCES || error == ENOEXEC || error == ENOTDIR;
    if (none)
        snprintf(w->failure, sizeof w->failure, "%s", no_program);
    else if (error)
        snprintf(w->failure, sizeof w->failure, "failed no process could be started: %s",
                 strerror(error));
    return w;
}

bool bench_worker_finish(bench_worker *worker, double seconds) {
    if (!worker->child.process) return false;
    tile_child_finish(&worker->child);
    return tile_child_wait(&worker->child, seconds);
}

void bench_worker_stop(bench_worker *worker) {
    if (!worker) return;
    tile_child_end(&worker->child, KILL_SECONDS);
    free(worker->text.data);
    free(worker);
}

bool bench_worker_is_alive(const bench_worker *worker) {
    return worker->child.process != 0;
}

static bool keep_going(void *user) {
    (void)user;
    return !stopped;
}

void bench_worker_send(bench_worker *worker, const char *line) {
    const tile_child_wait_limit wait_limit = {HUGE_VAL, keep_going, NULL};
    if (!worker->child.process) return;
    /* If the worker has ended, the next receive reports that. */
    if (!tile_child_put(&worker->child, line, strlen(line), &wait_limit))
        tile_child_put(&worker->child, "\n", 1, &wait_limit);
}

static const char *fail_worker(bench_worker *w, tile_child_result trouble, double seconds) {
    const int *state = &w->child.state;
    bool ended = trouble == TILE_CHILD_CLOSED && tile_child_wait(&w->child, 1);
    if (trouble == TILE_CHILD_TIMED_OUT)
        snprintf(w->failure, sizeof w->failure, "failed no answer within %g s", seconds);
    else if (ended && WIFSIGNALED(*state))
        snprintf(w->failure, sizeof w->failure, "failed it was stopped by signal %d, %s",
                 WTERMSIG(*state), strsignal(WTERMSIG(*state)));
    else
        snprintf(w->failure, sizeof w->failure, "%s",
                 ended && WIFEXITED(*state) && WEXITSTATUS(*state) == NO_PROGRAM
                     ? no_program
                     : "failed its worker ended without an answer");
    tile_child_end(&w->child, KILL_SECONDS);
    return w->failure;
}

static bool has_line(const bench_worker *w) {
    return w->text.size > w->received &&
           memchr(w->text.data + w->received, '\n', w->text.size - w->received);
}

bool bench_worker_has_answered(const bench_worker *w) {
    struct pollfd file = {.fd = w->child.socket, .events = POLLIN};
    return !w->child.process || stopped || has_line(w) || poll(&file, 1, 0) > 0;
}

void bench_workers_wait(bench_worker *const *workers, unsigned count, double seconds) {
    enum { MOST = 64 };
    struct pollfd files[MOST];
    unsigned waits = 0;
    for (unsigned i = 0; i < count && waits < MOST; i++) {
        if (!workers[i]) continue;
        if (bench_worker_has_answered(workers[i])) return;
        files[waits++] = (struct pollfd){.fd = workers[i]->child.socket, .events = POLLIN};
    }
    poll(files, waits, (int)(1e3 * seconds));
}

/* Returns the next line of the data read so far; NULL if it is incomplete. */
static const char *take_line(bench_worker *w) {
    char *end = w->text.size ? strchr(w->text.data, '\n') : NULL;
    if (!end) return NULL;
    *end = 0;
    w->received = (size_t)(end - w->text.data) + 1;
    return w->text.data;
}

const char *bench_worker_receive(bench_worker *w, double seconds) {
    const tile_child_wait_limit wait_limit = {tile_seconds_now() + seconds, keep_going, NULL};
    char piece[4096];
    size_t got;
    const char *line;
    if (!w->child.process) return w->failure;
    if (stopped) return "failed the run was stopped";
    if (w->text.size) {
        memmove(w->text.data, w->text.data + w->received, w->text.size - w->received + 1);
        w->text.size -= w->received;
        w->received = 0;
    }
    while (!(line = take_line(w))) {
        tile_child_result trouble =
            tile_child_get_some(&w->child, piece, sizeof piece, &got, &wait_limit);
        if (trouble == TILE_CHILD_ABANDONED || stopped) return "failed the run was stopped";
        if (trouble) return fail_worker(w, trouble, seconds);
        tool_append(piece, got, &w->text);
    }
    return line;
}
