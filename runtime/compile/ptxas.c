/* Reports what ptxas says about code that assembles but is slower than intended. ptxas prints it as
 * `info`, which is easily overlooked. Here it becomes a warning at the user's line. */
#include <stdlib.h>
#include <string.h>

#include "lib/support/context.h"
#include "runtime/compile/assemble.h"

static const struct {
    const char *words, *meaning;
} meanings[] = {
#define MEANING(words, meaning) {words, meaning},
#include "runtime/compile/ptxas.def"
#undef MEANING
};

/* Places --------------------------------------------------------------------------------------- */

typedef struct text_line {
    const char *at;
    size_t length;
} text_line;

/* Reads the next line of a text; false at its end. */
static bool next_line(const char **text, text_line *line) {
    if (!**text) return false;
    *line = (text_line){*text, strcspn(*text, "\n")};
    *text += line->length + ((*text)[line->length] == '\n');
    return true;
}

/* The source whose name is the longest end of the path: a text may include another one of the same
 * name in a folder. */
static bool find_source(const tile_context *context, const char *path, size_t length,
                        uint32_t *file) {
    size_t longest = 0;
    for (uint32_t i = 0; i < context->source_count; i++) {
        const char *name = context->sources[i].name;
        size_t own = strlen(name);
        if (own <= longest || own > length || memcmp(path + length - own, name, own) != 0) continue;
        *file = i;
        longest = own;
    }
    return longest != 0;
}

/* The source file whose name the PTX's `.file` of this number has. The PTX has absolute paths. */
static bool find_file(const tile_context *context, const char *ptx, unsigned number,
                      uint32_t *file) {
    text_line line;
    unsigned found;
    int begin;
    while (next_line(&ptx, &line)) {
        if (sscanf(line.at, " .file %u \"%n", &found, &begin) != 1 || found != number) continue;
        const char *name = line.at + begin;
        if (find_source(context, name, strcspn(name, "\"\n"), file)) return true;
    }
    return false;
}

/* The source location of a line of the PTX: that of the last preceding .loc. */
static tile_loc find_place(const tile_context *context, const char *ptx, unsigned long number) {
    const char *rest = ptx;
    text_line line;
    unsigned file = 0, at, column;
    tile_loc loc = {0, 0, 0};
    for (unsigned long i = 1; i <= number; i++) {
        if (!next_line(&rest, &line)) return (tile_loc){0, 0, 0};
        if (sscanf(line.at, " .loc %u %u %u", &file, &at, &column) == 3)
            loc = (tile_loc){0, at, column};
    }
    return loc.line && find_file(context, ptx, file, &loc.file) ? loc : (tile_loc){0, 0, 0};
}

/* Messages ------------------------------------------------------------------------------------- */

typedef struct message {
    tile_severity severity;
    tile_loc loc;
    const char *text;
    struct message *before;
} message;

/* The part of a line to report, "" if there is none: "ptxas info : (C7511) Potential .." and "ptxas
 * warning : ..". */
static const char *find_words(const text_line *line, tile_arena *arena) {
    const char *text = tile_arena_string(arena, line->at, line->length);
    const char *code = strstr(text, "(C"), *warning = strstr(text, "warning");
    if (strncmp(text, "ptxas", 5) != 0) return "";
    if (code && strspn(code + 2, "0123456789") && strchr(code, ')')) return code;
    const char *colon = warning ? strchr(warning, ':') : NULL;
    return colon ? colon + 1 + strspn(colon + 1, " ") : "";
}

/* The words without " in around line 9". That line of the PTX becomes the location. */
static const char *take_place(const tile_context *context, const char *ptx, const char *words,
                              tile_loc *loc, tile_arena *arena) {
    static const char around[] = " in around line ";
    const char *at = strstr(words, around);
    *loc = (tile_loc){0, 0, 0};
    if (!at) return words;
    char *end;
    unsigned long number = strtoul(at + sizeof around - 1, &end, 10);
    *loc = find_place(context, ptx, number);
    return loc->line ? tile_arena_format(arena, "%.*s%s", (int)(at - words), words, end) : words;
}

static bool was_reported(const message *last, const message *m) {
    for (; last; last = last->before)
        if (last->loc.file == m->loc.file && last->loc.line == m->loc.line &&
            last->loc.column == m->loc.column && strcmp(last->text, m->text) == 0)
            return true;
    return false;
}

static void say(tile_context *context, const message *m) {
    tile_report(context, m->severity, m->loc, "ptxas: %s", m->text);
    for (unsigned i = 0; i < sizeof meanings / sizeof *meanings; i++)
        if (strstr(m->text, meanings[i].words)) {
            tile_report(context, TILE_NOTE, m->loc, "%s", meanings[i].meaning);
            return;
        }
}

void tile_report_ptxas(tile_context *context, FILE *messages, const tile_blob *ptx) {
    char *all = tile_program_read(messages, NULL);
    const char *rest = all;
    tile_arena arena = {0};
    message *last = NULL;
    text_line line;
    while (next_line(&rest, &line)) {
        const char *words = find_words(&line, &arena);
        if (!*words) continue;
        message *m = TILE_NEW(&arena, message);
        bool spills = strstr(words, "spilled to local memory") != NULL; /* a tile's own choice */
        *m = (message){.severity = spills ? TILE_REMARK : TILE_WARNING, .before = last};
        m->text = take_place(context, ptx->data, words, &m->loc, &arena);
        if (was_reported(last, m)) continue;
        say(context, m);
        last = m;
    }
    tile_arena_reset(&arena);
    free(all);
}
