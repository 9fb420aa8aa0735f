/* cached_build FOLDER: builds a kernel with the cache in a folder, and prints whether it was a
 * hit. */
#include <stdio.h>
#include <string.h>

#include "tile/tile.h"

static const char text[] = "kernel @double(%x: ptr<f32>) grid [1] warps 1\n"
                           "{\n  %v = view %x, [32] : view<f32[32]>\n"
                           "  %t = load %v[0] : [32]\n  store %t + %t, %v[0]\n}\n";

static void print(const tile_diagnostic *diagnostic, void *user) {
    (void)user;
    puts(diagnostic->message);
}

int main(int argc, char **argv) {
    tile_context *context = tile_context_create();
    tile_artifact *made = NULL;
    tile_build_options options = {
        .size = sizeof options, .target = tile_target_find("sm_80"), .wants = TILE_WANT_PTX};
    tile_context_set_sink(context, print, NULL);
    if (argc != 2 || tile_cache_create(context, argv[1], NULL, &options.cache) != TILE_OK) return 1;
    tile_module *module = tile_module_parse(context, "double.tile", text, strlen(text));
    tile_status status = tile_artifact_build(module, "double", &options, &made);
    tile_cache_statistics counts = tile_cache_get_statistics(options.cache);
    printf("%s, %u found, %u in the file\n", tile_status_name(status), (unsigned)counts.hits,
           (unsigned)counts.artifacts);
    tile_artifact_destroy(made);
    tile_module_destroy(module);
    tile_cache_destroy(options.cache);
    tile_context_destroy(context);
    return status != TILE_OK;
}
