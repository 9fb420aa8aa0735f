/* Operations on shapes and coordinates: see the header. */
#include "lib/ops/shape.h"

#include "lib/layout/layout.h"
#include "lib/ops/cast.h"
#include "lib/support/scalar.h"

void tile_type_dims(const tile_type *type, uint32_t dims[TILE_MAX_RANK]) {
    for (unsigned d = 0; d < type->rank; d++) dims[d] = (uint32_t)tile_type_dim(type, d);
}

bool tile_type_stretches(tile_context *context, const tile_type *from, const tile_type *to) {
    bool fits = from->rank <= to->rank;
    for (unsigned d = 0; fits && d < from->rank; d++)
        fits = tile_type_dim(from, d) == 1 ||
               tile_extents_equal(context, from->dims[d], to->dims[to->rank - from->rank + d]);
    return fits;
}

tile_layout tile_broadcast_layout(const tile_type *from, const tile_layout *to) {
    uint32_t dims[TILE_MAX_RANK];
    tile_type_dims(from, dims);
    return tile_layout_narrow(to, dims, from->rank);
}

tile_layout tile_points_layout(const tile_type *points, const tile_layout *tile, bool whole) {
    uint32_t dims[TILE_MAX_RANK];
    tile_type_dims(points, dims);
    for (unsigned d = points->rank; d < tile->rank; d++) dims[d] = 1;
    tile_layout layout = tile_layout_narrow(tile, dims, tile->rank);
    for (unsigned d = points->rank; !whole && d < tile->rank; d++) layout.count[d] = 0;
    if (!whole) layout.rank = points->rank;
    return layout;
}

tile_value tile_repeated_value(const tile_function *f, tile_value value) {
    tile_op op;
    while ((op = tile_value_def(f, value)).id &&
           (tile_op_opcode(f, op) == TILE_OP_splat ||
            tile_op_dims(tile_op_opcode(f, op)) == TILE_DIMS_stretched))
        value = tile_operand_src(f, op);
    return value;
}

/* The attribute's value, or its default if it is absent. */
static bool read_attr(const tile_function *f, tile_op op, tile_attr_id id, int64_t otherwise,
                      int64_t *value) {
    const tile_attr *attr = tile_op_attr(f, op, id);
    *value = otherwise;
    return !attr || tile_expr_is_int(attr->expr, value);
}

bool tile_iota_of(const tile_function *f, tile_op op, tile_iota *iota) {
    int64_t axis;
    bool known = read_attr(f, op, TILE_ATTR_axis, -1, &axis) &&
                 read_attr(f, op, TILE_ATTR_start, 0, &iota->start) &&
                 read_attr(f, op, TILE_ATTR_step, 1, &iota->step);
    iota->axis = (unsigned)axis;
    return known && axis >= 0 && axis < tile_value_type(f, tile_op_result(f, op, 0))->rank;
}

void tile_iota_write(const tile_iota *iota, int64_t coordinate, tile_scalar scalar, void *at) {
    int64_t value = (int64_t)((uint64_t)iota->start + (uint64_t)iota->step * (uint64_t)coordinate);
    tile_cast_integer(TILE_i64, scalar, (tile_arith_flags){.nan = false}, value, at);
}
