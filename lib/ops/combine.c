/* Combining elements by a function: see the header. */
#include "lib/ops/combine.h"

#include "lib/layout/layout.h"
#include "lib/layout/reduce.h"

static unsigned operand_count(const tile_function *f, tile_op op) {
    return tile_operands_src(f, op).count;
}

static const tile_type *operand_type(const tile_function *f, tile_op op, unsigned i) {
    return tile_value_type(f, tile_operands_src(f, op).at[i]);
}

static const tile_function *function_of(const tile_function *f, tile_op op) {
    const char *name = tile_op_attr_text(f, op, TILE_ATTR_combine);
    const tile_function *found = name ? tile_module_find(f->module, name) : NULL;
    return found && found->kind == TILE_FUNC ? found : NULL;
}

bool tile_combine_of(const tile_function *f, tile_op op, tile_combine *combine) {
    int64_t axis = tile_op_attr_int(f, op, TILE_ATTR_axis, -1);
    *combine = (tile_combine){.function = function_of(f, op),
                              .count = operand_count(f, op),
                              .axis = (unsigned)axis,
                              .reduces = tile_op_opcode(f, op) == TILE_OP_reduce_with,
                              .reverse = tile_op_has_attr(f, op, TILE_ATTR_reverse),
                              .exclusive = tile_op_has_attr(f, op, TILE_ATTR_exclusive)};
    return combine->function && combine->count <= TILE_MAX_COMBINED && axis >= 0 &&
           axis < operand_type(f, op, 0)->rank;
}

/* Layouts ---------------------------------------------------------------------------------------
 */

tile_layout tile_combine_result(const tile_combine *combine, const tile_layout *layout) {
    return combine->reduces ? tile_reduce_make_plan(layout, combine->axis).narrow : *layout;
}

tile_scalar tile_combine_word(const tile_function *f, tile_op op) {
    static const tile_scalar words[] = {TILE_i8, TILE_i16, TILE_i32, TILE_i64};
    unsigned bytes = 1, word = 0;
    for (unsigned i = 0; i < operand_count(f, op); i++) {
        unsigned own = tile_scalar_bytes(operand_type(f, op, i)->scalar);
        if (own > bytes) bytes = own;
    }
    while (1u << word < bytes) word++;
    return words[word];
}

const tile_type *tile_combine_buffer(const tile_function *f, tile_op op,
                                     const tile_layout *layout) {
    tile_combine combine;
    tile_axis_map along;
    bool warps = false;
    tile_context *context = tile_function_context(f);
    if (!tile_combine_of(f, op, &combine)) return NULL;
    tile_axis_map_find(layout, combine.axis, &along);
    for (unsigned i = 0; i < along.count; i++) warps |= along.bits[i].holder == TILE_HELD_BY_WARP;
    if (!warps) return NULL;
    tile_scalar word = tile_combine_word(f, op);
    tile_layout shared = tile_axis_map_shared_cells(layout, &along, tile_scalar_bytes(word));
    tile_type draft = {.kind = TILE_TYPE_SHARED, .scalar = word, .rank = layout->rank};
    for (unsigned d = 0; d < layout->rank; d++)
        draft.dims[d] = tile_expr_int(context, tile_layout_extent(&shared, d));
    draft.stages = tile_expr_int(context, combine.count);
    draft.layout = &shared;
    return tile_type_get(context, &draft);
}
