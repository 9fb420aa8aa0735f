#include "lib/ir/remark.h"

#include <stdarg.h>
#include <string.h>

struct tile_said {
    tile_loc loc;
    const char *text;
    struct tile_said *next;
};

bool tile_remarks_wanted(const tile_function *f) {
    return tile_function_context(f)->remarks;
}

void tile_remarks_begin(tile_context *context) {
    context->said = NULL;
    tile_arena_reset(&context->said_arena);
}

/* Behind the operation's name: a pass may have made another one of it. */
static const char *words_of(const char *text) {
    return text + strcspn(text, ":");
}

static bool was_said(const tile_context *context, tile_loc loc, const char *text) {
    const struct tile_said *s = context->said;
    while (s && (s->loc.file != loc.file || s->loc.line != loc.line ||
                 s->loc.column != loc.column || strcmp(words_of(s->text), words_of(text)) != 0))
        s = s->next;
    return s != NULL;
}

bool tile_missed_at(const tile_function *f, tile_op op, const char *what, const char *remedy,
                    const char *why, ...) {
    tile_context *context = tile_function_context(f);
    if (!context->remarks) return false;
    tile_arena *arena = &context->said_arena;
    tile_loc loc = op.id ? tile_op_loc(f, op) : f->loc;
    tile_context_lock(context);
    va_list args;
    va_start(args, why);
    const char *cause = tile_arena_vformat(arena, why, args);
    va_end(args);
    const char *text = tile_arena_format(arena, "%s%s: %s: %s%s%s", op.id ? "" : "@",
                                         op.id ? tile_op_name(f, op) : f->name, what, cause,
                                         remedy ? "; " : "", remedy ? remedy : "");
    if (!was_said(context, loc, text)) {
        struct tile_said *said = TILE_NEW(arena, struct tile_said);
        *said = (struct tile_said){loc, text, context->said};
        context->said = said;
        tile_report(context, TILE_REMARK, loc, "%s", text);
    }
    tile_context_unlock(context);
    return false;
}
