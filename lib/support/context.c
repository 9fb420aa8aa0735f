/* Context and diagnostics. */
#define _XOPEN_SOURCE 700
#include "lib/support/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(TILE_API_VERSION == TILE_VERSION / 10000, "the major version, in base.h");

unsigned tile_api_version(void) {
    return TILE_API_VERSION;
}

const char *tile_version_string(void) {
    return TILE_VERSION_STRING;
}

const char *tile_status_name(tile_status status) {
    static const char *const names[] = {"ok",     "invalid", "unsupported",  "unavailable",
                                        "failed", "fault",   "out of memory"};
    return (unsigned)status < sizeof names / sizeof *names ? names[status] : "unknown";
}

tile_context *tile_context_create(void) {
    tile_context *context = malloc(sizeof *context);
    if (!context) return NULL;
    *context = (tile_context){0};
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&context->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    return context;
}

void tile_context_lock(tile_context *context) {
    pthread_mutex_lock(&context->lock);
    tile_guard_locked(context);
}

void tile_context_unlock(tile_context *context) {
    tile_guard_unlocked(context);
    pthread_mutex_unlock(&context->lock);
}

void tile_context_destroy(tile_context *context) {
    if (!context) return;
    tile_arena_reset(&context->arena);
    tile_arena_reset(&context->reported_arena);
    pthread_mutex_destroy(&context->lock);
    free(context);
}

void tile_context_set_sink(tile_context *context, tile_sink sink, void *user) {
    if (!context) return;
    context->sink = sink;
    context->sink_user = user;
}

tile_diversion tile_context_divert(tile_context *context, tile_sink sink, void *user) {
    const tile_diversion diversion = {context, context->sink, context->sink_user, context->errors};
    tile_context_set_sink(context, sink, user);
    return diversion;
}

void tile_context_restore(const tile_diversion *diversion) {
    tile_context_set_sink(diversion->context, diversion->sink, diversion->user);
    diversion->context->errors = diversion->errors;
}

void tile_context_set_remarks(tile_context *context, bool wanted) {
    if (context) context->remarks = wanted;
}

unsigned tile_context_error_count(const tile_context *context) {
    return context ? context->errors : 0;
}

uint32_t tile_context_add_source(tile_context *context, const char *name, const char *text,
                                 size_t length) {
    TILE_GUARD_OUTSIDE(context, 0)
    if (!context) return 0;
    name = name ? name : "";
    length = text ? length : 0;
    context->sources = tile_arena_grow(&context->arena, context->sources, context->source_count,
                                       &context->source_capacity, sizeof(tile_source));
    context->sources[context->source_count] = (tile_source){
        .name = tile_arena_string(&context->arena, name, strlen(name)),
        .text = tile_arena_string(&context->arena, text, length),
        .length = length,
    };
    return (uint32_t)context->source_count++;
}

static bool is_call(const tile_source *source, const char *text, const char *callee,
                    tile_loc call) {
    return source->text == text && source->callee == callee && source->call.file == call.file &&
           source->call.line == call.line && source->call.column == call.column;
}

uint32_t tile_context_add_call(tile_context *context, uint32_t file, const char *callee,
                               tile_loc call) {
    if (file >= context->source_count) return file;
    tile_source source = context->sources[file];
    for (size_t i = context->source_count; i > 0; i--)
        if (is_call(&context->sources[i - 1], source.text, callee, call)) return (uint32_t)(i - 1);
    source.callee = callee;
    source.call = call;
    context->sources = tile_arena_grow(&context->arena, context->sources, context->source_count,
                                       &context->source_capacity, sizeof(tile_source));
    context->sources[context->source_count] = source;
    return (uint32_t)context->source_count++;
}

bool tile_context_find_call(const tile_context *context, tile_loc loc, tile_loc *call) {
    bool inlined = loc.file < context->source_count && context->sources[loc.file].callee;
    if (inlined) *call = context->sources[loc.file].call;
    return inlined;
}

const char *tile_context_source_name(const tile_context *context, uint32_t file) {
    return context && file < context->source_count ? context->sources[file].name : "";
}

