/* Child processes: starts programs and exchanges data with them, with timeouts. The other end of a
 * child's standard input and output is a socket, so that writing to one that has ended is an error
 * and no signal. Other children do not inherit it.
 *
 * The library and the tools both compile this file: it depends only on the clock. */
#ifndef TILE_LIB_SUPPORT_CHILD_H
#define TILE_LIB_SUPPORT_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct tile_child {
    pid_t process; /* 0: none is running, or its end has been recorded */
    int socket;    /* its standard input and output; -1: none, or closed */
    int state;     /* exit status, as from waitpid */
} tile_child;

/* Starts words[0] with these words, terminated by NULL, and this process's environment. Returns 0
 * or an errno. on_path: a program without a slash is looked up in PATH. files: its standard input,
 * output and error; NULL: a socket for the first two, and this process's standard error. */
int tile_child_start(tile_child *child, const char *const *words, bool on_path, const int *files);
/* Starts a copy of this process that runs the function. The parent reads what it writes to `to`. If
 * the function returns, the child ends with status 1. Returns 0 or an errno. */
int tile_child_fork(tile_child *child, void (*run)(int to, void *user), void *user);

/* How long to wait for a child. */
typedef struct tile_child_wait_limit {
    double deadline; /* in the time of tile_seconds_now */
    /* Called about twenty times a second while waiting, and after a signal; waiting ends if it
     * returns false. May be NULL. */
    bool (*keep_going)(void *user);
    void *user;
} tile_child_wait_limit;

/* Why a transfer to or from a child failed. */
typedef enum tile_child_result {
    TILE_CHILD_OK,
    TILE_CHILD_CLOSED,    /* the child closed its end; exiting does that */
    TILE_CHILD_TIMED_OUT, /* the deadline has passed */
    TILE_CHILD_ABANDONED  /* keep_going returned false */
} tile_child_result;

/* Transfers all of these bytes to or from the child. */
tile_child_result tile_child_put(tile_child *child, const void *from, size_t size,
                                 const tile_child_wait_limit *wait_limit);
tile_child_result tile_child_get(tile_child *child, void *to, size_t size,
                                 const tile_child_wait_limit *wait_limit);
/* Reads the available bytes, from 1 to size. */
tile_child_result tile_child_get_some(tile_child *child, void *to, size_t size, size_t *got,
                                      const tile_child_wait_limit *wait_limit);

/* Tells the child that no more data follows. */
void tile_child_finish(tile_child *child);
/* Waits until it ends on its own, at least a moment. Returns true if it has ended. */
bool tile_child_wait(tile_child *child, double seconds);
/* Kills it, if it is still running, waits at most that long for its end (HUGE_VAL: no limit) and
 * closes the socket. */
void tile_child_end(tile_child *child, double seconds);

#endif
