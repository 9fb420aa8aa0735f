/* Worker processes behind pipes. */
#define _POSIX_C_SOURCE 200809L
#include "tools/tile-bench/pool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tools/common/tool.h"

struct bench_worker {
    pid_t process; /* 0: it has ended */
    int requests, answers;
    tool_text text;    /* what was read and not heard yet, behind the last answer */
    size_t heard;      /* length of the last answer, with its end */
    char failure[160]; /* what it says since it ended */
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

double bench_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { MAX_WORDS = 80, NO_PROGRAM = 127 };

/* Only its own ends of the pipes stay open in the child: a worker that kept another's would keep it
 * from seeing that nobody asks any more. */
static void become(const char *program, char **list, int in, int out) {
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0) _exit(126);
    long limit = sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < (limit > 0 && limit < 4096 ? (int)limit : 4096); fd++) close(fd);
    execvp(program, list);
    _exit(NO_PROGRAM);
}

/* Where this program is. */
static const char *self(char path[512]) {
    ssize_t length = readlink("/proc/self/exe", path, 511);
    path[length > 0 ? length : 0] = 0;
    return path;
}

/* It answers so from now on. */
static bench_worker *give_up(bench_worker *w) {
    snprintf(w->failure, sizeof w->failure, "failed no process could be started: %s",
             strerror(errno));
    w->process = 0;
    return w;
}

bench_worker *bench_worker_start(const char *program, const char *const *words, const char *under,
                                 const char *const *under_words) {
    int in[2], out[2];
    unsigned count = 0;
    char path[512], *list[MAX_WORDS] = {NULL};
    if (under) list[count++] = (char *)under;
    for (; under && *under_words && count < MAX_WORDS / 3; under_words++)
        list[count++] = (char *)*under_words;
    if (!program) program = self(path);
    list[count++] = (char *)program;
    for (; *words && count + 1 < MAX_WORDS; words++) list[count++] = (char *)*words;
    bench_worker *w = calloc(1, sizeof *w);
    if (!w) abort();
    w->requests = w->answers = -1;
    if (pipe(in) != 0) return give_up(w);
    if (pipe(out) != 0) {
        close(in[0]), close(in[1]);
        return give_up(w);
    }
    signal(SIGPIPE, SIG_IGN); /* a worker that has ended is told by what it does not answer */
    fflush(stdout);
    w->process = fork();
    if (w->process == 0) become(under ? under : program, list, in[0], out[1]);
    close(in[0]), close(out[1]);
    w->requests = in[1];
    w->answers = out[0];
    return w->process < 0 ? give_up(w) : w;
}

/* Killing a process whose kernel runs on may take the driver a while. */
static int reap(pid_t process, double seconds) {
    int status = 0;
    for (double end = bench_clock() + seconds;
         waitpid(process, &status, WNOHANG) == 0 && bench_clock() < end;)
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    return status;
}

static void end_process(bench_worker *w) {
    kill(w->process, SIGKILL);
    reap(w->process, 20);
    w->process = 0;
}

bool bench_worker_finish(bench_worker *worker, double seconds) {
    if (!worker->process) return false;
    close(worker->requests);
    worker->requests = -1;
    bool ended = false;
    for (double end = bench_clock() + seconds; !ended && bench_clock() < end;) {
        ended = waitpid(worker->process, NULL, WNOHANG) != 0;
        if (!ended) nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    if (ended) worker->process = 0;
    return ended;
}

void bench_worker_stop(bench_worker *worker) {
    if (!worker) return;
    if (worker->requests >= 0) close(worker->requests);
    if (worker->process) end_process(worker);
    if (worker->answers >= 0) close(worker->answers);
    free(worker->text.data);
    free(worker);
}

bool bench_worker_is_alive(const bench_worker *worker) {
    return worker->process != 0;
}

void bench_worker_tell(bench_worker *worker, const char *line) {
    if (!worker->process) return;
    if (dprintf(worker->requests, "%s\n", line) < 0) return; /* it has ended: hear will say so */
}

static const char *lose(bench_worker *w, double seconds) {
    int status = reap(w->process, seconds > 0 ? 0 : 1);
    if (seconds > 0) {
        end_process(w);
        snprintf(w->failure, sizeof w->failure, "failed no answer within %g s: it hangs", seconds);
    } else if (WIFSIGNALED(status)) {
        snprintf(w->failure, sizeof w->failure, "failed it was ended by signal %d, %s",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
        w->process = 0;
    } else {
        bool none = WIFEXITED(status) && WEXITSTATUS(status) == NO_PROGRAM;
        end_process(w);
        snprintf(w->failure, sizeof w->failure,
                 none ? "failed its program cannot be started"
                      : "failed its worker ended without an answer");
    }
    return w->failure;
}

const char *bench_worker_hear(bench_worker *w, double seconds) {
    const double end = bench_clock() + seconds;
    if (!w->process) return w->failure;
    if (stopped) return "failed the run was stopped";
    if (w->text.size) {
        memmove(w->text.data, w->text.data + w->heard, w->text.size - w->heard + 1);
        w->text.size -= w->heard;
        w->heard = 0;
    }
    for (;;) {
        char piece[4096], *line_end = w->text.size ? strchr(w->text.data, '\n') : NULL;
        double left = end - bench_clock();
        if (line_end) {
            *line_end = 0;
            w->heard = (size_t)(line_end - w->text.data) + 1;
            return w->text.data;
        }
        struct pollfd ready = {.fd = w->answers, .events = POLLIN};
        int polled = left > 0 ? poll(&ready, 1, (int)(1e3 * left) + 1) : 0;
        if (stopped) return "failed the run was stopped";
        if (polled < 0 && errno == EINTR) continue;
        if (polled <= 0) return lose(w, seconds);
        ssize_t got = read(w->answers, piece, sizeof piece);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return lose(w, 0);
        tool_append(piece, (size_t)got, &w->text);
    }
}
