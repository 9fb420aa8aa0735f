/* The .tile files of a command line. */
#ifndef TILE_TOOLS_TILE_BENCH_PROGRAM_FILES_H
#define TILE_TOOLS_TILE_BENCH_PROGRAM_FILES_H

#include <stdbool.h>

typedef struct bench_files {
    char **paths;
    unsigned count, capacity;
} bench_files;

/* Adds a file, or all .tile files of a folder and the folders in it, by name. False after a
 * message. */
bool bench_files_add(bench_files *files, const char *path);
void bench_files_free(bench_files *files);

#endif
