/* Layouts before and after an operation that rearranges elements: see the header. */
#include "lib/analysis/rearranged.h"

#include "lib/ops/shape.h"

static const tile_type *type_of_result(const tile_function *f, tile_op op) {
    return tile_value_type(f, tile_op_result(f, op, 0));
}

static const tile_type *type_of_operand(const tile_function *f, tile_op op, unsigned operand) {
    return tile_value_type(f, tile_op_operand(f, op, operand));
}

/* Returns whether the elements are moved by multiples of their extent in the other tile. */
static bool begins_at_part(const tile_placement *p, const tile_type *from, const tile_type *to) {
    bool fits = true;
    for (unsigned d = 0; d < p->rank; d++) {
        int64_t has = tile_type_dim(to, d),
                had = p->source[d] == TILE_NO_DIM ? 1 : tile_type_dim(from, p->source[d]);
        int64_t part = has < had ? has : had;
        fits &= p->added[d] % part == 0 && (tile_layout_is_part((uint32_t)has, (uint32_t)had) ||
                                            tile_layout_is_part((uint32_t)had, (uint32_t)has));
    }
    return fits;
}

bool tile_can_rearrange(const tile_function *f, tile_op op) {
    const tile_type *to = type_of_result(f, op),
                    *from = tile_value_type(f, tile_first_operand(f, op));
    uint32_t dims[TILE_MAX_RANK], had[TILE_MAX_RANK];
    tile_layout ignored;
    tile_type_dims(to, dims);
    if (tile_op_opcode(f, op) == TILE_OP_reshape) {
        tile_type_dims(from, had);
        tile_layout held = tile_layout_blank(TILE_LAYOUT_REGISTER, had, from->rank);
        return tile_layout_reshape(&held, dims, to->rank, &ignored);
    }
    bool can = true;
    for (unsigned i = 0; i < tile_moved_operands(f, op); i++) {
        tile_placement p = tile_placement_of(f, op, i, 0);
        can &= begins_at_part(&p, type_of_operand(f, op, i), to);
    }
    return can;
}

bool tile_layout_of_result(const tile_function *f, tile_op op, unsigned operand,
                           const tile_layout *held, tile_layout *layout) {
    const tile_type *to = type_of_result(f, op);
    tile_placement p = tile_placement_of(f, op, operand, 0);
    uint32_t dims[TILE_MAX_RANK];
    tile_type_dims(to, dims);
    return p.flat ? tile_layout_reshape(held, dims, to->rank, layout)
                  : tile_layout_rearrange(held, dims, to->rank, p.source, layout);
}

bool tile_layout_of_operand(const tile_function *f, tile_op op, unsigned operand,
                            const tile_layout *result, tile_layout *layout) {
    const tile_type *from = type_of_operand(f, op, operand);
    uint32_t dims[TILE_MAX_RANK];
    unsigned source[TILE_MAX_RANK];
    tile_dim map[TILE_MAX_RANK];
    bool flat = tile_op_dims(tile_op_opcode(f, op)) == TILE_DIMS_flat;
    tile_type_dims(from, dims);
    tile_dim_map(f, op, 0, operand, map);
    for (unsigned d = 0; d < from->rank; d++)
        source[d] = map[d].kind == TILE_DIM_OF ? map[d].of : TILE_NO_DIM;
    return flat ? tile_layout_reshape(result, dims, from->rank, layout)
                : tile_layout_rearrange(result, dims, from->rank, source, layout);
}
