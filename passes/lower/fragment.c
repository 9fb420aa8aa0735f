/* Conversions between tiles and per-thread fragments. to_fragment and from_fragment only rename
 * registers. coordinates adds the contributions of the thread index, computed with shifts and
 * masks, and of the register:
 *
 *     #mma_acc, [16, 8]:   row = lane / 4 + 8 * (register / 2), column = lane % 4 * 2 + register %
 * 2
 */
#include "lib/layout/layout.h"
#include "passes/lower/lower.h"

/* Coordinate d of a register whose index is computed at run time. */
static tile_value register_coordinate(lowering *l, const tile_layout *layout, unsigned d,
                                      tile_value element) {
    uint32_t bases[TILE_LAYOUT_MAX_BITS];
    unsigned bits = layout->reg_bits;
    for (unsigned i = 0; i < bits; i++)
        bases[i] = tile_layout_coordinate(layout, layout->reg[i], d);
    tile_value at = lower_bit_map(l, element, 32, bases, bits);
    if (layout->count[d] == 1) return at;
    tile_value part = tile_build_shr(&l->builder, element, lower_int(l, bits));
    uint32_t behind = 1;
    for (unsigned later = d + 1; later < layout->rank; later++) behind *= layout->count[later];
    if (behind > 1) part = tile_build_div(&l->builder, part, lower_int(l, behind));
    part = tile_build_rem(&l->builder, part, lower_int(l, layout->count[d]));
    return tile_build_add(&l->builder, at,
                          lower_mul(l, part, lower_int(l, 1 << layout->dim_bits[d])));
}

void lower_coordinates(lowering *l, tile_op op, tile_value *coordinates) {
    const tile_layout *layout = tile_value_type(&l->old, tile_operand_of(&l->old, op))->layout;
    tile_value element = lower_mapped(l, tile_operand_element(&l->old, op));
    int64_t known;
    bool constant = tile_value_is_int(l->f, element, &known);
    for (unsigned d = 0; d < layout->rank; d++) {
        tile_value thread = lower_thread_coordinate(l, layout, d);
        tile_value own = constant
                             ? lower_int(l, lower_register_coordinate(layout, (unsigned)known, d))
                             : register_coordinate(l, layout, d, element);
        coordinates[d] = lower_bits_overlap(layout, d) ? tile_build_xor(&l->builder, thread, own)
                                                       : lower_add(l, thread, own);
    }
}

/* Every layout gives each thread all elements of a tile that has one. */
tile_value lower_scalar(lowering *l, tile_op op) {
    tile_value parts = lower_mapped(l, tile_operand_src(&l->old, op));
    const tile_type *type = tile_value_type(&l->old, tile_op_result(&l->old, op, 0));
    return tile_build_uniform(&l->builder,
                              tile_build_extract(&l->builder, parts, lower_int(l, 0), type));
}
