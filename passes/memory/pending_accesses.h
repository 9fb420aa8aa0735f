/* Accesses that are pending or in flight at a program point: the state of insert-barriers. */
#ifndef TILE_PASSES_MEMORY_PENDING_ACCESSES_H
#define TILE_PASSES_MEMORY_PENDING_ACCESSES_H

#include "lib/analysis/memory.h"

typedef struct pending_access {
    tile_access access;
    bool stale;   /* from an earlier iteration: stage and index cannot be compared */
    bool outer;   /* was pending before the region that is being visited */
    bool arrived; /* was pending when all threads arrived at the cluster barrier */
    bool landed;  /* became pending by a wait, in this iteration */
} pending_access;

typedef struct access_set {
    pending_access *items;
    size_t count, capacity;
} access_set;

typedef struct access_state {
    access_set pending;
    /* By mechanism: accesses of asynchronous operations until a wait for all of them. */
    access_set in_flight[TILE_MECHANISM_COUNT];
} access_state;

/* These return whether the set has grown. */
bool access_set_add(tile_arena *arena, access_set *set, pending_access access);
bool access_set_add_all(tile_arena *arena, access_set *set, const access_set *from);
bool access_state_join(tile_arena *arena, access_state *into, const access_state *from);
access_state access_state_copy(tile_arena *arena, const access_state *from);
/* Compares the sets without regard to order. */
bool access_state_equal(const access_state *a, const access_state *b);

/* An edge from the end of a region of op to the head of a region, where a value may have another
 * name or be unavailable. */
typedef struct region_edge {
    tile_op op;
    int from, to;
} region_edge;

/* Converts accesses to another iteration's view after the edge; edge {0}: to the view from
 * outside. */
void access_set_cross_edge(const tile_function *f, region_edge edge, access_set *set);
void access_state_cross_edge(const tile_function *f, region_edge edge, access_state *s);
/* Converts accesses before a loop to the view of its region `to` in the first iteration. */
void access_state_enter(const tile_function *f, tile_op op, int to, access_state *s);

/* Whether a barrier must order the two accesses. uses: by value, number of uses. */
bool accesses_need_barrier(const tile_function *f, const uint32_t *uses,
                           const pending_access *earlier, const tile_access *later);

/* insert_fences.c: inserts a fence_async, in the threads that wrote, after ordinary writes to
 * memory that the async proxy reads. It follows as soon as a write is complete, so that it precedes
 * the next barrier, from the compiler or from the user. Returns the number of fences. */
long insert_fences(tile_function *f, tile_arena *scratch);

#endif
