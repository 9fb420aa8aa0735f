/* A cache as a whole: opening, counting, clearing, trimming. */
#include "runtime/cache/cache.h"

#include <stdlib.h>
#include <time.h>

#include "lib/support/identity.h"
#include "lib/support/options.h"

static const uint64_t default_bytes = 1u << 30;

static int64_t time_now(void) {
    return (int64_t)time(NULL);
}

tile_cache *tile_cache_open(tile_context *context, const char *folder,
                            const tile_cache_options *options, const char *vfs) {
    tile_cache_options taken;
    if (!TILE_TAKE_OPTIONS(context, tile_cache_options, &taken, options)) return NULL;
    tile_cache *cache = tile_malloc(sizeof *cache);
    *cache = (tile_cache){.context = context,
                          .max_bytes = taken.max_bytes ? taken.max_bytes : default_bytes,
                          .now = time_now};
    cache->compiler = tile_compiler_identity(&cache->arena);
    tile_database_open(&cache->db, context, folder, vfs);
    if (!tile_compiler_is_known())
        tile_database_disable(&cache->db, "this program has no build id, which identifies its code "
                                          "in the cache; link it with -Wl,--build-id");
    return cache;
}

tile_status tile_cache_create(tile_context *context, const char *folder,
                              const tile_cache_options *options, tile_cache **out) {
    TILE_GUARD(context, TILE_OUT_OF_MEMORY)
    *out = NULL;
    if (!context) return TILE_INVALID;
    if (!folder || !*folder) {
        tile_report(context, TILE_ERROR, (tile_loc){0}, "a cache needs a folder");
        return TILE_INVALID;
    }
    *out = tile_cache_open(context, folder, options, NULL);
    return *out ? TILE_OK : TILE_INVALID;
}

void tile_cache_destroy(tile_cache *cache) {
    if (!cache) return;
    tile_database_close(&cache->db);
    tile_arena_reset(&cache->arena);
    tile_arena_reset(&cache->found);
    free(cache);
}

tile_cache_statistics tile_cache_get_statistics(tile_cache *cache) {
    if (!cache) return (tile_cache_statistics){0};
    tile_database *db = &cache->db;
    tile_cache_statistics statistics = {.hits = cache->hits,
                                        .misses = cache->misses,
                                        .artifacts = tile_database_number(db, DB_COUNT_ARTIFACTS),
                                        .points = tile_database_number(db, DB_COUNT_POINTS),
                                        .bytes = tile_database_number(db, DB_USED_BYTES),
                                        .max_bytes = cache->max_bytes};
    statistics.usable = db->handle != NULL;
    return statistics;
}

/* Removing ------------------------------------------------------------------------------------- */

static tile_status finish(tile_cache *cache, bool ok, const char *what) {
    /* Returns free space to the file system. If this fails, the file reuses the space. */
    if (ok && cache->db.handle)
        sqlite3_exec(cache->db.handle, "PRAGMA incremental_vacuum", NULL, NULL, NULL);
    if (ok) return TILE_OK;
    tile_report(cache->context, TILE_ERROR, (tile_loc){0}, "cache %s: %s", cache->db.path, what);
    return TILE_FAILED;
}

tile_status tile_cache_clear(tile_cache *cache, unsigned contents) {
    TILE_GUARD(cache ? cache->context : NULL, TILE_OUT_OF_MEMORY)
    if (!cache) return TILE_INVALID;
    bool ok = true;
    if (contents & TILE_CACHE_ARTIFACTS) ok &= tile_database_run(&cache->db, DB_CLEAR_ARTIFACTS);
    if (contents & TILE_CACHE_POINTS) ok &= tile_database_run(&cache->db, DB_CLEAR_POINTS);
    return finish(cache, ok, "not all entries could be removed");
}

tile_status tile_cache_trim(tile_cache *cache, uint64_t bytes) {
    TILE_GUARD(cache ? cache->context : NULL, TILE_OUT_OF_MEMORY)
    if (!cache) return TILE_INVALID;
    return finish(cache, tile_database_trim(&cache->db, bytes), "it could not be trimmed");
}
