/* Addresses: linear maps of the thread index become a few shifts, masks and exclusive-ors. */
#include <assert.h>

#include "lib/layout/layout.h"
#include "passes/lower/lower.h"

static tile_context *context_of(const lowering *l) {
    return tile_function_context(l->f);
}

tile_value lower_mapped(const lowering *l, tile_value old) {
    return l->map[old.id];
}

tile_value lower_int(lowering *l, int64_t value) {
    return tile_build_int(&l->builder, value);
}

tile_value lower_long(lowering *l, int64_t value) {
    tile_context *context = context_of(l);
    return tile_function_constant(l->f, tile_type_scalar(context, TILE_i64),
                                  tile_expr_int(context, value));
}

tile_value lower_add(lowering *l, tile_value a, tile_value b) {
    if (tile_value_is(l->f, a, 0)) return b;
    if (tile_value_is(l->f, b, 0)) return a;
    return tile_build_add(&l->builder, a, b);
}

tile_value lower_mul(lowering *l, tile_value a, tile_value b) {
    int64_t x, y;
    bool x_known = tile_value_is_int(l->f, a, &x), y_known = tile_value_is_int(l->f, b, &y);
    if (x_known && y_known) { /* wraps, as the hardware does */
        int64_t product = (int64_t)((uint64_t)x * (uint64_t)y);
        return tile_function_constant(l->f, tile_value_type(l->f, a),
                                      tile_expr_int(context_of(l), product));
    }
    if ((x_known && x == 0) || (y_known && y == 1)) return a;
    if ((y_known && y == 0) || (x_known && x == 1)) return b;
    return tile_build_mul(&l->builder, a, b);
}

tile_value lower_to_long(lowering *l, tile_value value) {
    int64_t constant;
    if (tile_value_is_int(l->f, value, &constant)) return lower_long(l, constant);
    if (tile_value_type(l->f, value)->scalar == TILE_i64) return value;
    return tile_build_cast(&l->builder, value, tile_type_scalar(context_of(l), TILE_i64));
}

tile_value lower_and(lowering *l, tile_value a, tile_value b) {
    if (!a.id || !b.id) return a.id ? a : b;
    return tile_build_and(&l->builder, a, b);
}

/* Combines all pairs (input bit i, output bit i + shift) into one term: (input & mask) << shift.
 * input_bits: the input bits that can be set. */
static tile_value diagonal(lowering *l, tile_value input, uint32_t mask, int shift,
                           unsigned input_bits) {
    tile_value term = input;
    if (mask != (UINT64_C(1) << input_bits) - 1)
        term = tile_build_and(&l->builder, term, lower_int(l, mask));
    if (shift > 0) return tile_build_shl(&l->builder, term, lower_int(l, shift));
    return shift < 0 ? tile_build_shr(&l->builder, term, lower_int(l, -shift)) : term;
}

tile_value lower_bit_map(lowering *l, tile_value input, unsigned input_bits, const uint32_t *bases,
                         unsigned count) {
    tile_value sum = TILE_NO_VALUE;
    for (int shift = -(int)count; shift < 32; shift++) {
        uint32_t mask = 0;
        for (unsigned i = 0; i < count; i++) {
            int output = (int)i + shift;
            if (output >= 0 && output < 32 && (bases[i] >> output & 1)) mask |= 1u << i;
        }
        if (!mask) continue;
        tile_value term = diagonal(l, input, mask, shift, input_bits);
        sum = sum.id ? tile_build_xor(&l->builder, sum, term) : term;
    }
    return sum.id ? sum : lower_int(l, 0);
}

tile_value lower_thread_map(lowering *l, const uint32_t *bases, unsigned count) {
    return lower_bit_map(l, l->thread, TILE_LANE_BITS + l->warp_bits, bases, count);
}

