/* Where the tools cache what they compile. */
#ifndef TILE_TOOLS_COMMON_CACHE_H
#define TILE_TOOLS_COMMON_CACHE_H

#include "tile/cache.h"
#include "tools/common/tool.h"

/* Cache options of the command line; zero-initialize. */
typedef struct tool_cache {
    const char *folder; /* NULL: not given */
    bool none;
} tool_cache;

/* Consumes --cache-dir=DIR or --no-cache, if the next word is one of them. */
bool tool_cache_option(tool_arguments *arguments, tool_cache *cache);

/* Returns the cache's folder: the given one, else $TILE_CACHE_DIR, else tile in $XDG_CACHE_HOME or
 * in ~/.cache. NULL: no cache, because of --no-cache, an empty TILE_CACHE_DIR, or no home. The
 * caller frees it. */
char *tool_cache_folder(const tool_cache *cache);

/* Returns whether the folder, which may be NULL, contains a cache. */
bool tool_cache_exists(const char *folder);

/* Opens the cache in that folder; NULL if there is none. */
tile_cache *tool_cache_open(const tool_cache *cache, tile_context *context);

#define TOOL_CACHE_HELP \
    "  --cache-dir=DIR       folder of the cache of compiled code (default: $TILE_CACHE_DIR, " \
    "else\n" \
    "                        tile in $XDG_CACHE_HOME or ~/.cache); an empty TILE_CACHE_DIR is " \
    "the\n" \
    "                        same as --no-cache\n" \
    "  --no-cache            uses no cache\n"

#endif
