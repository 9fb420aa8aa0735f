/* Options, files and diagnostics of the tools. */
#define _POSIX_C_SOURCE 200809L
#include "tools/common/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Options ------------------------------------------------------------------------------------- */

const char *tool_current(const tool_arguments *arguments) {
    return arguments->next < arguments->argc ? arguments->argv[arguments->next] : "";
}

bool tool_flag(tool_arguments *arguments, const char *name) {
    if (strcmp(tool_current(arguments), name) != 0) return false;
    arguments->next++;
    return true;
}

bool tool_option(tool_arguments *arguments, const char *name, const char **value) {
    const char *word = tool_current(arguments);
    size_t length = strlen(name);
    if (strncmp(word, name, length) != 0) return false;
    if (word[length] == '=') {
        *value = word + length + 1;
        arguments->next++;
        return true;
    }
    if (word[length] || arguments->next + 1 >= arguments->argc) return false;
    *value = arguments->argv[arguments->next + 1];
    arguments->next += 2;
    return true;
}

bool tool_positional(tool_arguments *arguments, const char **value) {
    const char *word = tool_current(arguments);
    if (arguments->next >= arguments->argc || (word[0] == '-' && word[1])) return false;
    *value = word;
    arguments->next++;
    return true;
}

/* Memory and files ---------------------------------------------------------------------------- */

