#define _XOPEN_SOURCE 700
#include "tools/tile-bench/program/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/common/tool.h"

static void add(bench_files *f, const char *path) {
    if (f->count == f->capacity) {
        f->capacity = 2 * f->capacity + 16;
        f->paths = realloc(f->paths, f->capacity * sizeof *f->paths);
        if (!f->paths) abort();
    }
    f->paths[f->count++] = tool_copy(path, strlen(path));
}

static bool complain(const char *path) {
    fprintf(stderr, "error: %s: %s\n", path, strerror(errno));
    return false;
}

static bool is_program(const char *name) {
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".tile") == 0;
}

static bool add_folder(bench_files *f, const char *path) {
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    bool ok = count >= 0 || complain(path);
    for (int i = 0; i < count; i++) {
        char below[1024];
        struct stat about;
        snprintf(below, sizeof below, "%s%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/",
                 entries[i]->d_name);
        bool skipped = *entries[i]->d_name == '.' || !ok;
        free(entries[i]);
        if (skipped) continue;
        if (stat(below, &about) != 0) {
            ok = complain(below);
        } else if (S_ISDIR(about.st_mode)) {
            ok = add_folder(f, below);
        } else if (is_program(below)) {
            add(f, below);
        }
    }
    if (count >= 0) free(entries);
    return ok;
}

bool bench_files_add(bench_files *f, const char *path) {
    struct stat about;
    unsigned before = f->count;
    if (strpbrk(path, " \t\n")) {
        fprintf(stderr, "error: '%s': a path with blanks is not supported here; use another\n",
                path);
        return false;
    }
    if (stat(path, &about) != 0) return complain(path);
    if (!S_ISDIR(about.st_mode)) {
        add(f, path);
        return true;
    }
    if (!add_folder(f, path)) return false;
    if (f->count == before)
        fprintf(stderr, "error: %s: there is no .tile file in this folder\n", path);
    return f->count > before;
}

void bench_files_free(bench_files *f) {
    for (unsigned i = 0; i < f->count; i++) free(f->paths[i]);
    free(f->paths);
    *f = (bench_files){.count = 0};
}
