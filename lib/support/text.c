/* Text that grows in an arena. */
#include "lib/support/text.h"

#include <string.h>

void tile_text_append(const char *piece, size_t length, void *text_) {
    tile_text *text = text_;
    if (!length) return;
    if (text->length + length > text->capacity) {
        size_t capacity = 2 * (text->length + length) + 1024;
        char *data = tile_arena_alloc(text->arena, capacity);
        if (text->length) memcpy(data, text->data, text->length);
        text->data = data;
        text->capacity = capacity;
    }
    memcpy(text->data + text->length, piece, length);
    text->length += length;
}

void tile_text_format(tile_text *text, const char *format, ...) {
    va_list args;
    va_start(args, format);
    const char *piece = tile_arena_vformat(text->arena, format, args);
    va_end(args);
    tile_text_append(piece, strlen(piece), text);
}
