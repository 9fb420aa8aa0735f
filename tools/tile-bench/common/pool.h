/* Worker processes as seen by their parent: requests are answered within a time limit. */
#ifndef TILE_TOOLS_TILE_BENCH_COMMON_POOL_H
#define TILE_TOOLS_TILE_BENCH_COMMON_POOL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bench_worker bench_worker;

/* Starts a program (NULL: this one again) with these words after its name (NULL-terminated, at most
 * 60). With `under` (a profiler; NULL: none), that program is started with its own words, followed
 * by the command to run. Names without a slash are looked up on PATH. If the process cannot be
 * created, its first answer says so. */
bench_worker *bench_worker_start(const char *program, const char *const *words, const char *under,
                                 const char *const *under_words);
/* Closes the worker's input and lets the process exit within this many seconds. False if it has not
 * exited; the worker must be stopped in both cases. */
bool bench_worker_finish(bench_worker *worker, double seconds);
/* Kills the process, if it has not ended. */
void bench_worker_stop(bench_worker *worker);

/* Sends a line. Errors are reported by the next answer. */
void bench_worker_send(bench_worker *worker, const char *line);
/* Receives the answer, of any length, within this many seconds. The text is valid until the next
 * call. A worker that ends or does not answer in time is stopped permanently and answers "failed
 * ..." from then on. */
const char *bench_worker_receive(bench_worker *worker, double seconds);
/* True if receiving from it would not wait. */
bool bench_worker_has_answered(const bench_worker *worker);
/* Waits at most so many seconds until one of these workers has answered. NULLs are skipped. */
void bench_workers_wait(bench_worker *const *workers, unsigned count, double seconds);
/* From now on SIGINT and SIGTERM make every answer "failed ...", so that the results so far can
 * still be reported. The fourth signal exits the program (timeout(1) sends two at once). */
void bench_catch_signals(void);
bool bench_is_stopped(void);

/* True if the worker can still answer requests. */
bool bench_worker_is_alive(const bench_worker *worker);

#endif
