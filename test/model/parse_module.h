/* Reading a .tile file, for the programs of this folder. */
#ifndef TILE_TEST_MODEL_PARSE_MODULE_H
#define TILE_TEST_MODEL_PARSE_MODULE_H

#include <stdio.h>
#include <stdlib.h>

#include "tile/parse.h"

/* The module of the file, with what it includes. Ends the program if that cannot be read. */
static inline tile_module *parse_module(tile_context *context, const char *path) {
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "rb");
    char *text = malloc(MOST);
    if (!file || !text) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    const size_t size = fread(text, 1, MOST, file);
    const tile_parse_options options = {
        .size = sizeof options, .resolve = tile_resolve_file, .release = tile_release_file};
    tile_module *module = tile_module_parse_with(context, path, text, size, &options);
    fclose(file);
    free(text);
    if (!module) exit(2);
    return module;
}

#endif
