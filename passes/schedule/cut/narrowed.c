/* What is stored of a product that other kernels read: an element-wise function of it from which all
 * else is computed, if its elements are narrower, such as f16 in
 *
 *     %y = layer_norm(f32(f16(matmul(%x, %w) + %bias)))
 *
 * Reshapes and transposes may be between the product and the function, as after a convolution, if
 * the product's kernel can store the elements where they are moved to. */
#include "passes/schedule/cut/cut.h"

#include "lib/ir/effects.h"

/* Returns whether the product's kernel can store the value, whose elements are moved. */
static bool is_product_epilogue(schedule *s, tile_value value) {
    sched_group g = {.kind = SCHED_ELEMENTWISE};
    sched_map map;
    sched_choose(s, &g, value, &map);
    return g.kind == SCHED_MATMUL;
}

static tile_value narrowed(schedule *s, tile_value product) {
    tile_value found = product, at = product;
    tile_op op = tile_value_def(s->compute, product);
    if (sched_array_of(s, product) >= 0 || !op.id ||
        tile_op_opcode(s->compute, op) != TILE_OP_matmul)
        return product;
    sched_domain domain = sched_domain_of(s, product);
    bool moved = false;
    while ((op = sched_only_user(s, at)).id) {
        const tile_opcode opcode = tile_op_opcode(s->compute, op);
        bool moves = opcode == TILE_OP_reshape || opcode == TILE_OP_transpose;
        if (!moves && !tile_op_has_trait(opcode, TILE_TRAIT_ELEMENTWISE)) break;
        at = tile_op_result(s->compute, op, 0);
        sched_domain own = sched_domain_of(s, at);
        if (!moves && !sched_same_domain(&own, &domain)) break;
        domain = own, moved |= moves;
        if (tile_scalar_bits(sched_element(s, at)->scalar) <
                tile_scalar_bits(sched_element(s, found)->scalar) &&
            (!moved || is_product_epilogue(s, at)))
            found = at;
    }
    return found;
}

void sched_plan_narrowed(schedule *s, const sched_group *g, tile_value value,
                         const sched_map *map) {
    sched_group alone = *g; /* the traversal adds reductions */
    sched_traversal w = {.s = s, .g = &alone, .passed = g->passed};
    sched_traverse_value(&w, value, map, true);
    for (size_t i = 0; i < w.stop_count && !s->failed; i++) {
        if (w.stops[i].own_domain) continue;
        tile_value narrow = narrowed(s, w.stops[i].value);
        if (narrow.id != w.stops[i].value.id && narrow.id != value.id) sched_plan_value(s, narrow);
    }
}
