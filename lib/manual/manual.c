/* The manual that the tools print: Markdown chapters, with tables generated from the compiler's own
 * tables. */
#include <string.h>

#include "lib/manual/text.h"
#include "lib/support/guess.h"
#include "lib/support/memory.h"
#include "lib/support/text.h"
#include "tile/manual.h"

/* A row without a text begins a part. */
typedef struct chapter {
    const char *name, *about, *text;
} chapter;

static const chapter chapters[] = {
#define PART(title) {NULL, title, NULL},
#define CHAPTER(name, summary) {#name, summary, tile_manual_##name},
#include "lib/manual/chapters.def"
#undef CHAPTER
};

enum { CHAPTERS = sizeof chapters / sizeof *chapters };

static void print_list(const tile_out *out) {
    tile_out_print(out, "The manual of Tile IR. `tile-opt --manual=NAME` prints a chapter, "
                        "`--manual=all` all of\nthem, `--ops` lists the operations. To learn the "
                        "language, begin with `--tutorial`.\n");
    for (unsigned i = 0; i < CHAPTERS; i++)
        if (chapters[i].text)
            tile_out_print(out, "  %-12s %s\n", chapters[i].name, chapters[i].about);
        else
            tile_out_print(out, "\n%s\n", chapters[i].about);
}

/* Copies the lines, but replaces {{NAME}} by the table of that name. */
static void print_text(const char *text, const tile_out *out) {
    for (size_t length; *text; text += length) {
        length = strcspn(text, "\n");
        size_t line = length + (text[length] == '\n');
        if (length > 4 && memcmp(text, "{{", 2) == 0)
            tile_manual_print_table(text + 2, length - 4, out);
        else
            tile_out_print(out, "%.*s", (int)line, text);
        length = line;
    }
}

void tile_manual_print(tile_writer writer, void *user) {
    TILE_GUARD(NULL, )
    tile_out out = {writer, user};
    if (!writer) return;
    tile_out_print(&out, "# Tile IR\n");
    for (unsigned i = 0; i < CHAPTERS; i++) {
        if (!chapters[i].text) continue;
        tile_out_print(&out, "\n");
        print_text(chapters[i].text, &out);
    }
}

bool tile_manual_print_chapter(const char *name, const char **nearest, tile_writer writer,
                               void *user) {
    TILE_GUARD(NULL, false)
    tile_out out = {writer, user};
    tile_guess guess = tile_guess_start(name ? name : "", name ? strlen(name) : 0);
    if (nearest) *nearest = NULL;
    if (!writer) return false;
    if (!name) return print_list(&out), true;
    for (unsigned i = 0; i < CHAPTERS; i++) {
        if (!chapters[i].text) continue;
        if (strcmp(chapters[i].name, name) == 0) return print_text(chapters[i].text, &out), true;
        tile_guess_try(&guess, chapters[i].name);
    }
    if (nearest) *nearest = guess.best;
    return false;
}

bool tile_manual_print_production(const char *name, const tile_out *out) {
    size_t length = strlen(name);
    bool inside = false, found = false;
    for (const char *line = tile_manual_grammar; *line;) {
        size_t size = strcspn(line, "\n");
        if (*line != ' ')
            inside = strncmp(line, name, length) == 0 &&
                     line[length + strspn(line + length, " ")] == '=';
        if (inside) tile_out_print(out, "    %.*s\n", (int)size, line);
        found |= inside;
        line += size + (line[size] == '\n');
    }
    return found;
}
