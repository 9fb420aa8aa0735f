/* What a build reported, kept with what it made, so that a hit says the same as the build did. */
#ifndef TILE_RUNTIME_CACHE_MESSAGES_H
#define TILE_RUNTIME_CACHE_MESSAGES_H

#include "lib/support/text.h"

/* Stands between a context and its sink; lives on the stack of who builds. */
typedef struct tile_messages {
    tile_context *context;
    tile_sink sink;
    void *user;
    tile_text text;
} tile_messages;

/* From here to the end every diagnostic is passed on, and recorded in text (of the arena). */
void tile_messages_begin(tile_messages *messages, tile_context *context, tile_arena *arena);
void tile_messages_end(tile_messages *messages);

/* Reports what a text of messages holds. Places are found by their files' names. */
void tile_messages_repeat(tile_context *context, const char *text, size_t size);

#endif
