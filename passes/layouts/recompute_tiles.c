/* Tiles that are computed from no memory, such as the coordinates of index tiles, are computed
 * again in another layout. Exchanging their elements between threads takes longer. */
#include "lib/ir/regions.h"
#include "lib/layout/layout.h"
#include "lib/layout/rearrange.h"
#include "passes/common/slice.h"
#include "passes/layouts/assign_layouts.h"

enum { MOST = 64 /* operations of one tile; their parts that tiles share count each time */ };

static bool is_computed(const tile_function *f, tile_value tile, unsigned *left) {
    const tile_op op = tile_value_def(f, tile);
    const tile_type *type = tile_value_type(f, tile);
    if (type->kind != TILE_TYPE_TILE) return true;
    if (!op.id || !*left || tile_op_result_count(f, op) != 1 || tile_op_at(f, op)->region_count)
        return false;
    --*left;
    const tile_opcode opcode = tile_op_opcode(f, op);
    if (opcode == TILE_OP_iota || opcode == TILE_OP_splat) return true;
    bool repeats = opcode == TILE_OP_broadcast &&
                   tile_value_type(f, tile_operand_src(f, op))->rank == type->rank;
    if (!repeats && !tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE)) return false;
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++)
        if (!is_computed(f, tile_op_operand(f, op, i), left)) return false;
    return true;
}

bool layouts_can_recompute(const tile_function *f, tile_value tile) {
    unsigned left = MOST;
    return is_computed(f, tile, &left);
}

tile_value layouts_recompute(tile_pass *pass, tile_builder *b, tile_value tile,
                             const tile_layout *layout) {
    tile_function *f = b->function;
    const tile_op op = tile_value_def(f, tile);
    const tile_type *from = tile_value_type(f, tile);
    if (from->kind != TILE_TYPE_TILE || tile_layout_equal(layout, from->layout)) return tile;
    const tile_type *to = tile_type_with_layout(pass->context, from, layout);
    switch (tile_op_opcode(f, op)) {
    case TILE_OP_iota: return slice_iota(b, op, to);
    case TILE_OP_splat: return tile_build_splat(b, tile_operand_src(f, op), to);
    case TILE_OP_broadcast: {
        const tile_value src = tile_operand_src(f, op);
        const tile_layout narrow = tile_broadcast_layout(tile_value_type(f, src), layout);
        return tile_build_broadcast(b, layouts_recompute(pass, b, src, &narrow), to);
    }
    default: break;
    }
    const size_t count = f->value_count;
    tile_value *map = TILE_NEW_ARRAY(pass->scratch, tile_value, count);
    for (unsigned i = 0; i < tile_op_operand_count(f, op); i++) {
        const tile_value operand = tile_op_operand(f, op, i);
        map[operand.id] = layouts_recompute(pass, b, operand, layout);
    }
    const tile_value result = tile_op_result(f, tile_clone_op(b, op, map, count), 0);
    tile_value_at(f, result)->type = to;
    return result;
}
