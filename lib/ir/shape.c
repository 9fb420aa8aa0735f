/* Operations on shapes and coordinates: see the header. */
#include "lib/ir/shape.h"

#include "lib/ir/scalar.h"

/* The attribute's value, or what its absence means. */
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

int64_t tile_iota_at(const tile_iota *iota, int64_t coordinate) {
    return (int64_t)((uint64_t)iota->start + (uint64_t)iota->step * (uint64_t)coordinate);
}

void tile_iota_write(const tile_iota *iota, int64_t coordinate, tile_scalar scalar, void *at) {
    int64_t value = tile_iota_at(iota, coordinate);
    if (tile_scalar_is_floating(scalar))
        tile_scalar_write(scalar, at, (double)value);
    else
        tile_integer_write(scalar, at, value);
}
