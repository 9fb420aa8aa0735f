/* Out-of-memory handling: a call of the library ends with a status instead of ending the process.
 *
 * A public function that allocates has a guard (TILE_GUARD). If an allocation fails inside of it,
 * control jumps to the innermost guard of the thread. The failure is reported to the guard's
 * context, the memory of the abandoned work is released, and the function returns its value for
 * failure. Callers in the library treat it like any other failure.
 *
 * The guard releases: the blocks of arenas that are local variables of abandoned functions, modules
 * that were created in the guard itself (not by guarded functions that it called and that have
 * returned), and locks of contexts. Other memory from tile_malloc in such a function, which is
 * little, is leaked. An object that outlives the guard acquires its resources in its own guarded
 * function. */
#ifndef TILE_LIB_SUPPORT_MEMORY_H
#define TILE_LIB_SUPPORT_MEMORY_H

#include <setjmp.h>
#include <stddef.h>

#include "tile/base.h"

typedef struct tile_guard tile_guard;

/* Something that a guard releases: the first member of arena blocks and of modules. */
typedef struct tile_guarded tile_guarded;
struct tile_guarded {
    tile_guarded *next, **link;                          /* in the guard's list; NULL: in no list */
    void (*abandon)(tile_guarded *, const tile_guard *); /* called after it has left the list */
};

enum { TILE_GUARDED_LOCKS = 8 };

struct tile_guard {
    jmp_buf place;
    tile_guard *outer;
    const char *frame; /* the end of the variables of the guard's function; NULL: not entered */
    tile_context *context;
    tile_sink sink; /* the context's, when the guard was entered */
    void *sink_user;
    bool remarks; /* also the context's */
    tile_guarded *first;
    tile_context *locked[TILE_GUARDED_LOCKS];
    unsigned lock_count;
    const char *deepest; /* approximate stack pointer where memory ran out */
};

/* Makes it the thread's innermost guard, and removes it again. */
void tile_guard_enter(tile_guard *guard, tile_context *context, const void *frame);
void tile_guard_leave(tile_guard *guard);
/* After the jump: releases and reports. */
void tile_guard_abandon(tile_guard *guard);
/* Returns whether this variable belongs to a function that the guard abandons, including its own.
 */
bool tile_guard_had(const tile_guard *guard, const void *variable);

/* Adds to the innermost guard's list, if there is a guard. The other function removes it. */
void tile_guarded_add(tile_guarded *item, void (*abandon)(tile_guarded *, const tile_guard *));
void tile_guarded_remove(tile_guarded *item);

/* The context's lock is held. The other function: no longer. */
void tile_guard_locked(tile_context *context);
void tile_guard_unlocked(tile_context *context);

/* Returns whether the thread is inside a guard. */
bool tile_is_guarded(void);

/* Must be the first statement of a function. From here to the function's end, however it returns,
 * an out-of-memory error makes it return `failure`. `failure` may only use parameters that do not
 * change. */
#define TILE_GUARD(context, failure) \
    tile_guard guard_ __attribute__((cleanup(tile_guard_leave))); \
    tile_guard_enter(&guard_, (context), __builtin_frame_address(0)); \
    if (setjmp(guard_.place)) { \
        tile_guard_abandon(&guard_); \
        return failure; \
    }

/* The same for functions that the library itself calls and expects not to fail: inside another
 * guard they run under that guard. */
#define TILE_GUARD_OUTSIDE(context, failure) \
    tile_guard guard_ __attribute__((cleanup(tile_guard_leave))); \
    guard_.frame = NULL; \
    if (!tile_is_guarded()) { \
        tile_guard_enter(&guard_, (context), __builtin_frame_address(0)); \
        if (setjmp(guard_.place)) { \
            tile_guard_abandon(&guard_); \
            return failure; \
        } \
    }

/* malloc and realloc that never return NULL. */
void *tile_malloc(size_t size);
void *tile_realloc(void *data, size_t size);
/* Reports to the innermost guard that memory is exhausted. For code with other allocators. */
_Noreturn void tile_out_of_memory(void);

/* For tests: makes the count-th of the following allocations on this thread fail; 0: none fails.
 * Returns the number of allocations since the last call. */
size_t tile_memory_fail_after(size_t count);

#endif