tile_value lower_thread_coordinate(lowering *l, const tile_layout *layout, unsigned d) {
    uint32_t bases[TILE_LANE_BITS + TILE_LAYOUT_MAX_WARP_BITS];
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        bases[i] = tile_layout_coordinate(layout, layout->lane[i], d);
    for (unsigned i = 0; i < layout->warp_bits; i++)
        bases[TILE_LANE_BITS + i] = tile_layout_coordinate(layout, layout->warp[i], d);
    return lower_thread_map(l, bases, TILE_LANE_BITS + layout->warp_bits);
}

bool lower_bits_overlap(const tile_layout *layout, unsigned d) {
    uint32_t thread = 0, registers = 0;
    for (unsigned i = 0; i < TILE_LANE_BITS; i++)
        thread |= tile_layout_coordinate(layout, layout->lane[i], d);
    for (unsigned i = 0; i < layout->warp_bits; i++)
        thread |= tile_layout_coordinate(layout, layout->warp[i], d);
    for (unsigned i = 0; i < layout->reg_bits; i++)
        registers |= tile_layout_coordinate(layout, layout->reg[i], d);
    return thread & registers;
}

int64_t lower_register_coordinate(const tile_layout *layout, unsigned register_, unsigned d) {
    return tile_layout_coordinate(layout, tile_layout_apply(layout, register_, 0, 0), d);
}

tile_value lower_is_first_holder(lowering *l, const tile_layout *layout) {
    uint32_t mask = tile_layout_redundant_threads(layout);
    if (!mask) return TILE_NO_VALUE;
    tile_value copy = tile_build_and(&l->builder, l->thread, lower_int(l, mask));
    return tile_build_eq(&l->builder, copy, lower_int(l, 0));
}

/* Fragments ----------------------------------------------------------------------------------- */

unsigned lower_widest(tile_scalar scalar) {
    return 16 / tile_scalar_bytes(scalar);
}

const tile_type *lower_part_type(lowering *l, tile_scalar scalar, unsigned width) {
    tile_context *context = context_of(l);
    return width == 1 ? tile_type_scalar(context, scalar)
                      : tile_type_vector(context, scalar, width);
}

tile_value lower_extract_access(lowering *l, tile_value fragment, const tile_access_split *cut,
                                unsigned index) {
    const tile_type *type = tile_value_type(l->f, fragment);
    unsigned width = 1u << cut->width_bits, first = tile_access_split_register(cut, index, 0);
    const tile_type *part = lower_part_type(l, type->scalar, width);
    int64_t order[16];
    bool in_row = true;
    for (unsigned i = 0; i < width; i++) {
        order[i] = tile_access_split_register(cut, index, i);
        in_row &= order[i] == first + i;
    }
    if (in_row && width == tile_type_elements(type)) return fragment;
    if (in_row) return tile_build_extract(&l->builder, fragment, lower_int(l, first), part);
    tile_value picked = tile_build_permute(&l->builder, fragment, part);
    tile_op_set_list(l->f, tile_value_def(l->f, picked), TILE_ATTR_order, order, width);
    return picked;
}

tile_value lower_combine_accesses(lowering *l, const tile_value *parts,
                                  const tile_access_split *cut) {
    unsigned count = cut->count, width = 1u << cut->width_bits;
    const tile_type *part = tile_value_type(l->f, parts[0]);
    bool one = count == 1 && part->kind == TILE_TYPE_VECTOR;
    tile_value all = one ? parts[0] : tile_build_concat(&l->builder, parts, count);
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, count * width);
    bool in_row = true;
    for (unsigned index = 0; index < count; index++)
        for (unsigned i = 0; i < width; i++)
            order[tile_access_split_register(cut, index, i)] = index * width + i;
    for (unsigned i = 0; i < count * width; i++) in_row &= order[i] == i;
    if (in_row) return all;
    tile_value ordered = tile_build_permute(&l->builder, all, tile_value_type(l->f, all));
    tile_op_set_list(l->f, tile_value_def(l->f, ordered), TILE_ATTR_order, order, count * width);
    return ordered;
}
