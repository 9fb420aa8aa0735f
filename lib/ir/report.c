/* Diagnostics at the location of an operation. */
#include <stdarg.h>

#include "lib/ir/function.h"

static void report(const tile_function *f, tile_severity severity, tile_op op, const char *prefix,
                   const char *format, va_list args) {
    tile_context *context = tile_function_context(f);
    tile_arena scratch = {0};
    const char *text = tile_arena_vformat(&scratch, format, args);
    tile_report(context, severity, op.id ? tile_op_loc(f, op) : f->loc, "%s%s%s",
                prefix ? prefix : "", prefix ? ": " : "", text);
    tile_arena_reset(&scratch);
}

bool tile_error_at(const tile_function *f, tile_op op, const char *format, ...) {
    va_list args;
    va_start(args, format);
    report(f, TILE_ERROR, op, NULL, format, args);
    va_end(args);
    return false;
}

bool tile_error_of(const tile_function *f, tile_op op, const char *format, ...) {
    va_list args;
    va_start(args, format);
    report(f, TILE_ERROR, op, tile_op_name(f, op), format, args);
    va_end(args);
    return false;
}

void tile_note_at(const tile_function *f, tile_op op, const char *format, ...) {
    va_list args;
    va_start(args, format);
    report(f, TILE_NOTE, op, NULL, format, args);
    va_end(args);
}

void tile_remark_at(const tile_function *f, tile_op op, const char *format, ...) {
    va_list args;
    va_start(args, format);
    report(f, TILE_REMARK, op, NULL, format, args);
    va_end(args);
}
