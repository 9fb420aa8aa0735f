/* dot on tensor cores with mma.sync: one instruction for each triple of fragments. */
#include "lib/analysis/product.h"
#include "lib/ir/effects.h"
#include "lib/layout/mma.h"
#include "passes/common/warpgroup.h"
#include "passes/lower/lower.h"

/* The fragments of an operand: the first register of each, by its coordinates in the warp's part of
 * the tile. */
typedef struct fragment_table {
    unsigned size; /* elements per fragment */
    unsigned count;
    tile_value *parts;
    const tile_layout *layout;
} fragment_table;

static fragment_table cut_fragments(lowering *l, tile_value whole, const tile_layout *layout,
                                    unsigned size) {
    const tile_type *type = tile_value_type(l->f, whole);
    fragment_table table = {.size = size, .layout = layout};
    table.count = tile_layout_registers(layout) / size;
    table.parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, table.count);
    const tile_type *part = tile_type_vector(tile_function_context(l->f), type->scalar, size);
    for (unsigned i = 0; i < table.count; i++)
        table.parts[i] = table.count == 1
                             ? whole
                             : tile_build_extract(&l->builder, whole, lower_int(l, i * size), part);
    return table;
}

/* Finds the fragment that begins at these coordinates. The layouts guarantee that it exists. */
static tile_value find_fragment(const fragment_table *table, int64_t row, int64_t column) {
    for (unsigned i = 0; i < table->count; i++)
        if (lower_register_coordinate(table->layout, i * table->size, 0) == row &&
            lower_register_coordinate(table->layout, i * table->size, 1) == column)
            return table->parts[i];
    return TILE_NO_VALUE;
}

/* Returns an operand's fragments: a tile already holds them, a shared buffer is loaded. */
static fragment_table operand_fragments(lowering *l, tile_op op, unsigned operand,
                                        const tile_mma *row, const tile_layout *acc) {
    unsigned size = tile_mma_elements(row, operand);
    const tile_values element = tile_op_segment(&l->old, op, operand);
    const tile_type *type = tile_value_type(&l->old, element.at[0]);
    if (type->kind == TILE_TYPE_TILE)
        return cut_fragments(l, l->map[element.at[0].id], type->layout, size);
    tile_layout wanted = tile_product_fragment(row, acc, operand, type);
    tile_type draft = *type;
    draft.kind = TILE_TYPE_TILE;
    draft.stages = NULL;
    draft.layout = &wanted;
    const tile_type *tile = tile_type_get(tile_function_context(l->f), &draft);
    return cut_fragments(l, lower_load_shared(l, element.at, element.count, tile, true),
                         tile->layout, size);
}

/* The order of the mma over accumulator fragments: column by column, alternately down and up. Two
 * consecutive mma then share a fragment of rhs, or at the end of a column one of lhs, which stays
 * in the operand reuse cache. Measured on an H200: 3.5 % of a 128x256x64 loop compared with row
 * order. */
static unsigned *order_fragments(lowering *l, const fragment_table *acc) {
    unsigned *order = TILE_NEW_ARRAY(l->pass->scratch, unsigned, acc->count);
    int64_t *rank = TILE_NEW_ARRAY(l->pass->scratch, int64_t, acc->count);
    const tile_layout *layout = acc->layout;
    int64_t rows = tile_layout_extent(layout, 0), columns = 0, column = -1;
    for (unsigned i = 0; i < acc->count; i++) { /* by column, then by row */
        int64_t n = lower_register_coordinate(layout, i * acc->size, 1);
        rank[i] = n * rows + lower_register_coordinate(layout, i * acc->size, 0);
        unsigned at = i;
        for (; at > 0 && rank[order[at - 1]] > rank[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (unsigned i = 0, end; i < acc->count; i = end) { /* every other column in reverse */
        column = rank[order[i]] / rows;
        for (end = i; end < acc->count && rank[order[end]] / rows == column; end++) {
        }
        for (unsigned a = i, b = end - 1; columns % 2 && a < b; a++, b--) {
            unsigned was = order[a];
            order[a] = order[b];
            order[b] = was;
        }
        columns++;
    }
    return order;
}

void lower_copy_signs(lowering *l, tile_op from, tile_value product, bool exchanged) {
    static const tile_attr_id signs[] = {TILE_ATTR_unsigned_lhs, TILE_ATTR_unsigned_rhs};
    for (unsigned i = 0; i < 2; i++)
        if (tile_op_has_attr(&l->old, from, signs[i]))
            tile_op_set_flag(l->f, tile_value_def(l->f, product), signs[exchanged ? 1 - i : i]);
    if (tile_op_word(&l->old, from, TILE_ATTR_precision) == TILE_WORD_precision_tf32)
        tile_op_set_text(l->f, tile_value_def(l->f, product), TILE_ATTR_precision,
                         tile_attr_word_text(TILE_WORD_precision_tf32));
}

static tile_value multiply(lowering *l, tile_op op, const tile_mma *row, tile_value lhs,
                           tile_value rhs, tile_value acc) {
    tile_value product = row->exchanged ? tile_build_mma(&l->builder, rhs, lhs, acc)
                                        : tile_build_mma(&l->builder, lhs, rhs, acc);
    lower_copy_signs(l, op, product, row->exchanged);
    return product;
}

tile_value lower_dot(lowering *l, tile_op op) {
    if (warpgroup_uses_wgmma(&l->old, op)) return lower_wgmma(l, op);
    const tile_mma *row = tile_product_mma(&l->old, op, l->pass->target);
    if (!row) return lower_fma_loop(l, op);
    tile_value acc = tile_op_segment(&l->old, op, TILE_MMA_ACC).at[0];
    const tile_layout *layout = tile_value_type(&l->old, acc)->layout;
    fragment_table a = operand_fragments(l, op, TILE_MMA_LHS, row, layout);
    fragment_table b = operand_fragments(l, op, TILE_MMA_RHS, row, layout);
    unsigned size = tile_mma_elements(row, TILE_MMA_ACC);
    fragment_table c = cut_fragments(l, l->map[acc.id], layout, size);
    int64_t depth = tile_layout_extent(a.layout, 1);
    const unsigned *order = order_fragments(l, &c);
    for (int64_t k = 0; k < depth; k += row->k)
        for (unsigned at = 0; at < c.count; at++) {
            unsigned i = order[at];
            int64_t m = lower_register_coordinate(layout, i * size, 0);
            int64_t n = lower_register_coordinate(layout, i * size, 1);
            c.parts[i] =
                multiply(l, op, row, find_fragment(&a, m, k), find_fragment(&b, k, n), c.parts[i]);
        }
    return c.count == 1 ? c.parts[0] : tile_build_concat(&l->builder, c.parts, c.count);
}
