/* The tensor memory accelerator: tensor maps, and the copies that go through them. */
#include "lib/codegen/emitter.h"

void tile_emit_tensor_map(tile_emitter *e, tile_op op) {
    tile_set_scalar(e, tile_op_result(e->f, op, 0),
                    e->map_bases[tile_map_index(e->f, op, e->maps, e->map_count)]);
}
