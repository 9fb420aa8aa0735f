/* Where the tools cache what they compile. */
#ifndef TILE_TOOLS_COMMON_CACHE_H
#define TILE_TOOLS_COMMON_CACHE_H

#include "tile/cache.h"
#include "tools/common/tool.h"

/* What the command line says; start with zeros. */
typedef struct tool_cache {
    const char *folder; /* NULL: not said */
    bool none;
} tool_cache;

/* Takes --cache-dir=DIR or --no-cache, if one of them is next. */
bool tool_cache_option(tool_arguments *arguments, tool_cache *cache);

/* The folder: the given one, else $TILE_CACHE_DIR, else tile in $XDG_CACHE_HOME or in ~/.cache.
 * NULL: no cache, because of --no-cache, an empty TILE_CACHE_DIR, or no home. The caller frees it.
 */
char *tool_cache_folder(const tool_cache *cache);

/* Whether there is a cache in the folder, which may be NULL. */
bool tool_cache_exists(const char *folder);

/* The cache in that folder, NULL for none. */
tile_cache *tool_cache_open(const tool_cache *cache, tile_context *context);

#define TOOL_CACHE_HELP \
    "  --cache-dir=DIR       where compiled code is kept (default: $TILE_CACHE_DIR, else tile " \
    "in\n" \
    "                        $XDG_CACHE_HOME or ~/.cache); an empty TILE_CACHE_DIR is " \
    "--no-cache\n" \
    "  --no-cache            compiles, whatever is kept\n"

#endif
