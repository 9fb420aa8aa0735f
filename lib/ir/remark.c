#include "lib/ir/remark.h"

#include <stdarg.h>
#include <string.h>

struct tile_reported_remark {
    tile_loc loc;
    const char *text;
    struct tile_reported_remark *next;
};

bool tile_remarks_wanted(const tile_function *f) {
    return tile_function_context(f)->remarks;
}

void tile_remarks_begin(tile_context *context) {
    context->reported_remarks = NULL;
    tile_arena_reset(&context->reported_arena);
}

/* The text after the operation's name, which a pass may have changed. */
static const char *words_of(const char *text) {
    return text + strcspn(text, ":");
}

static bool was_reported(const tile_context *context, tile_loc loc, const char *text) {
    const struct tile_reported_remark *s = context->reported_remarks;
    while (s && (s->loc.file != loc.file || s->loc.line != loc.line ||
                 s->loc.column != loc.column || strcmp(words_of(s->text), words_of(text)) != 0))
        s = s->next;
    return s != NULL;
}

bool tile_missed_at(const tile_function *f, tile_op op, const char *what, const char *remedy,
                    const char *why, ...) {
    tile_context *context = tile_function_context(f);
    if (!context->remarks) return false;
    tile_arena *arena = &context->reported_arena;
    tile_loc loc = op.id ? tile_op_loc(f, op) : f->loc;
    tile_context_lock(context);
    va_list args;
    va_start(args, why);
    const char *cause = tile_arena_vformat(arena, why, args);
    va_end(args);
    const char *text = tile_arena_format(arena, "%s%s: %s: %s%s%s", op.id ? "" : "@",
                                         op.id ? tile_op_name(f, op) : f->name, what, cause,
                                         remedy ? "; " : "", remedy ? remedy : "");
    if (!was_reported(context, loc, text)) {
        struct tile_reported_remark *reported_remarks =
            TILE_NEW(arena, struct tile_reported_remark);
        *reported_remarks = (struct tile_reported_remark){loc, text, context->reported_remarks};
        context->reported_remarks = reported_remarks;
        tile_report(context, TILE_REMARK, loc, "%s", text);
    }
    tile_context_unlock(context);
    return false;
}
