/* Stores a tuned point in the cache in a folder, and looks it up. */
#include <stdio.h>

#include "tile/cache.h"

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