/* Points diagnostic->text at line `line` of a source; leaves it NULL if there is no such line. */
static void quote_line(const tile_source *source, tile_diagnostic *diagnostic) {
    const char *at = source->text, *end = source->text + source->length;
    for (uint32_t line = 1; line < diagnostic->line; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        if (!newline) return;
        at = newline + 1;
    }
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    diagnostic->text = at;
    diagnostic->text_length = (size_t)((newline ? newline : end) - at);
}

/* Sets the location, mapped to its source. */
static void add_place(const tile_context *context, tile_loc loc, tile_diagnostic *diagnostic) {
    if (!loc.line || loc.file >= context->source_count) return;
    diagnostic->file = context->sources[loc.file].name;
    diagnostic->line = loc.line;
    diagnostic->column = loc.column;
    quote_line(&context->sources[loc.file], diagnostic);
}

static void send(const tile_context *context, tile_severity severity, tile_loc loc,
                 const char *message) {
    tile_diagnostic diagnostic = {.severity = severity, .file = "", .message = message};
    add_place(context, loc, &diagnostic);
    if (context->sink) context->sink(&diagnostic, context->sink_user);
}

/* Reports the calls from which code at this location was inlined, innermost first. */
static void note_calls(const tile_context *context, tile_loc loc) {
    for (tile_loc call; loc.line && tile_context_find_call(context, loc, &call); loc = call) {
        char text[160];
        snprintf(text, sizeof text, "@%s is called here", context->sources[loc.file].callee);
        send(context, TILE_NOTE, call, text);
    }
}

/* Reports the `include`s through which the location's text became part of the program. */
static void note_includes(const tile_context *context, tile_loc loc) {
    while (loc.line && loc.file < context->source_count) {
        loc = context->sources[loc.file].included_at;
        if (loc.line) send(context, TILE_NOTE, loc, "included from here");
    }
}

void tile_report_words(tile_context *context, tile_severity severity, tile_loc loc,
                       const char *message) {
    if (!context) return;
    tile_context_lock(context);
    if (severity == TILE_ERROR) context->errors++;
    if (message) {
        send(context, severity, loc, message);
        if (severity != TILE_NOTE) note_calls(context, loc);
        if (severity == TILE_ERROR) note_includes(context, loc);
    }
    const char *note = severity == TILE_ERROR ? context->error_note : NULL;
    if (note) {
        context->error_note = NULL;
        tile_report_words(context, TILE_NOTE, context->error_note_loc, note);
    }
    tile_context_unlock(context);
}

void tile_context_note_next_error(tile_context *context, tile_loc loc, const char *note) {
    context->error_note = note;
    context->error_note_loc = loc;
}

void tile_report(tile_context *context, tile_severity severity, tile_loc loc, const char *format,
                 ...) {
    tile_arena scratch = {0};
    const char *message = NULL;
    if (!context) return;
    tile_context_lock(context);
    if (context->sink && format) {
        va_list args;
        va_start(args, format);
        message = tile_arena_vformat(&scratch, format, args);
        va_end(args);
    }
    tile_report_words(context, severity, loc, message);
    tile_arena_reset(&scratch);
    tile_context_unlock(context);
}

static void write_text(tile_writer writer, void *user, const char *text) {
    writer(text, strlen(text), user);
}

/* Allocates no memory: it may report that there is none. */
void tile_diagnostic_print(const tile_diagnostic *diagnostic, tile_writer writer, void *user) {
    static const char *const words[] = {"error", "warning", "remark", "note"};
    char place[64];
    if (!diagnostic || !writer) return;
    if (diagnostic->line) {
        snprintf(place, sizeof place, ":%u:%u: ", diagnostic->line, diagnostic->column);
        write_text(writer, user, diagnostic->file);
        write_text(writer, user, place);
    }
    write_text(writer, user, words[diagnostic->severity]);
    write_text(writer, user, ": ");
    write_text(writer, user, diagnostic->message);
    write_text(writer, user, "\n");
    if (diagnostic->text && diagnostic->text_length < 4096) {
        size_t column = diagnostic->column ? diagnostic->column - 1 : 0;
        if (column > diagnostic->text_length) column = diagnostic->text_length;
        writer(diagnostic->text, diagnostic->text_length, user);
        writer("\n", 1, user);
        for (size_t i = 0; i < column; i++)
            writer(diagnostic->text[i] == '\t' ? "\t" : " ", 1, user);
        writer("^\n", 2, user);
    }
}
