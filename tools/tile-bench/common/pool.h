/* Workers as their starter sees them: processes that are asked, with patience that ends. */
#ifndef TILE_TOOLS_TILE_BENCH_COMMON_POOL_H
#define TILE_TOOLS_TILE_BENCH_COMMON_POOL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bench_worker bench_worker;

/* Starts a program (NULL: this one again), with these words behind its name (NULL ends them, at
 * most 60). Under another one (a profiler; NULL: none) it is that one's words, behind its own, that
 * start it. Names without a slash are looked for on PATH. If there is no process to be had, that is
 * its answer. */
bench_worker *bench_worker_start(const char *program, const char *const *words, const char *under,
                                 const char *const *under_words);
/* Ends the requests and lets the process end by itself, for so many seconds. False if it has not;
 * the worker is to be stopped in both cases. */
bool bench_worker_finish(bench_worker *worker, double seconds);
/* Ends the process, if it has not ended. */
void bench_worker_stop(bench_worker *worker);

/* Sends a line. What goes wrong is what the next answer tells. */
void bench_worker_send(bench_worker *worker, const char *line);
/* The answer to it, of any length, within so many seconds; it is the worker's until the next call.
 * A worker that does not answer in time, or ends, is stopped for good and answers "failed ..." from
 * then on. */
const char *bench_worker_receive(bench_worker *worker, double seconds);
/* From now on SIGINT and SIGTERM stop the asking: every answer is "failed ..." then, so that what
 * is known can be told. The fourth one ends the program (timeout(1) sends two at once). */
void bench_catch_signals(void);
bool bench_is_stopped(void);

/* Whether it can be asked. */
bool bench_worker_is_alive(const bench_worker *worker);

#endif
