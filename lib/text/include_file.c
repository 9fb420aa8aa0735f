/* The resolver for files. Its memory is not the library's arenas but the heap, since it must
 * outlive the resolver's call; a lack of it is a status. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/support/options.h"
#include "tile/limits.h"
#include "tile/parse.h"

typedef struct found_file {
    char identity[TILE_FILE_IDENTITY];
    char *name, *text, *problem;
    size_t length;
} found_file;

static void write_identity(const struct stat *facts, char identity[TILE_FILE_IDENTITY]) {
    snprintf(identity, TILE_FILE_IDENTITY, "%llx:%llx", (unsigned long long)facts->st_dev,
             (unsigned long long)facts->st_ino);
}

bool tile_file_identity(const char *path, char identity[TILE_FILE_IDENTITY]) {
    struct stat facts;
    if (!identity) return false;
    *identity = 0;
    if (!path || stat(path, &facts) != 0) return false;
    write_identity(&facts, identity);
    return true;
}

/* Paths ---------------------------------------------------------------------------------------- */

/* The folders in which a name is looked up: number 0 is that of the including text. */
typedef struct search {
    const char *name;
    const char *from;
    size_t from_length; /* of its folder, with the last slash */
    tile_include_path path;
} search;

static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

static unsigned folder_count(const search *s) {
    return *s->name == '/' ? 1 : 1 + s->path.folder_count;
}

/* Returns the path of the name in a folder; NULL without memory. */
static char *path_in(const search *s, unsigned number) {
    const char *folder = number ? s->path.folders[number - 1] : s->from;
    size_t length = number ? strlen(folder) : s->from_length;
    if (*s->name == '/') length = 0;
    const char *slash = length && folder[length - 1] != '/' ? "/" : "";
    size_t size = length + 1 + strlen(s->name) + 1;
    char *path = malloc(size);
    if (path) snprintf(path, size, "%.*s%s%s", (int)length, folder, slash, s->name);
    return path;
}

/* Problems ------------------------------------------------------------------------------------- */

/* Writes the file whose name differs from the path in upper and lower case only, if there is one.
 */
static bool write_other_case(const char *path, FILE *to) {
    size_t length = folder_length(path);
    char *folder = length ? strndup(path, length) : strdup(".");
    DIR *list = folder ? opendir(folder) : NULL;
    const struct dirent *entry = NULL;
    while (list && (entry = readdir(list)) && strcasecmp(entry->d_name, path + length) != 0)
        ;
    if (entry)
        fprintf(to, "; there is '%.*s%s': upper and lower case differ", (int)length, path,
                entry->d_name);
    if (list) closedir(list);
    free(folder);
    return entry != NULL;
}

static void write_missing(const search *s, FILE *to) {
    bool found = false;
    fprintf(to, "there is no such file");
    for (unsigned i = 0; i < folder_count(s) && *s->name != '/'; i++)
        if (i)
            fprintf(to, ", %s", s->path.folders[i - 1]);
        else
            fprintf(to, " in %.*s", s->from_length ? (int)s->from_length : 1,
                    s->from_length ? s->from : ".");
    for (unsigned i = 0; i < folder_count(s) && !found; i++) {
        char *path = path_in(s, i);
        found = path && write_other_case(path, to);
        free(path);
    }
    if (!found) fprintf(to, "; correct the name%s", *s->name == '/' ? "" : " or the include path");
}

/* Records the problem. `path` is the path that was tried; NULL: no folder has the name. */
static tile_status fail(const search *s, const char *path, const char *what, found_file *file) {
    size_t length;
    FILE *to = open_memstream(&file->problem, &length);
    if (!to) return TILE_OUT_OF_MEMORY;
    if (path)
        fprintf(to, "%s: %s", path, what);
    else
        write_missing(s, to);
    bool ok = fclose(to) == 0;
    return ok ? TILE_UNAVAILABLE : TILE_OUT_OF_MEMORY;
}

/* Reading -------------------------------------------------------------------------------------- */

/* Reads up to one byte more than the parser accepts. */
static bool read_text(int descriptor, found_file *file) {
    enum { MOST = TILE_MAX_INCLUDED_BYTES + 1 };
    size_t capacity = 1 << 14;
    ssize_t got;
    file->text = malloc(capacity);
    while (file->text && file->length < MOST) {
        size_t room = capacity < MOST ? capacity : MOST;
        got = read(descriptor, file->text + file->length, room - file->length);
        if (got == 0 || (got < 0 && errno != EINTR)) return got == 0;
        if (got > 0) file->length += (size_t)got;
        if (file->length < capacity) continue;
        char *more = realloc(file->text, capacity *= 2);
        if (!more) return false;
        file->text = more;
    }
    return file->text != NULL;
}

/* Opening does not wait for a FIFO or a terminal. */
static tile_status read_file(const search *s, const char *path, found_file *file) {
    struct stat facts;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0) return fail(s, path, strerror(errno), file);
    tile_status status = TILE_OK;
    if (fstat(descriptor, &facts) != 0)
        status = fail(s, path, strerror(errno), file);
    else if (!S_ISREG(facts.st_mode))
        status = fail(s, path,
                      S_ISDIR(facts.st_mode) ? "it is a folder; name a file in it"
                                             : "it is not a regular file",
                      file);
    else if (!read_text(descriptor, file))
        status = fail(s, path, strerror(errno), file);
    else
        write_identity(&facts, file->identity);
    close(descriptor);
    return status;
}

/* The path of the first folder that has the name; NULL: none has it. */
static char *find_path(const search *s) {
    for (unsigned i = 0; i < folder_count(s); i++) {
        struct stat facts;
        char *path = path_in(s, i);
        if (!path || stat(path, &facts) == 0 || (errno != ENOENT && errno != ENOTDIR)) return path;
        free(path);
    }
    return NULL;
}

/* The ending is required so that a program cannot make diagnostics quote just any file. */
static bool is_program(const char *name) {
    static const char ending[] = ".tile";
    size_t length = strlen(name);
    return length >= sizeof ending && strcmp(name + length - (sizeof ending - 1), ending) == 0;
}

tile_status tile_resolve_file(const tile_include *include, tile_included *found, void *user) {
    if (!include || !found || !include->spelling || !include->from) return TILE_INVALID;
    search s = {.name = include->spelling,
                .from = include->from,
                .from_length = folder_length(include->from)};
    found_file *file = calloc(1, sizeof *file);
    if (!file) return TILE_OUT_OF_MEMORY;
    found->memory = file;
    if (!TILE_TAKE_OPTIONS(NULL, tile_include_path, &s.path, user)) {
        found->problem = "tile_include_path.size is 0: set it to sizeof(tile_include_path)";
        return TILE_INVALID;
    }
    if (s.path.folder_count && !s.path.folders) {
        found->problem = "tile_include_path.folders is NULL, but folder_count is not 0";
        return TILE_INVALID;
    }
    if (!is_program(s.name)) {
        found->problem = "its name does not end in .tile; only such files are included";
        return TILE_INVALID;
    }
    file->name = find_path(&s);
    tile_status status = file->name ? read_file(&s, file->name, file) : fail(&s, NULL, NULL, file);
    *found = (tile_included){.identity = file->identity,
                             .name = file->name,
                             .text = file->text,
                             .length = file->length,
                             .problem = file->problem,
                             .memory = file};
    return status;
}

void tile_release_file(tile_included *found, void *user) {
    (void)user;
    found_file *file = found ? found->memory : NULL;
    if (!file) return;
    free(file->name);
    free(file->text);
    free(file->problem);
    free(file);
}
