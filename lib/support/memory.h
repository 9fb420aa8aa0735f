/* Running out of memory: a call of the library ends with a status instead of ending the process.
 *
 * A public function that allocates has a guard (TILE_GUARD). Where an allocation
 * fails inside of it, the innermost guard of the thread is jumped back to: the failure is reported
 * to the guard's context, what the abandoned work held is given back, and the function returns its
 * value for failure, which its callers in the library treat like any other failure.
 *
 * Given back are: the blocks of arenas that are local variables of abandoned functions, modules
 * that were made in the guard itself (not by guarded functions that it called and that returned),
 * and locks of contexts. What else such a function had from tile_malloc, which is little, is lost.
 * An object that outlives the guard takes what it holds of others in a guarded function of its own.
 */
#ifndef TILE_LIB_SUPPORT_MEMORY_H
#define TILE_LIB_SUPPORT_MEMORY_H

#include <setjmp.h>
#include <stddef.h>

#include "tile/base.h"

typedef struct tile_guard tile_guard;

/* What a guard gives back: the first member of blocks of arenas and of modules. */
typedef struct tile_guarded tile_guarded;
struct tile_guarded {
    tile_guarded *next, **link;                          /* in the guard's list; NULL: in none */
    void (*abandon)(tile_guarded *, const tile_guard *); /* it has left the list by then */
};

enum { TILE_GUARDED_LOCKS = 8 };

struct tile_guard {
    jmp_buf place;
    tile_guard *outer;
    const char
        *frame; /* where the variables of the guard's function end; NULL: it was not entered */
    tile_context *context;
    tile_sink sink; /* the context's, when the guard was entered */
    void *sink_user;
    bool remarks; /* likewise */
    tile_guarded *first;
    tile_context *locked[TILE_GUARDED_LOCKS];
    unsigned lock_count;
    const char *deepest; /* the stack pointer, about, where memory ran out */
};

/* Makes it the thread's innermost guard, and takes it away again. */
void tile_guard_enter(tile_guard *guard, tile_context *context, const void *frame);
void tile_guard_leave(tile_guard *guard);
/* After the jump: gives back and reports. */
void tile_guard_abandon(tile_guard *guard);
/* Whether this variable belongs to a function that the guard abandons, its own among them. */
bool tile_guard_had(const tile_guard *guard, const void *variable);

/* Adds to the innermost guard's list, if there is a guard; takes out of it. */
void tile_guarded_add(tile_guarded *item, void (*abandon)(tile_guarded *, const tile_guard *));
void tile_guarded_remove(tile_guarded *item);

/* The context's lock is held; no longer. */
void tile_guard_locked(tile_context *context);
void tile_guard_unlocked(tile_context *context);

/* Whether the thread is inside of a guard. */
bool tile_is_guarded(void);

/* The first statement of a function: from here to its end, however it returns, memory that runs out
 * makes it return `failure`, which names no variables but parameters that do not change. */
#define TILE_GUARD(context, failure) \
    tile_guard guard_ __attribute__((cleanup(tile_guard_leave))); \
    tile_guard_enter(&guard_, (context), __builtin_frame_address(0)); \
    if (setjmp(guard_.place)) { \
        tile_guard_abandon(&guard_); \
        return failure; \
    }

/* The same for functions that the library calls itself, all over, and of which it expects no
 * failure: inside of a guard they run under that one. */
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
/* What memory there was is gone: to the innermost guard. For those who allocate otherwise. */
_Noreturn void tile_out_of_memory(void);

/* For tests: of the allocations that follow on this thread, the one after so many fails. 0: none
 * does. Returns how many there were since the last call. */
size_t tile_memory_fail_after(size_t count);

#endif
