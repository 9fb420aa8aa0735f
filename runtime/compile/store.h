/* Artifacts in memory, by their keys: what the compiling threads made, for the device that runs it.
 */
#ifndef TILE_RUNTIME_COMPILE_STORE_H
#define TILE_RUNTIME_COMPILE_STORE_H

#include "lib/support/arena.h"
#include "tile/artifact.h"

/* Used by several threads at once. */
typedef struct tile_store tile_store;

tile_store *tile_store_create(void);
void tile_store_destroy(tile_store *store);

/* The key's artifact as tile_artifact_write writes it; a copy of the bytes is kept. */
void tile_store_keep(tile_store *store, const char *key, const void *data, size_t size);
/* False if there is none. The bytes are the store's, until it is destroyed. */
bool tile_store_find(tile_store *store, const char *key, const void **data, size_t *size);

/* Keys in the order in which they were asked for. */
typedef struct tile_store_log {
    tile_arena *arena;
    const char **keys;
    size_t count, capacity;
} tile_store_log;

/* tile_artifact_build, through the store: what is there is not made again. log may be NULL. */
tile_status tile_store_build(tile_store *store, tile_store_log *log, tile_module *module,
                             const char *kernel, const tile_build_options *options,
                             tile_artifact **out);

/* compile.c: tile_artifact_make_key for what one compiler makes, whichever it is: it is no part of
 * the key. Of kernels only. */
tile_status tile_artifact_make_local_key(const tile_module *module, const char *kernel,
                                         const tile_build_options *options, tile_artifact_key *key);

#endif
