/* The inside of a context: where diagnostics go, which sources they quote, which types exist. */
#ifndef TILE_LIB_SUPPORT_CONTEXT_H
#define TILE_LIB_SUPPORT_CONTEXT_H

#include <pthread.h>

#include "lib/support/arena.h"
#include "tile/base.h"

typedef struct tile_source {
    const char *name;
    const char *text;
    size_t length;
} tile_source;

struct tile_context {
    tile_arena arena; /* types, expressions, names: they live as long as the context */
    tile_sink sink;
    void *sink_user;
    unsigned errors;
    const char *error_note; /* a note for the next error; NULL: none */
    tile_loc error_note_loc;
    bool remarks;                                  /* tile_context_set_remarks */
    struct tile_reported_remark *reported_remarks; /* lib/ir/remark.c: by this run of a pipeline */
    tile_arena reported_arena;
    pthread_mutex_t lock;
    tile_source *sources;
    size_t source_count;
    size_t source_capacity;
    struct tile_intern *interned; /* lib/support/intern.c: types and expressions, each once */
};

/* Diagnostics go to another sink for a while (NULL: nobody hears of them), and the errors among
 * them are not counted afterwards. Under the context's lock where others may report. */
typedef struct tile_diversion {
    tile_context *context;
    tile_sink sink; /* where they went, and go again */
    void *user;
    unsigned errors;
} tile_diversion;

tile_diversion tile_context_divert(tile_context *context, tile_sink sink, void *user);
void tile_context_restore(const tile_diversion *diversion);

/* A context belongs to one thread at a time, but for launches, which may run side by side: what of
 * them changes anything but the launch's own stack (compiling, reporting) is done under this lock.
 * A thread may take it again while it has it. */
void tile_context_lock(tile_context *context);
void tile_context_unlock(tile_context *context);

/* Reports the note once, directly after the next error. NULL revokes it. The text must live as long
 * as the context. */
void tile_context_note_next_error(tile_context *context, tile_loc loc, const char *note);

/* tile_report of a text as it is: it takes no memory. */
void tile_report_words(tile_context *context, tile_severity severity, tile_loc loc,
                       const char *message);

#endif
