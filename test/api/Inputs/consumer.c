/* A program of twenty lines: a kernel's text becomes PTX. */
#include <stdio.h>
#include <string.h>
#include <tile/tile.h>

static const char text[] = "kernel @fill(%x: ptr<f32>) grid [1] warps 1\n"
                           "{\n  %v = view %x, [32] : view<f32[32]>\n"
                           "  %t = load %v[0] : [32]\n  store %t + %t, %v[0]\n}\n";

int main(void) {
    tile_context *context = tile_context_create();
    tile_module *module = tile_module_parse(context, "fill.tile", text, strlen(text));
    tile_emit_options options = {.size = sizeof options, .target = tile_target_find("sm_80")};
    tile_blob ptx = {NULL, 0};
    tile_status status = tile_compile(module, "fill", NULL, 0, &options, &ptx, NULL);
    printf("%s, %s, %s\n", tile_version_string(), tile_status_name(status),
           ptx.data && strstr(ptx.data, ".entry fill") ? "PTX" : "no PTX");
    tile_blob_destroy(&ptx);
    tile_module_destroy(module);
    tile_context_destroy(context);
    return status != TILE_OK || TILE_VERSION / 10000 != tile_api_version();
}
