/* Widths of accesses, from what strides, extents, indices and pointers are divisible by. */
#include "lib/analysis/access.h"

#include "lib/layout/layout.h"

/* The largest power of two up to `limit` that divides what the divisor divides. */
static unsigned power_of_two_part(int64_t divisor, unsigned limit) {
    unsigned part = 1;
    while (part < limit && divisor % (part * 2) == 0) /* 0: a multiple of everything */
        part *= 2;
    return part;
}

static unsigned narrow(unsigned width, const tile_range *ranges, tile_value value) {
    return power_of_two_part(ranges[value.id].divisor, width);
}

/* The dim of stride 1: by the type, or the last one of a view without strides. */
static unsigned find_unit_dim(const tile_type *type) {
    int64_t stride;
    if (!type->has_strides) return type->rank - 1;
    for (unsigned d = type->rank; d-- > 0;)
        if (tile_expr_is_int(type->strides[d], &stride) && stride == 1) return d;
    return type->rank;
}

/* Without strides in the type, dim d's stride is the product of the later extents: all multiples of
 * the last one's divisor, which is checked as an extent. */
static unsigned narrow_by_strides(const tile_function *f, const tile_range *ranges, tile_op def,
                                  unsigned unit_dim, unsigned width) {
    unsigned count;
    const tile_value *strides = tile_op_segment(f, def, 2, &count);
    for (unsigned d = 0; d < count; d++)
        if (d != unit_dim) width = narrow(width, ranges, strides[d]);
    return width;
}

tile_access_facts tile_view_access(const tile_function *f, const tile_range *ranges,
                                   const tile_value *element) {
    const tile_type *type = tile_value_type(f, element[0]);
    tile_op def = tile_value_def(f, element[0]);
    bool is_scratch = tile_op_opcode(f, def) == TILE_OP_scratch;
    tile_access_facts facts = {.unit_dim = find_unit_dim(type), .width = 1};
    if (facts.unit_dim == type->rank) return facts;
    unsigned count, bytes = tile_scalar_bytes(type->scalar);
    const tile_value *extents = tile_op_segment(f, def, is_scratch ? 0 : 1, &count);
    unsigned width = 16 / bytes;
    if (!is_scratch) {
        tile_value base = tile_op_operand(f, def, 0);
        width = power_of_two_part(ranges[base.id].divisor, 16) / bytes;
        width = narrow_by_strides(f, ranges, def, facts.unit_dim, width ? width : 1);
    }
    width = narrow(width, ranges, extents[facts.unit_dim]);
    facts.width = narrow(width, ranges, element[1 + facts.unit_dim]);
    return facts;
}

unsigned tile_unit_dim(const tile_access_facts *facts, unsigned view_rank, unsigned tile_rank) {
    unsigned first = view_rank - tile_rank; /* the view's dim that is the tile's dim 0 */
    bool covered = facts->unit_dim >= first && facts->unit_dim < view_rank;
    return covered ? facts->unit_dim - first : tile_rank;
}

tile_layout tile_access_layout(const tile_function *f, const tile_range *ranges,
                               const tile_value *element, const tile_type *tile,
                               unsigned num_warps) {
    uint32_t dims[TILE_MAX_RANK];
    tile_access_facts facts = tile_view_access(f, ranges, element);
    unsigned unit = tile_unit_dim(&facts, tile_value_type(f, element[0])->rank, tile->rank);
    for (unsigned d = 0; d < tile->rank; d++) dims[d] = (uint32_t)tile_type_dim(tile, d);
    return tile_layout_blocked(dims, tile->rank, facts.width,
                               unit < tile->rank ? unit : tile->rank - 1, num_warps);
}
