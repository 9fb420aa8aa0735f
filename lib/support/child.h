/* Child processes: programs that are started, asked and answered, with patience that ends. The
 * other side of a child's standard input and output is a socket, so that writing to one that has
 * ended is an error and no signal; other children do not inherit it.
 *
 * The library and the tools both compile this file: it needs nothing but the clock. */
#ifndef TILE_LIB_SUPPORT_CHILD_H
#define TILE_LIB_SUPPORT_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct tile_child {
    pid_t process; /* 0: none runs, or its end has been noted */
    int socket;    /* its standard input and output; -1: it has none, or it is closed */
    int state;     /* how it ended, as waitpid says */
} tile_child;

/* Starts words[0] with these words, which NULL ends, and this process's environment: 0, or errno's
 * number. on_path: a program without a slash is looked for on PATH. files: its standard input,
 * output and error; NULL: a socket for the first two, and this process's standard error. */
int tile_child_start(tile_child *child, const char *const *words, bool on_path, const int *files);
/* Starts a copy of this process that runs the function, whose writes to `to` the parent reads, and
 * ends with status 1 if it returns: 0, or errno's number. */
int tile_child_fork(tile_child *child, void (*run)(int to, void *user), void *user);

/* How long to wait for a child. */
typedef struct tile_child_wait_limit {
    double deadline; /* in terms of tile_seconds_now */
    /* Asked some twenty times a second while nothing happens, and after a signal; false ends the
     * waiting. May be NULL. */
    bool (*keep_going)(void *user);
    void *user;
} tile_child_wait_limit;

/* Why a child gave or took nothing. */
typedef enum tile_child_result {
    TILE_CHILD_OK,
    TILE_CHILD_CLOSED,    /* it closed its end, which a process that ends does */
    TILE_CHILD_TIMED_OUT, /* the deadline has passed */
    TILE_CHILD_ABANDONED  /* keep_going said so */
} tile_child_result;

/* All of these bytes, to the child and from it. */
tile_child_result tile_child_put(tile_child *child, const void *from, size_t size,
                                 const tile_child_wait_limit *wait_limit);
tile_child_result tile_child_get(tile_child *child, void *to, size_t size,
                                 const tile_child_wait_limit *wait_limit);
/* As many bytes as there are, from 1 to size. */
tile_child_result tile_child_get_some(tile_child *child, void *to, size_t size, size_t *got,
                                      const tile_child_wait_limit *wait_limit);

/* The child reads no more after what it was sent. */
void tile_child_finish(tile_child *child);
/* Gives it time to end by itself, at least a moment: true if it has, or had before. */
bool tile_child_wait(tile_child *child, double seconds);
/* Ends it, if it has not ended, waits for that long at most (HUGE_VAL: as long as it takes) and
 * closes the socket. */
void tile_child_end(tile_child *child, double seconds);

#endif