static void *need(void *memory) {
    if (!memory) {
        fputs("error: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

const char *tool_add_binding(tile_binding *bindings, unsigned capacity, unsigned *count,
                             const char *text) {
    const char *equal = strchr(text, '=');
    if (!equal || equal == text) return "--param takes NAME=VALUE, not";
    if (*count == capacity) return "too many parameters at";
    bindings[(*count)++] = (tile_binding){tool_copy(text, (size_t)(equal - text)), equal + 1};
    return NULL;
}

char *tool_copy(const char *text, size_t length) {
    char *copy = need(calloc(length + 1, 1));
    memcpy(copy, text, length);
    return copy;
}

void tool_append(const char *text, size_t length, void *tool_text_) {
    tool_text *to = tool_text_;
    if (to->size + length + 1 > to->capacity) {
        to->capacity = (to->size + length + 1) * 2;
        to->data = need(realloc(to->data, to->capacity));
    }
    memcpy(to->data + to->size, text, length);
    to->size += length;
    to->data[to->size] = 0;
}

void tool_write(const char *text, size_t length, void *file) {
    fwrite(text, 1, length, file);
}

void tool_write_json_string(const char *text, tile_writer writer, void *user) {
    writer("\"", 1, user);
    for (; *text; text++) {
        unsigned char letter = (unsigned char)*text;
        char code[8];
        if (letter < 0x20) {
            writer(code, (size_t)snprintf(code, sizeof code, "\\u%04x", letter), user);
            continue;
        }
        if (letter == '"' || letter == '\\') writer("\\", 1, user);
        writer(text, 1, user);
    }
    writer("\"", 1, user);
}

static void complain(const char *path) {
    fprintf(stderr, "error: %s: %s\n", path, strerror(errno));
}

void tool_start(void) {
    static const int output = 1;
    if (fcntl(output, F_GETFD) == -1 && errno == EBADF && open("/dev/null", O_RDONLY) != output)
        complain("/dev/null");
}

int tool_finish(bool ok) {
    bool failed = ferror(stdout) != 0; /* errno may have been overwritten since */
    if (failed)
        fputs("error: standard output: not all of it could be written\n", stderr);
    else if (fflush(stdout) != 0)
        complain("standard output");
    else
        return ok ? 0 : 1;
    return 1;
}

int tool_print_version(const char *tool) {
    printf("%s %s\n", tool, tile_version_string());
    return tool_finish(true);
}

/* Far above any program and far below a machine's memory, so that reading /dev/zero ends. */
enum { LARGEST_FILE = 1 << 26 };

char *tool_read_file(const char *path, size_t *size) {
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    tool_text text = {NULL, 0, 0};
    char piece[65536];
    size_t got;
    if (!file) {
        complain(path);
        return NULL;
    }
    tool_append("", 0, &text);
    while (text.size <= LARGEST_FILE && (got = fread(piece, 1, sizeof piece, file)) > 0)
        tool_append(piece, got, &text);
    if (text.size > LARGEST_FILE) errno = EFBIG;
    bool failed = ferror(file) != 0 || text.size > LARGEST_FILE;
    if (failed) complain(path);
    if (!standard) fclose(file);
    if (failed) {
        free(text.data);
        return NULL;
    }
    *size = text.size;
    return text.data;
}

bool tool_write_file(const char *path, const char *data, size_t size) {
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdout : fopen(path, "wb");
    if (!file) {
        complain(path);
        return false;
    }
    bool ok = fwrite(data, 1, size, file) == size;
    ok &= (standard ? fflush(file) : fclose(file)) == 0;
    if (!ok) complain(standard ? "standard output" : path);
    if (standard) clearerr(file); /* the error has been reported */
    return ok;
}

/* Diagnostics --------------------------------------------------------------------------------- */

static void print_diagnostic(const tile_diagnostic *diagnostic, void *file) {
    tile_diagnostic_print(diagnostic, tool_write, file);
}

void tool_print_diagnostics(tile_context *context) {
    tile_context_set_sink(context, print_diagnostic, stderr);
}

static bool remarks_failed;

static void print_strictly(const tile_diagnostic *diagnostic, void *file) {
    tile_diagnostic d = *diagnostic;
    if (d.severity == TILE_REMARK && d.line) {
        d.severity = TILE_ERROR;
        remarks_failed = true;
    }
    tile_diagnostic_print(&d, tool_write, file);
}

void tool_print_remarks(tile_context *context, tool_remarks remarks) {
    bool strict = remarks == TOOL_REMARKS_ERROR;
    tile_context_set_remarks(context, remarks != TOOL_REMARKS_ASKED);
    tile_context_set_sink(context, strict ? print_strictly : print_diagnostic, stderr);
}

bool tool_remarks_failed(void) {
    return remarks_failed;
}

bool tool_remarks_option(tool_arguments *arguments, tool_remarks *remarks, bool *ok) {
    const char *word = tool_current(arguments);
    static const char name[] = "--remarks";
    if (strncmp(word, name, sizeof name - 1) != 0) return false;
    const char *kind = word + sizeof name - 1;
    if (*kind && *kind != '=') return false;
    *ok = !*kind || strcmp(kind, "=error") == 0;
    *remarks = *kind ? TOOL_REMARKS_ERROR : TOOL_REMARKS_ALL;
    if (!*ok)
        fprintf(stderr, "error: write --remarks or --remarks=error, not --remarks='%s'\n", word);
    arguments->next++;
    return true;
}

/* Returns the next word of the help that begins with -, or NULL. */
static const char *next_option(const char *at) {
    while ((at = strchr(at, '-')) && at[-1] != ' ') at++;
    return at;
}

static size_t common_length(const char *a, const char *b) {
    size_t length = 0;
    while (a[length] && a[length] == b[length]) length++;
    return length;
}

/* Returns the option in the help that the word names, and whose value is wrong or missing; else
 * NULL. */
static const char *find_option(const char *help, const char *word) {
    size_t length = strcspn(word, "=");
    for (const char *at = next_option(help); at; at = next_option(at + 1))
        if (strcspn(at, "= ,\n|[") == length && common_length(word, at) == length) return at;
    return NULL;
}

/* Guesses the intended option: the first one in the help that shares the most characters. */
static const char *guess_option(const char *help, const char *word) {
    size_t most = 4; /* fewer equal characters are not similar enough */
    const char *best = NULL;
    for (const char *at = next_option(help); at; at = next_option(at + 1)) {
        size_t common = common_length(word, at);
        if (common <= most) continue;
        most = common;
        best = at;
    }
    return best;
}

bool tool_refuse_option(const tool_arguments *arguments, const char *tool, const char *help) {
    const char *word = tool_current(arguments), *named = find_option(help, word);
    const char *best = named ? named : guess_option(help, word);
    if (named)
        fprintf(stderr, "error: option '%s' has another form", word);
    else if (*word != '-')
        fprintf(stderr, "error: '%s' is a second file, and %s takes one", word, tool);
    else
        fprintf(stderr, "error: %s has no option '%s'", tool, word);
    if (best) {
        size_t name = strcspn(best, "= \n|["), form = name + strcspn(best + name, "  \n");
        if (best[name] == ' ' && best[name + 1] != ' ') /* NAME VALUE */
            form = name + 1 + strcspn(best + name + 1, " \n");
        fprintf(stderr, named ? "; write `%.*s`;" : "; did you mean `%.*s`?", (int)form, best);
    }
    fprintf(stderr, "%s `%s --help` lists the options\n", best ? "" : ";", tool);
    return false;
}

const tile_function *tool_only_function(const tile_module *module) {
    const tile_function *f, *only = NULL;
    for (unsigned i = 0; (f = tile_module_function(module, i)); i++) {
        if (tile_function_get_kind(f) == TILE_FUNC) continue;
        if (only) return NULL;
        only = f;
    }
    return only;
}

bool tool_has_computes_only(const tile_module *module) {
    const tile_function *f;
    for (unsigned i = 0; (f = tile_module_function(module, i)); i++)
        if (tile_function_get_kind(f) == TILE_KERNEL || tile_function_get_kind(f) == TILE_PLAN)
            return false;
    return true;
}
