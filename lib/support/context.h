/* Internals of a context: the diagnostic sink, sources and interned types. */
#ifndef TILE_LIB_SUPPORT_CONTEXT_H
#define TILE_LIB_SUPPORT_CONTEXT_H

#include <pthread.h>

#include "lib/support/arena.h"
#include "tile/base.h"

typedef struct tile_source {
    const char *name;
    const char *text;
    size_t length;
    tile_loc included_at; /* the `include` that names it; line 0: none does */
    const char *callee;   /* the source as code inlined from a call of this func; NULL: itself */
    tile_loc call;        /* the place of that call */
} tile_source;

struct tile_context {
    tile_arena arena; /* for types, expressions, names: they live as long as the context */
    tile_sink sink;
    void *sink_user;
    unsigned errors;
    const char *error_note; /* a note for the next error; NULL: none */
    tile_loc error_note_loc;
    bool remarks;                                  /* tile_context_set_remarks */
    struct tile_reported_remark *reported_remarks; /* of lib/ir/remark.c, in this run */
    tile_arena reported_arena;
    pthread_mutex_t lock;
    tile_source *sources;
    size_t source_count;
    size_t source_capacity;
    struct tile_intern *interned; /* of lib/support/intern.c: types and expressions, each once */
};

/* Diverts diagnostics temporarily to another sink (NULL: they are dropped). Errors among them are
 * not counted afterwards. Take the context's lock if other threads may report. */
typedef struct tile_diversion {
    tile_context *context;
    tile_sink sink; /* the previous sink, restored at the end */
    void *user;
    unsigned errors;
} tile_diversion;

tile_diversion tile_context_divert(tile_context *context, tile_sink sink, void *user);
void tile_context_restore(const tile_diversion *diversion);

/* A context is used by one thread at a time, except for launches, which may run concurrently. Any
 * part of a launch that modifies more than its own stack (compiling, reporting) holds this lock. It
 * is recursive. */
void tile_context_lock(tile_context *context);
void tile_context_unlock(tile_context *context);

/* Returns the index of source `file` as code that is inlined from a call of @callee at `call`.
 * Diagnostics at its locations get a note at the call. The name must live as long as the
 * context. */
uint32_t tile_context_add_call(tile_context *context, uint32_t file, const char *callee,
                               tile_loc call);

/* Returns whether the location is of inlined code, and then *call is the place of the call. */
bool tile_context_find_call(const tile_context *context, tile_loc loc, tile_loc *call);

/* Reports the note once, directly after the next error. NULL revokes it. The text must live as long
 * as the context. */
void tile_context_note_next_error(tile_context *context, tile_loc loc, const char *note);

/* Reports a text verbatim, like tile_report, but allocates no memory. */
void tile_report_words(tile_context *context, tile_severity severity, tile_loc loc,
                       const char *message);

#endif
