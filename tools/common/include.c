/* The include path of the tools. */
#define _XOPEN_SOURCE 700
#include "tools/common/include.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tile/parse.h"

enum { MAX_FOLDERS = 16 };

static char *words[MAX_FOLDERS + 1]; /* -IFOLDER */
static unsigned word_count;
static bool refuses;

const char *tool_include_word(unsigned index) {
    if (index < word_count) return words[index];
    return index == word_count && refuses ? "--no-include" : NULL;
}

static bool add_folder(const char *folder) {
    tool_text word = {NULL, 0, 0};
    if (!*folder) fputs("error: -I needs the name of a folder: -I FOLDER\n", stderr);
    if (word_count == MAX_FOLDERS)
        fprintf(stderr, "error: -I may be given %d times, and '%s' is one more\n", MAX_FOLDERS,
                folder);
    if (!*folder || word_count == MAX_FOLDERS) return false;
    tool_append("-I", 2, &word);
    tool_append(folder, strlen(folder), &word);
    words[word_count++] = word.data;
    return true;
}

bool tool_include_option(tool_arguments *arguments, bool *ok) {
    const char *word = tool_current(arguments), *folder;
    *ok = true;
    if (tool_flag(arguments, "--no-include")) return refuses = true;
    if (strncmp(word, "-I", 2) != 0) return false;
    if (tool_option(arguments, "-I", &folder)) {
        *ok = add_folder(folder);
    } else {
        arguments->next++;
        *ok = add_folder(word + 2);
    }
    return true;
}

/* Writes the folder of the kernels that come with the tools: installed, or of the source tree that
 * contains the build. Returns false if there is none. */
static bool find_shipped(char path[4096]) {
    static const char *const places[] = {"/../share/tile/kernels", "/../../tools/kernels"};
    char program[4096], place[4096 + 64];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    char *slash = strrchr(program, '/');
    if (!slash) return false;
    *slash = 0;
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(place, sizeof place, "%s%s", program, places[i]);
        if (realpath(place, path)) return true;
    }
    return false;
}

static tile_status refuse(const tile_include *include, tile_included *found, void *user) {
    (void)include, (void)user;
    found->problem = "--no-include forbids it";
    return TILE_UNAVAILABLE;
}

tile_module *tool_parse(tile_context *context, const char *name, const char *text, size_t length) {
    const char *folders[MAX_FOLDERS + 1];
    char shipped[4096], identity[TILE_FILE_IDENTITY];
    tile_include_path path = {.size = sizeof path, .folders = folders};
    for (unsigned i = 0; i < word_count; i++) folders[path.folder_count++] = words[i] + 2;
    if (find_shipped(shipped)) folders[path.folder_count++] = shipped;
    const tile_parse_options options = {
        .size = sizeof options,
        .resolve = refuses ? refuse : tile_resolve_file,
        .release = refuses ? NULL : tile_release_file,
        .user = &path,
        .identity = tile_file_identity(name, identity) ? identity : NULL,
    };
    return tile_module_parse_with(context, name, text, length, &options);
}

tile_module *tool_parse_file(tile_context *context, const char *path) {
    size_t size;
    char *text = tool_read_file(path, &size);
    if (!text) return NULL;
    tile_module *module = tool_parse(context, strcmp(path, "-") ? path : "<stdin>", text, size);
    free(text);
    return module;
}
