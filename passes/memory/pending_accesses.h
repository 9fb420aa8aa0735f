/* Accesses that wait for a barrier or are under way, at a place of the program: what
 * insert-barriers walks with. */
#ifndef TILE_PASSES_MEMORY_PENDING_ACCESSES_H
#define TILE_PASSES_MEMORY_PENDING_ACCESSES_H

#include "lib/analysis/memory.h"

typedef struct pending_access {
    tile_access access;
    bool stale;   /* of an earlier iteration: stage and index tell nothing */
    bool outer;   /* was pending before the region that is being looked at */
    bool arrived; /* was pending when all threads arrived at the cluster's barrier */
    bool landed;  /* a wait has made it pending, in this iteration */
} pending_access;

typedef struct access_set {
    pending_access *items;
    size_t count, capacity;
} access_set;

typedef struct access_state {
    access_set pending;
    /* By mechanism: what operations do in the background, until a wait that leaves nothing. */
    access_set in_flight[TILE_MECHANISM_COUNT];
} access_state;

/* Return whether the set has grown. */
bool access_set_add(tile_arena *arena, access_set *set, pending_access access);
bool access_set_add_all(tile_arena *arena, access_set *set, const access_set *from);
bool access_state_join(tile_arena *arena, access_state *into, const access_state *from);
access_state access_state_copy(tile_arena *arena, const access_state *from);
/* The same accesses, in whatever order. */
bool access_state_equal(const access_state *a, const access_state *b);

/* From the end of a region of op to the head of another one, which may call a value otherwise, or
 * not know it. */
typedef struct region_edge {
    tile_op op;
    int from, to;
} region_edge;

/* Another iteration's accesses, as they are seen behind the passage; none: from outside. */
void access_set_cross_edge(const tile_function *f, region_edge edge, access_set *set);
void access_state_cross_edge(const tile_function *f, region_edge edge, access_state *s);
/* What was before a loop, as its region `to` sees it in the first iteration. */
void access_state_enter(const tile_function *f, tile_op op, int to, access_state *s);

/* Whether the two have to be kept in order by a barrier. uses: of each value, how many. */
bool accesses_need_barrier(const tile_function *f, const uint32_t *uses,
                           const pending_access *earlier, const tile_access *later);

/* insert_fences.c: ordinary writes to what such dots read come before a fence_async of the threads
 * that wrote, each as soon as it is complete, so that it stands before the barrier behind it, the
 * compiler's or the user's. Returns how many. */
long insert_fences(tile_function *f, tile_arena *scratch);

#endif
