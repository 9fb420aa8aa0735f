#include "passes/common/replace_results.h"

void replace_results(tile_pass *pass, tile_function *f, tile_region region, size_t old_ops,
                     tile_opcode opcode, const tile_value *to) {
    tile_value *map = TILE_NEW_ARRAY(pass->scratch, tile_value, f->value_count);
    for (uint32_t id = 1; id < old_ops; id++) {
        tile_op op = {id};
        if (tile_op_opcode(f, op) != opcode) continue;
        for (unsigned d = 0; d < tile_op_result_count(f, op); d++)
            map[tile_op_result(f, op, d).id] = to[d];
    }
    tile_replace_values(f, region, map);
    for (uint32_t id = 1; id < old_ops; id++)
        if (tile_op_opcode(f, (tile_op){id}) == opcode) tile_erase_op(f, (tile_op){id});
}

void replace_result(tile_pass *pass, tile_function *f, tile_op op, tile_value to) {
    tile_value *map = TILE_NEW_ARRAY(pass->scratch, tile_value, f->value_count);
    map[tile_op_result(f, op, 0).id] = to;
    tile_replace_values(f, f->body, map);
    tile_erase_op(f, op);
}
