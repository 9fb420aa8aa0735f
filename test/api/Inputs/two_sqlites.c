/* A process with an SQLite of its own, of which nothing works: Tile's cache must not meet it. */
#include <stdio.h>
#include <stdlib.h>

#include "tile/cache.h"

#define OWN(name) \
    int name(void); \
    int name(void) { \
        puts("the process's own " #name); \
        exit(1); \
    }
OWN(sqlite3_initialize)
OWN(sqlite3_open_v2)
OWN(sqlite3_prepare_v2)
OWN(sqlite3_prepare_v3)
OWN(sqlite3_exec)
OWN(sqlite3_step)
OWN(sqlite3_malloc64)
OWN(sqlite3_vfs_find)
OWN(sqlite3_close)

static void print(const tile_diagnostic *diagnostic, void *user) {
    (void)user;
    puts(diagnostic->message);
}

int main(int argc, char **argv) {
    tile_context *context = tile_context_create();
    tile_cache *cache;
    const tile_point_key key = {.kernel = "k", .device = "d"};
    tile_tuned_point point = {.bindings = "b=1", .seconds = 1e-6};
    tile_context_set_sink(context, print, NULL);
    if (argc != 2 || tile_cache_create(context, argv[1], NULL, &cache) != TILE_OK) return 1;
    tile_cache_keep_point(cache, &key, &point);
    if (tile_cache_find_point(cache, &key, &point)) printf("found %s\n", point.bindings);
    tile_cache_destroy(cache);
    tile_context_destroy(context);
    return 0;
}
