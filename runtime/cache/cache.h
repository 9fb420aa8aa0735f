/* The private definition of a cache. */
#ifndef TILE_RUNTIME_CACHE_CACHE_H
#define TILE_RUNTIME_CACHE_CACHE_H

#include "lib/support/record.h"
#include "runtime/cache/database.h"
#include "tile/cache.h"

struct tile_cache {
    tile_context *context;
    tile_database db;
    uint64_t max_bytes, hits, misses;
    int64_t (*now)(void); /* seconds since 1970 */
    const char *compiler; /* the running one */
    tile_arena arena;     /* lives as long as the cache */
    tile_arena found;     /* the strings of the point found last */
};

/* tile_cache_create with another VFS of SQLite (see tile_database). */
tile_cache *tile_cache_open(tile_context *context, const char *folder,
                            const tile_cache_options *options, const char *vfs);

/* tile_cache_keep_artifact with the messages of its build (messages.h). */
bool tile_cache_keep(tile_cache *cache, const tile_artifact_key *key, const tile_artifact *artifact,
                     const char *messages, size_t messages_size);

/* A point with its key as in files: the kernel is a digest. */
typedef struct tile_kept_point {
    tile_point_key key;
    tile_tuned_point point; /* `stale` is not stored */
} tile_kept_point;

extern const tile_record tile_kept_point_record;

/* tile_cache_keep_point, where the key's kernel is already a digest and the point already has the
 * compiler and the time of its measurement. */
bool tile_cache_import_point(tile_cache *cache, const tile_point_key *key,
                             const tile_tuned_point *point);

/* Returns whether the cache has a point with bindings for the key's kernel on its device, for any
 * sizes. */
bool tile_cache_has_bindings(tile_cache *cache, const tile_point_key *key);

#endif
