/* dot on tensor cores: the fragments of a warp, one mma.sync m16n8k16 after the other. */
#include <string.h>

#include "lib/layout/layout.h"
#include "passes/tile/lower.h"

/* ldmatrix ------------------------------------------------------------------------------------ */

/* ldmatrix gives lane i of a warp two neighbouring elements of row i / 4 of an 8x8 matrix, columns
 * 2 * (i % 4) and the next one; with .trans, rows and columns change places. A row is 16 bytes in a
 * row of shared memory, and lane i says where row i % 8 of matrix i / 8 begins. So of what the
 * register and lane bits add to the offset,
 *
 *              register 0   lane 0, 1    lane 2, 3, 4
 *    plain     1            2, 4         rows            columns lie side by side
 *    trans     rows...                   1, 2, 4         rows lie side by side
 *
 * and everything else must leave the low three bits alone. */
typedef struct matrix_match {
    bool matches;
    bool trans;
    uint32_t rows[3]; /* what bits 0..2 of a row's number add */
} matrix_match;

static bool is_column(const uint32_t *three) {
    return three[0] == 1 && three[1] == 2 && three[2] == 4;
}

static matrix_match match_matrices(const lower_shared_map *map, const tile_layout *layout) {
    uint32_t plain[3] = {map->reg[0], map->lane[0], map->lane[1]};
    uint32_t turned[3] = {map->lane[2], map->lane[3], map->lane[4]};
    matrix_match match = {.trans = is_column(turned)};
    if (layout->reg_bits == 0 || !(is_column(plain) || is_column(turned))) return match;
    memcpy(match.rows, match.trans ? plain : turned, sizeof match.rows);
    uint32_t low = match.rows[0] | match.rows[1] | match.rows[2];
    for (unsigned bit = 1; bit < layout->reg_bits; bit++) low |= map->reg[bit];
    for (unsigned bit = 0; bit < layout->warp_bits; bit++) low |= map->warp[bit];
    match.matches = (low & 7) == 0;
    return match;
}

tile_value lower_ldmatrix(lowering *l, const lower_shared_map *map, const tile_type *tile) {
    const tile_layout *layout = tile->layout;
    if (tile_scalar_bits(tile->scalar) != 16) return TILE_NO_VALUE;
    matrix_match match = match_matrices(map, layout);
    if (!match.matches) return TILE_NO_VALUE;
    unsigned matrix_bits = layout->reg_bits < 3 ? layout->reg_bits - 1u : 2;
    uint32_t bases[TILE_LANE_BITS + TILE_LAYOUT_MAX_WARP_BITS] = {match.rows[0], match.rows[1],
                                                                  match.rows[2]};
    for (unsigned bit = 0; bit < matrix_bits; bit++) bases[3 + bit] = map->reg[1 + bit];
    memcpy(bases + TILE_LANE_BITS, map->warp, sizeof(uint32_t) * layout->warp_bits);
    uint32_t thread_bits = 0;
    unsigned inputs = TILE_LANE_BITS + (unsigned)layout->warp_bits;
    for (unsigned i = 0; i < inputs; i++) thread_bits |= bases[i];
    tile_value thread_part = lower_thread_map(l, bases, inputs);
    unsigned each = 2u << matrix_bits, count = (1u << layout->reg_bits) / each;
    const tile_type *type = tile_type_vector(tile_function_context(l->f), tile->scalar, each);
    tile_value *parts = TILE_NEW_ARRAY(l->pass->scratch, tile_value, count);
    for (unsigned i = 0; i < count; i++) {
        uint32_t added = 0;
        for (unsigned bit = 1 + matrix_bits; bit < layout->reg_bits; bit++)
            if (i * each >> bit & 1) added ^= map->reg[bit];
        tile_value offset = lower_shared_offset(l, map, thread_part, thread_bits, added);
        parts[i] = tile_build_ldmatrix(&l->builder, map->buffer, &offset, 1, type);
        if (match.trans) tile_op_set_flag(l->f, tile_value_def(l->f, parts[i]), TILE_ATTR_trans);
    }
    return count == 1 ? parts[0] : tile_build_concat(&l->builder, parts, count);
}

/* mma ----------------------------------------------------------------------------------------- */

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
    table.count = (1u << layout->reg_bits) / size;
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
    int64_t depth = (int64_t)1 << left_layout->dim_bits[1];
    for (int64_t k = 0; k < depth; k += 16)
        for (unsigned i = 0; i < c.count; i++) {
            int64_t row = lower_register_coordinate(acc->layout, i * 4, 0);
            int64_t column = lower_register_coordinate(acc->layout, i * 4, 1);
            c.parts[i] = tile_build_mma(&l->builder, find_fragment(&a, row, k),
                                        find_fragment(&b, k, column), c.parts[i]);
        }
    return c.count == 1 ? c.parts[0] : tile_build_concat(&l->builder, c.parts, c.count);
}
