/* From kernel text to PTX for two targets, without a device. */
#include <stdio.h>
#include <tile/tile.h>

static const char text[] =
    "kernel @scale(%n: i32, %x: view<f16[%n]>, %by: f32) grid [ceildiv(%n, 256)] warps 4\n"
    "{ %b = block_id  store f16(%by * f32(load %x[%b * 256] : [256])), %x[%b * 256] }\n";

int main(void) {
    const tile_target *targets[] = {tile_target_find("sm_80"), tile_target_find("sm_90a")};
    tile_context *context = tile_context_create();
    tile_module *module = tile_module_parse(context, "scale", text, sizeof text - 1);
    tile_status status = module ? TILE_OK : TILE_INVALID;
    for (unsigned i = 0; i < 2 && status == TILE_OK; i++) {
        tile_emit_options options = {.size = sizeof options, .target = targets[i]};
        tile_module *copy = tile_module_clone(module); /* tile_compile leaves it at level 3 */
        tile_blob ptx;
        tile_abi *abi;
        status = tile_compile(copy, "scale", NULL, 0, &options, &ptx, &abi);
        if (status == TILE_OK)
            printf("%s: %s, %u warps per block, %zu bytes of PTX\n", targets[i]->name,
                   tile_abi_entry(abi), tile_abi_warps(abi), ptx.size);
        tile_abi_destroy(abi);
        tile_blob_destroy(&ptx);
        tile_module_destroy(copy);
    }
    tile_module_destroy(module);
    tile_context_destroy(context);
    return status != TILE_OK;
}
