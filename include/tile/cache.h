/* A cache on disk for compiled artifacts and tuned points.
 *
 * It is one SQLite database, tile-cache.sqlite, in a folder that any number of processes can share:
 *
 *   tile_cache_create(context, "/home/me/.cache/tile", NULL, &cache);
 *   tile_build_options options = {..., .cache = cache};    tile_artifact_build looks there first
 *   tile_artifact_build(module, kernel, &options, &made);  and stores what it builds
 *
 * The cache affects only the time that calls take. It may be unusable because another process holds
 * its lock for long, the disk is full, the folder is read-only or does not support locks, or the
 * file is damaged. Then lookups find nothing, nothing is stored, and one remark names the reason. A
 * damaged file is replaced; tuned points that can still be read are kept. An entry whose digest
 * does not match is dropped. Processes may be killed at any time. A file of a newer version of Tile
 * or of another program is not changed.
 *
 * A program that links libtile.a needs a build id (-Wl,--build-id, which tile.pc passes). Without
 * one, entries of different builds could not be distinguished, and the cache is unusable.
 *
 * Anyone who can write to the folder can decide which code runs, so only its user should have
 * access to it.
 *
 * Threads: a cache is used by one thread at a time, the thread of its context. Other threads, and
 * the child process after a fork, must open it again. */
#ifndef TILE_CACHE_H
#define TILE_CACHE_H

#include "tile/artifact.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tile_cache_options {
    size_t size;        /* sizeof(tile_cache_options) */
    uint64_t max_bytes; /* limit on the size of all entries, above which the least recently used
                           artifacts are removed; 0: 1 GiB. Times of use are recorded in steps of
                           ten minutes */
} tile_cache_options;

/* Opens the cache in a folder, which is created if it does not exist. options may be NULL. The
 * caller owns *out, which is also valid if the folder is not usable (see above). Returns
 * TILE_INVALID without a context or a folder. The context must outlive the cache. */
TILE_API tile_status tile_cache_create(tile_context *context, const char *folder,
                                       const tile_cache_options *options, tile_cache **out);
TILE_API void tile_cache_destroy(tile_cache *cache);

typedef struct tile_cache_statistics {
    bool usable;                /* false: lookups find nothing; the reason has been reported */
    uint64_t hits, misses;      /* of tile_cache_find_artifact on this tile_cache */
    uint64_t artifacts, points; /* entries in the file, of all processes */
    uint64_t bytes;             /* size of the file without free pages */
    uint64_t max_bytes;
} tile_cache_statistics;

TILE_API tile_cache_statistics tile_cache_get_statistics(tile_cache *cache);

typedef enum tile_cache_content {
    TILE_CACHE_ARTIFACTS = 1 << 0,
    TILE_CACHE_POINTS = 1 << 1,
} tile_cache_content;

/* Removes all entries of a set of tile_cache_content. TILE_FAILED after a diagnostic. */
TILE_API tile_status tile_cache_clear(tile_cache *cache, unsigned contents);
/* Removes the least recently used artifacts until the file has at most `bytes` bytes, or no
 * artifact is left. TILE_FAILED after a diagnostic. */
TILE_API tile_status tile_cache_trim(tile_cache *cache, uint64_t bytes);

/* Artifacts ------------------------------------------------------------------------------------ */

/* Returns the artifact stored under the key, or NULL without a report. The caller owns it. Warnings
 * and remarks of the original build are reported again. */
TILE_API tile_artifact *tile_cache_find_artifact(tile_cache *cache, const tile_artifact_key *key);
/* Stores an artifact. Returns whether it is in the file afterwards. */
TILE_API bool tile_cache_keep_artifact(tile_cache *cache, const tile_artifact_key *key,
                                       const tile_artifact *artifact);

/* Tuned points --------------------------------------------------------------------------------- */

/* The key of a tuned point. Strings are compared byte by byte; NULL is the empty string. */
typedef struct tile_point_key {
    const char *kernel; /* the kernel's text before it is instantiated, including its space */
    const char *bucket; /* of the arguments (tile/device.h) */
    const char *sizes;  /* the exact sizes of the arguments */
    const char *device; /* its name; for a GPU followed by the target of the code */
    unsigned sm_count;
    unsigned memory_clock; /* kHz */
    unsigned power_limit;  /* mW */
} tile_point_key;

typedef struct tile_tuned_point {
    const char *kernel_name; /* for display */
    const char *bindings;    /* the point: "block_m=128 block_n=64" */
    double seconds;          /* of one launch */
    const char *driver;      /* version of the driver used for the measurement */
    bool unchecked;          /* the results were not compared with a reference */
    /* The cache fills in these three fields on lookup and ignores them when it stores a point. */
    const char *compiler; /* the compiler that made the code: versions and build */
    bool stale;           /* another compiler made it: use the point until it is tuned again */
    int64_t tuned;        /* time of tuning, in seconds since 1970 */
} tile_tuned_point;

/* Looks up a point. Returns whether there is one. The cache owns its strings, which are valid until
 * the next call. */
TILE_API bool tile_cache_find_point(tile_cache *cache, const tile_point_key *key,
                                    tile_tuned_point *point);
/* Stores a point and replaces the one with the same key. Returns whether it is in the file
 * afterwards. */
TILE_API bool tile_cache_keep_point(tile_cache *cache, const tile_point_key *key,
                                    const tile_tuned_point *point);

/* key->kernel is a digest here. Both pointers are valid only during the call. */
typedef void (*tile_point_visitor)(const tile_point_key *key, const tile_tuned_point *point,
                                   void *user);

/* Visits all points, newest first. The visitor must not use the cache. */
TILE_API void tile_cache_list_points(tile_cache *cache, tile_point_visitor visit, void *user);
/* Visits the points in the key's bucket, whatever their sizes and power limit, newest first. The
 * visitor must not use the cache. */
TILE_API void tile_cache_list_bucket(tile_cache *cache, const tile_point_key *key,
                                     tile_point_visitor visit, void *user);

#ifdef __cplusplus
}
#endif

#endif
