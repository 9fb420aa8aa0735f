/* Chooses the cache's folder. */
#include "tools/common/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool tool_cache_option(tool_arguments *arguments, tool_cache *cache) {
    if (tool_flag(arguments, "--no-cache")) return cache->none = true;
    if (!tool_option(arguments, "--cache-dir", &cache->folder)) return false;
    cache->none = false;
    return true;
}

/* Concatenates base and rest; the caller frees the result. */
static char *join(const char *base, const char *rest) {
    tool_text path = {NULL, 0, 0};
    tool_append(base, strlen(base), &path);
    tool_append(rest, strlen(rest), &path);
    return path.data;
}

char *tool_cache_folder(const tool_cache *cache) {
    const char *folder = cache->folder ? cache->folder : getenv("TILE_CACHE_DIR");
    const char *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache->none) return NULL;
    if (folder) return *folder ? join(folder, "") : NULL;
    /* The XDG Base Directory Specification says to ignore paths that are not absolute. */
    if (caches && *caches == '/') return join(caches, "/tile");
    return home && *home == '/' ? join(home, "/.cache/tile") : NULL;
}

bool tool_cache_exists(const char *folder) {
    char *path = folder ? join(folder, "/tile-cache.sqlite") : NULL;
    FILE *file = path ? fopen(path, "rb") : NULL;
    if (file) fclose(file);
    free(path);
    return file != NULL;
}

tile_cache *tool_cache_open(const tool_cache *cache, tile_context *context) {
    tile_cache *opened = NULL;
    char *folder = tool_cache_folder(cache);
    if (folder) tile_cache_create(context, folder, NULL, &opened);
    free(folder);
    return opened;
}
