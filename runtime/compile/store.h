/* Artifacts in memory, by key. The compiling threads make them for the device that runs them. */
#ifndef TILE_RUNTIME_COMPILE_STORE_H
#define TILE_RUNTIME_COMPILE_STORE_H

#include "lib/support/arena.h"
#include "tile/artifact.h"

/* Several threads use it at the same time. */
typedef struct tile_store tile_store;

tile_store *tile_store_create(void);
void tile_store_destroy(tile_store *store);

/* Stores a copy of the key's artifact, as tile_artifact_write writes it. */
void tile_store_keep(tile_store *store, const char *key, const void *data, size_t size);
/* False if there is none. The store owns the bytes until it is destroyed. */
bool tile_store_find(tile_store *store, const char *key, const void **data, size_t *size);

/* Keys in the order of their requests. */
typedef struct tile_store_log {
    tile_arena *arena;
    const char **keys;
    size_t count, capacity;
} tile_store_log;

/* tile_artifact_build through the store: an artifact that it has is not built again. log may be
 * NULL. */
tile_status tile_store_build(tile_store *store, tile_store_log *log, tile_module *module,
                             const char *kernel, const tile_build_options *options,
                             tile_artifact **out);

/* compile.c: tile_artifact_make_key without the compiler, for artifacts that a single compiler
 * makes. Only for kernels. */
tile_status tile_artifact_make_local_key(const tile_module *module, const char *kernel,
                                         const tile_build_options *options, tile_artifact_key *key);

#endif
