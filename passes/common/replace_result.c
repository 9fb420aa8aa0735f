#include "passes/common/replace_result.h"

void replace_result(tile_pass *pass, tile_function *f, tile_op op, tile_value to) {
    tile_value *map = TILE_NEW_ARRAY(pass->scratch, tile_value, f->value_count);
    map[tile_op_result(f, op, 0).id] = to;
    tile_replace_values(f, f->body, map);
    tile_erase_op(f, op);
}
