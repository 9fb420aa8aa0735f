/* Formatted text to a tile_writer. */
#include "lib/support/out.h"

#include <stdio.h>
#include <string.h>

#include "lib/support/arena.h"

void tile_out_text(const tile_out *out, const char *text) {
    out->writer(text, strlen(text), out->user);
}

void tile_out_print(const tile_out *out, const char *format, ...) {
    char small[256];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(small, sizeof small, format, args);
    if (length >= 0 && (size_t)length < sizeof small) {
        out->writer(small, (size_t)length, out->user);
    } else if (length >= 0) {
        tile_arena scratch = {0};
        out->writer(tile_arena_vformat(&scratch, format, again), (size_t)length, out->user);
        tile_arena_reset(&scratch);
    }
    va_end(again);
    va_end(args);
}
