/* Dots that need operands of other types: see the header. */
#include "passes/expand/prepare.h"

#include <string.h>

#include "lib/analysis/product.h"
#include "passes/common/warpgroup.h"

void prepare_set_operand(tile_function *f, tile_op op, unsigned operand, tile_value value) {
    tile_op_data *data = tile_op_at(f, op);
    unsigned start = 0, size = data->segment[operand];
    for (unsigned i = 0; i < operand; i++) start += data->segment[i];
    data->operands[start] = value;
    memmove(data->operands + start + 1, data->operands + start + size,
            sizeof *data->operands * (data->operand_count - start - size));
    data->operand_count -= size - 1;
    data->segment[operand] = 1;
}

void prepare_set_element(tile_function *f, tile_op op, unsigned operand, const tile_value *element,
                         unsigned count) {
    tile_op_data *data = tile_op_at(f, op);
    unsigned start = 0, size = data->segment[operand];
    for (unsigned i = 0; i < operand; i++) start += data->segment[i];
    unsigned rest = data->operand_count - start - size;
    tile_value *operands = TILE_NEW_ARRAY(&f->module->arena, tile_value, start + count + rest + 1u);
    memcpy(operands, data->operands, sizeof *operands * start);
    memcpy(operands + start, element, sizeof *operands * count);
    memcpy(operands + start + count, data->operands + start + size, sizeof *operands * rest);
    data->operands = operands;
    data->operand_count = start + count + rest;
    data->segment[operand] = (uint16_t)count;
}

tile_value prepare_tile(tile_builder *b, const tile_value *element, unsigned count) {
    tile_type draft = *tile_value_type(b->function, element[0]);
    if (draft.kind == TILE_TYPE_TILE) return element[0];
    draft.kind = TILE_TYPE_TILE;
    draft.stages = NULL;
    draft.layout = NULL;
    return tile_build_load_shared(b, element[0], element + 1, count - 1,
                                  tile_type_get(tile_function_context(b->function), &draft));
}

void prepare_convert_operand(tile_function *f, tile_op op, unsigned operand, tile_scalar to) {
    const tile_values element = tile_op_segment(f, op, operand);
    if (tile_value_type(f, element.at[0])->scalar == to) return;
    tile_builder b = tile_builder_before(f, op);
    tile_value tile = prepare_tile(&b, element.at, element.count);
    const tile_type *type =
        tile_type_with_scalar(tile_function_context(f), tile_value_type(f, tile), to);
    prepare_set_operand(f, op, operand, tile_build_cast(&b, tile, type));
}

void prepare_transpose_operand(tile_function *f, tile_op op, unsigned operand) {
    tile_builder b = tile_builder_before(f, op);
    tile_attr_id trans = operand == TILE_MMA_LHS ? TILE_ATTR_trans_lhs : TILE_ATTR_trans_rhs;
    if (!tile_op_has_attr(f, op, trans)) return;
    const tile_values element = tile_op_segment(f, op, operand);
    tile_value tile = prepare_tile(&b, element.at, element.count);
    prepare_set_operand(f, op, operand, tile_build_transpose(&b, tile, NULL));
    tile_op_remove_attr(f, op, trans);
}

/* Transposes operands that were expected in shared memory but are in registers. */
static void transpose_tiles(tile_function *f, tile_op op) {
    for (unsigned operand = 0; operand < 2; operand++)
        if (warpgroup_operand(f, op, operand)->kind == TILE_TYPE_TILE)
            prepare_transpose_operand(f, op, operand);
}

static void prepare(tile_pass *pass, tile_function *f, tile_op op) {
    char why[160];
    tile_mma_query query = tile_product_query(f, op);
    query.features = pass->target->features;
    query.acc_layout = NULL;
    if (warpgroup_uses_wgmma(f, op)) transpose_tiles(f, op);
    if (warpgroup_uses_wgmma(f, op) || tile_mma_find(&query)) return;
    const tile_mma *wider = tile_mma_find_wider(&query);
    tile_mma_explain(&query, why, sizeof why);
    if (!wider) {
        bool single = query.lhs == TILE_f32 && query.rhs == TILE_f32 && query.acc == TILE_f32;
        tile_remark_at(
            f, op, "dot: %s; an fma loop in each thread computes it%s", why,
            single ? " (tensor cores take tf32: write `precision = tf32`, or cast the operands)"
                   : "");
        return;
    }
    tile_remark_at(f, op,
                   "dot: %s; the operands are converted to %s, which represents them exactly", why,
                   tile_scalar_name(wider->lhs));
    prepare_convert_operand(f, op, TILE_MMA_LHS, wider->lhs);
    prepare_convert_operand(f, op, TILE_MMA_RHS, wider->rhs);
}

void prepare_dots(tile_pass *pass, tile_function *f) {
    unsigned count;
    const tile_op *dots = tile_find_ops(f, TILE_OP_dot, pass->scratch, &count);
    for (unsigned i = 0; i < count; i++) prepare(pass, f, dots[i]);
}
