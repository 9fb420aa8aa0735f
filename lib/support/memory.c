/* Guards, and the allocations that may fail inside them. */
#include "lib/support/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/support/context.h"

static _Thread_local tile_guard *innermost;
static _Thread_local size_t allocations, failing; /* failing: index of the one to fail */

/* Guards --------------------------------------------------------------------------------------- */

bool tile_is_guarded(void) {
    return innermost != NULL;
}

void tile_guard_enter(tile_guard *guard, tile_context *context, const void *frame) {
    guard->outer = innermost;
    guard->frame = frame;
    guard->context = context;
    guard->sink = context ? context->sink : NULL;
    guard->sink_user = context ? context->sink_user : NULL;
    guard->remarks = context && context->remarks;
    guard->first = NULL;
    guard->lock_count = 0;
    guard->deepest = NULL;
    innermost = guard;
}

void tile_guard_leave(tile_guard *guard) {
    if (!guard->frame) return;
    for (tile_guarded *item = guard->first, *next; item; item = next) {
        next = item->next;
        item->link = NULL;
    }
    guard->first = NULL;
    innermost = guard->outer;
}

/* The stack grows downward on every supported machine. */
bool tile_guard_had(const tile_guard *guard, const void *variable) {
    uintptr_t at = (uintptr_t)variable;
    return at >= (uintptr_t)guard->deepest && at < (uintptr_t)guard->frame;
}

void tile_guard_abandon(tile_guard *guard) {
    while (guard->lock_count) tile_context_unlock(guard->locked[guard->lock_count - 1]);
    while (guard->first) {
        tile_guarded *item = guard->first;
        tile_guarded_remove(item);
        item->abandon(item, guard);
    }
    innermost = guard->outer;
    tile_context_set_sink(guard->context, guard->sink, guard->sink_user);
    tile_context_set_remarks(guard->context, guard->remarks);
    tile_report_words(guard->context, TILE_ERROR, (tile_loc){0},
                      "out of memory: the system gives the process no more; give it more, or "
                      "compile less at once");
}

void tile_guarded_add(tile_guarded *item, void (*abandon)(tile_guarded *, const tile_guard *)) {
    *item = (tile_guarded){.abandon = abandon};
    if (!innermost) return;
    item->next = innermost->first;
    item->link = &innermost->first;
    if (item->next) item->next->link = &item->next;
    innermost->first = item;
}

void tile_guarded_remove(tile_guarded *item) {
    if (!item->link) return;
    *item->link = item->next;
    if (item->next) item->next->link = item->link;
    item->link = NULL;
}

void tile_guard_locked(tile_context *context) {
    if (innermost && innermost->lock_count < TILE_GUARDED_LOCKS)
        innermost->locked[innermost->lock_count++] = context;
}

void tile_guard_unlocked(tile_context *context) {
    if (innermost && innermost->lock_count &&
        innermost->locked[innermost->lock_count - 1] == context)
        innermost->lock_count--;
}

/* Allocations ---------------------------------------------------------------------------------- */

size_t tile_memory_fail_after(size_t count) {
    size_t since = allocations;
    allocations = 0;
    failing = count;
    return since;
}

static bool fails(void) {
    return ++allocations == failing;
}

_Noreturn void tile_out_of_memory(void) {
    char here;
    if (!innermost) abort(); /* every function of the library that allocates has a guard */
    innermost->deepest = &here;
    longjmp(innermost->place, 1);
}

void *tile_malloc(size_t size) {
    void *data = fails() ? NULL : malloc(size ? size : 1);
    if (!data) tile_out_of_memory();
    return data;
}

void *tile_realloc(void *data, size_t size) {
    void *moved = fails() ? NULL : realloc(data, size ? size : 1);
    if (!moved) tile_out_of_memory();
    return moved;
}
