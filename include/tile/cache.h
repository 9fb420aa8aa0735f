/* A cache on disk: what was compiled, and what tuning found.
 *
 * It is one SQLite database, tile-cache.sqlite, in a folder that any number of processes share:
 *
 *   tile_cache_create(context, "/home/me/.cache/tile", NULL, &cache);
 *   tile_build_options options = {..., .cache = cache};    tile_artifact_build looks there first,
 *   tile_artifact_build(module, kernel, &options, &made);  and keeps there what it makes
 *
 * Nothing but time depends on it. Where the cache cannot do its work, because another process holds
 * it for long, the disk is full, the folder is read-only or knows no locks, or the file is damaged,
 * nothing is found, nothing is kept, and one remark says why. A damaged file is made anew, with the
 * tuned points that can be read; an entry whose digest does not fit is dropped. Processes may be
 * killed at any time. A file of a newer Tile or of another program is left alone.
 *
 * A program that libtile.a is linked into needs a build id (-Wl,--build-id; tile.pc says so):
 * without one, what another build compiled could not be distinguished, and the cache is of no use.
 *
 * Who can write to the folder decides what code runs: it should be its user's alone.
 *
 * Threads: a cache is used by one thread at a time, that of its context; others, and the child
 * after a fork, open it for themselves. */
#ifndef TILE_CACHE_H
#define TILE_CACHE_H

#include "tile/artifact.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tile_cache_options {
    size_t size;        /* sizeof(tile_cache_options) */
    uint64_t max_bytes; /* when the entries take more, the least recently used artifacts go; 0:
                           1 GiB. "Recently" is counted in steps of ten minutes */
} tile_cache_options;

/* Opens the cache in a folder, which is made if it is not there. options may be NULL. *out, the
 * caller's, is there also where the folder is of no use (see above). TILE_INVALID without a context
 * or a folder. The context must live longer. */
TILE_API tile_status tile_cache_create(tile_context *context, const char *folder,
                                       const tile_cache_options *options, tile_cache **out);
TILE_API void tile_cache_destroy(tile_cache *cache);

typedef struct tile_cache_statistics {
    bool usable;                /* false: nothing can be found; why has been reported */
    uint64_t hits, misses;      /* of tile_cache_find_artifact on this tile_cache */
    uint64_t artifacts, points; /* entries in the file, whoever made them */
    uint64_t bytes;             /* of the file, without free space inside */
    uint64_t max_bytes;
} tile_cache_statistics;

TILE_API tile_cache_statistics tile_cache_get_statistics(tile_cache *cache);

typedef enum tile_cache_content {
    TILE_CACHE_ARTIFACTS = 1 << 0,
    TILE_CACHE_POINTS = 1 << 1,
} tile_cache_content;

/* Removes all entries of a set of tile_cache_content. TILE_FAILED after a diagnostic. */
TILE_API tile_status tile_cache_clear(tile_cache *cache, unsigned contents);
/* Removes the least recently used artifacts until the file takes at most so many bytes, or has none
 * left. TILE_FAILED after a diagnostic. */
TILE_API tile_status tile_cache_trim(tile_cache *cache, uint64_t bytes);

/* Artifacts ------------------------------------------------------------------------------------ */

/* What was kept under the key, or NULL, without a report. The caller's. Warnings and remarks of the
 * build that made it are reported again. */
TILE_API tile_artifact *tile_cache_find_artifact(tile_cache *cache, const tile_artifact_key *key);
/* Whether the artifact is in the file now. */
TILE_API bool tile_cache_keep_artifact(tile_cache *cache, const tile_artifact_key *key,
                                       const tile_artifact *artifact);

/* Tuned points --------------------------------------------------------------------------------- */

/* What a tuned point is found by. Texts are compared byte by byte; NULL is the empty text. */
typedef struct tile_point_key {
    const char *kernel; /* the kernel's text before it is instantiated, its space included */
    const char *bucket; /* of the arguments (tile/device.h) */
    const char *sizes;  /* of the arguments, as they are */
    const char *device; /* its name; a GPU's code's target behind it */
    unsigned sm_count;
    unsigned memory_clock; /* kHz */
    unsigned power_limit;  /* mW */
} tile_point_key;

typedef struct tile_tuned_point {
    const char *kernel_name; /* for whoever reads a list */
    const char *bindings;    /* the point: "block_m=128 block_n=64" */
    double seconds;          /* of one launch */
    const char *driver;      /* under which it was measured: its version */
    bool unchecked;          /* nobody knows whether its results are right */
    /* The cache gives these three, and does not look at them when it keeps a point. */
    const char *compiler; /* that made the code: versions and build */
    bool stale;           /* it is not the one that runs now: use the point, until it is retuned */
    int64_t tuned;        /* when: seconds since 1970 */
} tile_tuned_point;

/* Whether there is a point. Its texts are the cache's, until its next call. */
TILE_API bool tile_cache_find_point(tile_cache *cache, const tile_point_key *key,
                                    tile_tuned_point *point);
/* Replaces the key's point. Whether it is in the file now. */
TILE_API bool tile_cache_keep_point(tile_cache *cache, const tile_point_key *key,
                                    const tile_tuned_point *point);

/* key->kernel is a digest here. Both are there until the call returns. */
typedef void (*tile_point_visitor)(const tile_point_key *key, const tile_tuned_point *point,
                                   void *user);

/* All points, the newest first. The visitor must not use the cache. */
TILE_API void tile_cache_list_points(tile_cache *cache, tile_point_visitor visit, void *user);
/* Those of the key's bucket, whatever their sizes and their power limit, the newest first. The
 * visitor must not use the cache. */
TILE_API void tile_cache_list_bucket(tile_cache *cache, const tile_point_key *key,
                                     tile_point_visitor visit, void *user);

#ifdef __cplusplus
}
#endif

#endif
