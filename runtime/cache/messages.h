/* The diagnostics of a build, kept with its result, so that a cache hit reports the same as the
 * build. */
#ifndef TILE_RUNTIME_CACHE_MESSAGES_H
#define TILE_RUNTIME_CACHE_MESSAGES_H

#include "lib/support/text.h"

/* Intercepts the diagnostics of a context; on the stack of the function that builds. */
typedef struct tile_messages {
    tile_context *context;
    tile_sink sink;
    void *user;
    tile_text text;
} tile_messages;

/* From here to tile_messages_end every diagnostic is passed on and recorded in `text` (in the
 * arena). */
void tile_messages_begin(tile_messages *messages, tile_context *context, tile_arena *arena);
void tile_messages_end(tile_messages *messages);

/* Reports the messages that are recorded in a text. It finds their source files by name. */
void tile_messages_repeat(tile_context *context, const char *text, size_t size);

#endif
