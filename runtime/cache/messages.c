/* The recorded form of a message: a line with severity, line, column, and the lengths of the file's
 * name and the message as numbers; then these two. */
#include "runtime/cache/messages.h"

#include <stdio.h>
#include <string.h>

#include "lib/support/context.h"

static void record(const tile_diagnostic *d, void *user) {
    tile_messages *m = user;
    size_t file = strlen(d->file), message = strlen(d->message);
    tile_text_format(&m->text, "%u %u %u %zu %zu\n", (unsigned)d->severity, (unsigned)d->line,
                     (unsigned)d->column, file, message);
    tile_text_append(d->file, file, &m->text);
    tile_text_append(d->message, message, &m->text);
    if (m->sink) m->sink(d, m->user);
}

void tile_messages_begin(tile_messages *messages, tile_context *context, tile_arena *arena) {
    *messages = (tile_messages){.context = context,
                                .sink = context->sink,
                                .user = context->sink_user,
                                .text = {.arena = arena}};
    tile_context_set_sink(context, record, messages);
}

void tile_messages_end(tile_messages *messages) {
    tile_context_set_sink(messages->context, messages->sink, messages->user);
}

static uint32_t find_source(const tile_context *context, const char *name, size_t length) {
    uint32_t i = 0;
    while (i < context->source_count && (strlen(context->sources[i].name) != length ||
                                         memcmp(context->sources[i].name, name, length) != 0))
        i++;
    return i;
}

void tile_messages_repeat(tile_context *context, const char *text, size_t size) {
    tile_arena arena = {0};
    const char *at = tile_arena_string(&arena, text, size), *end = at + size, *line;
    while ((line = memchr(at, '\n', (size_t)(end - at)))) {
        unsigned severity;
        tile_loc loc;
        size_t file, message, left = (size_t)(end - ++line);
        if (sscanf(at, "%u %u %u %zu %zu", &severity, &loc.line, &loc.column, &file, &message) !=
                5 ||
            severity > TILE_NOTE || file > left || message > left - file)
            break;
        loc.file = find_source(context, line, file);
        tile_report(context, (tile_severity)severity, loc, "%.*s", (int)message, line + file);
        at = line + file + message;
    }
    tile_arena_reset(&arena);
}
