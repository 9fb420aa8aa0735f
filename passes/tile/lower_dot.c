/* dot on tensor cores: the fragments of a warp, one mma.sync m16n8k16 after the other. */
#include "lib/layout/layout.h"
#include "passes/tile/lower.h"

/* The fragments of an operand: where each begins, by its coordinates in the warp's part of the
 * tile. */
typedef struct fragment_table {
    unsigned size; /* elements of one */
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

/* The fragment whose registers begin at these coordinates; the layouts are made so that there is
 * one. */
static tile_value find_fragment(const fragment_table *table, int64_t row, int64_t column) {
    for (unsigned i = 0; i < table->count; i++)
        if (lower_register_coordinate(table->layout, i * table->size, 0) == row &&
            lower_register_coordinate(table->layout, i * table->size, 1) == column)
            return table->parts[i];
    return TILE_NO_VALUE;
}

/* An operand as a fragment in registers: a tile is one already, a shared buffer is read. */
static tile_value operand_fragment(lowering *l, tile_op op, unsigned operand, const tile_type *acc,
                                   const tile_layout **layout) {
    unsigned count;
    const tile_value *element = tile_op_segment(&l->old, op, operand, &count);
    const tile_type *type = tile_value_type(&l->old, element[0]);
    if (type->kind == TILE_TYPE_TILE) {
        *layout = type->layout;
        return l->map[element[0].id];
    }
    tile_layout wanted = tile_layout_dot_operand(
        acc->layout, operand, (uint32_t)tile_type_dim(type, 0), (uint32_t)tile_type_dim(type, 1));
    tile_type draft = *type;
    draft.kind = TILE_TYPE_TILE;
    draft.slots = NULL;
    draft.layout = &wanted;
    const tile_type *tile = tile_type_get(tile_function_context(l->f), &draft);
    *layout = tile->layout;
    return lower_load_shared(l, element, count, tile);
}

tile_value lower_dot(lowering *l, tile_op op) {
    unsigned count;
    const tile_value *sum = tile_op_segment(&l->old, op, 2, &count);
    const tile_type *acc = tile_value_type(&l->old, sum[0]);
    const tile_layout *left_layout, *right_layout;
    tile_value left = operand_fragment(l, op, 0, acc, &left_layout);
    tile_value right = operand_fragment(l, op, 1, acc, &right_layout);
    fragment_table a = cut_fragments(l, left, left_layout, 8);
    fragment_table b = cut_fragments(l, right, right_layout, 4);
    fragment_table c = cut_fragments(l, l->map[sum[0].id], acc->layout, 4);
    int64_t depth = tile_layout_extent(left_layout, 1);
    for (int64_t k = 0; k < depth; k += 16)
        for (unsigned i = 0; i < c.count; i++) {
            int64_t row = lower_register_coordinate(acc->layout, i * 4, 0);
            int64_t column = lower_register_coordinate(acc->layout, i * 4, 1);
            c.parts[i] = tile_build_mma(&l->builder, find_fragment(&a, row, k),
                                        find_fragment(&b, k, column), c.parts[i]);
        }
    return c.count == 1 ? c.parts[0] : tile_build_concat(&l->builder, c.parts, c.count);
}
