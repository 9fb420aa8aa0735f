/* Operands of a dot by a warpgroup: descriptors of matrices in shared memory, and fragments in
 * registers.
 *
 * A fragment that is rounded to tf32 is made step by step along k (warpgroup_rounds): its loads and
 * casts move to the step that multiplies it. */
#include "lib/analysis/product.h"
#include "lib/layout/layout.h"
#include "lib/support/scalar.h"
#include "passes/lower/wgmma.h"

/* The warp index's contribution to an operand's start: the warpgroups' steps along its non-k
 * dim. */
static tile_value warpgroup_begin(lowering *l, const wgmma_source *s, const tile_layout *acc,
                                  unsigned acc_dim) {
    uint32_t bases[TILE_LANE_BITS + TILE_LAYOUT_MAX_WARP_BITS] = {0};
    unsigned bytes = tile_scalar_bytes(s->scalar);
    for (unsigned i = 2; i < acc->warp_bits; i++) {
        uint32_t at[2] = {0};
        at[1 - s->k_dim] = tile_layout_coordinate(acc, acc->warp[i], acc_dim);
        bases[TILE_LANE_BITS + i] = tile_wgmma_start(s->layout, s->matrix, bytes, at) / bytes;
    }
    return lower_thread_map(l, bases, TILE_LANE_BITS + acc->warp_bits);
}

/* Rounding a fragment to tf32 takes about as long as one wgmma. It is done step by step, while the
 * wgmma of the steps before execute. */
static void defer_cast(lowering *l, wgmma_source *s) {
    tile_op cast = tile_value_def(l->f, s->fragment);
    if (s->scalar != TILE_tf32 || !cast.id || tile_op_opcode(l->f, cast) != TILE_OP_cast ||
        tile_op_at(l->f, cast)->attr_count ||
        tile_value_type(l->f, tile_operand_src(l->f, cast))->scalar != TILE_f32)
        return;
    s->fragment = tile_operand_src(l->f, cast);
    s->cast = cast;
    s->rounds = true;
}

void wgmma_drop_join(lowering *l, const wgmma_source *s) {
    const tile_op join = tile_value_def(l->f, s->fragment);
    if (!s->stepwise || !s->rounds || !join.id) return;
    for (uint32_t id = 1; id < l->f->op_count; id++)
        for (unsigned i = 0; l->f->ops[id].opcode && i < l->f->ops[id].operand_count; i++)
            if (l->f->ops[id].operands[i].id == s->fragment.id && id != s->cast.id) return;
    tile_erase_op(l->f, s->cast);
    tile_erase_op(l->f, join);
}

/* The part of the fragment, from the loads that make it, which move here; no value if it is not
 * made of such loads. */
static tile_value sink_loads(lowering *l, const wgmma_source *s, uint32_t first, unsigned size) {
    const tile_op join = tile_value_def(l->f, s->fragment);
    tile_value parts[4];
    uint32_t at = 0;
    unsigned count = 0;
    if (!join.id || tile_op_opcode(l->f, join) != TILE_OP_concat) return TILE_NO_VALUE;
    for (unsigned i = 0; i < tile_op_operand_count(l->f, join); i++) {
        const tile_value part = tile_op_operand(l->f, join, i);
        const uint32_t width = (uint32_t)tile_type_elements(tile_value_type(l->f, part));
        const bool inside = at >= first && at + width <= first + size;
        if (!inside && at < first + size && at + width > first) return TILE_NO_VALUE;
        at += width;
        if (inside) parts[count++] = part;
    }
    for (unsigned i = 0; i < count; i++) {
        const tile_op load = tile_value_def(l->f, parts[i]);
        const tile_opcode opcode = tile_op_opcode(l->f, load);
        if (opcode == TILE_OP_ldmatrix || opcode == TILE_OP_ld_shared)
            tile_move_op(l->f, load, l->builder.region, l->builder.before);
    }
    return count == 1 ? parts[0] : tile_build_concat(&l->builder, parts, count);
}

wgmma_source wgmma_find_source(lowering *l, tile_op op, unsigned operand,
                               const warpgroup_plan *plan, const tile_layout *acc) {
    const tile_values element = tile_op_segment(&l->old, op, operand);
    const tile_type *type = tile_value_type(&l->old, element.at[0]);
    wgmma_source s = {.layout = type->layout,
                      .scalar = type->scalar,
                      .k_dim = tile_product_k_dim(&l->old, op, operand)};
    if (type->kind == TILE_TYPE_TILE) {
        s.fragment = lower_mapped(l, element.at[0]);
        defer_cast(l, &s);
        return s;
    }
    s.buffer = lower_mapped(l, element.at[0]);
    s.matrix = &plan->matrix[operand];
    tile_value stage = type->stages ? lower_mapped(l, element.at[1]) : lower_int(l, 0);
    stage = lower_mul(l, stage, lower_int(l, tile_type_elements(type)));
    unsigned acc_dim = operand == TILE_MMA_LHS ? 0 : 1;
    s.begin = lower_add(l, stage, warpgroup_begin(l, &s, acc, acc_dim));
    return s;
}

tile_value wgmma_name_matrix(lowering *l, const wgmma_source *s, uint32_t along, uint32_t k) {
    const tile_wgmma_matrix *m = s->matrix;
    unsigned bytes = tile_scalar_bytes(s->scalar);
    uint32_t at[2];
    at[s->k_dim] = k;
    at[1 - s->k_dim] = along;
    uint32_t start = tile_wgmma_start(s->layout, m, bytes, at) / bytes;
    tile_value offset = lower_add(l, s->begin, lower_int(l, start));
    const tile_type *type =
        tile_type_descriptor(tile_function_context(l->f), s->scalar, m->mn_major);
    tile_value descriptor = tile_build_wgmma_descriptor(&l->builder, s->buffer, &offset, 1, type);
    tile_op def = tile_value_def(l->f, descriptor);
    if (m->swizzle > 16) tile_op_set_int(l->f, def, TILE_ATTR_swizzle, m->swizzle);
    tile_op_set_int(l->f, def, TILE_ATTR_leading, m->leading);
    tile_op_set_int(l->f, def, TILE_ATTR_stride, m->stride);
    return descriptor;
}

tile_value wgmma_take_fragment(lowering *l, const wgmma_source *s, uint32_t along, uint32_t k) {
    unsigned size = 16 / tile_scalar_bytes(s->scalar);
    uint32_t at[2], first = 0;
    at[s->k_dim] = k;
    at[1 - s->k_dim] = along;
    uint32_t index = tile_layout_index(s->layout, at);
    while (tile_layout_apply(s->layout, first, 0, 0) != index) first += size;
    tile_value part = s->fragment;
    const tile_type *type = tile_value_type(l->f, part);
    const tile_value sunk = s->stepwise ? sink_loads(l, s, first, size) : TILE_NO_VALUE;
    if (sunk.id)
        part = sunk;
    else if (tile_layout_registers(s->layout) != size)
        part = tile_build_extract(&l->builder, part, lower_int(l, first),
                                  lower_part_type(l, type->scalar, size));
    if (!s->rounds) return part;
    return tile_build_cast(&l->builder, part, lower_part_type(l, s->scalar, 1));
}
