/* Coordinates of a tile's elements, from a thread's number and its registers; tiles whose elements
 * are repeated, which only renames registers. */
#include "lib/ir/shape.h"
#include "lib/layout/layout.h"
#include "passes/tile/lower.h"

/* In i32, which is exact where the elements fit it and wraps as narrower integers do; else in i64.
 */
static tile_scalar scalar_of(const tile_iota *iota, const tile_type *type) {
    if (!tile_scalar_is_floating(type->scalar))
        return type->scalar == TILE_i64 ? TILE_i64 : TILE_i32;
    int64_t step, extent = tile_type_dim(type, iota->axis), last;
    bool small = !__builtin_mul_overflow(iota->step, extent, &step) &&
                 !__builtin_add_overflow(iota->start, step, &last) && iota->step >= INT32_MIN &&
                 iota->step <= INT32_MAX && iota->start >= INT32_MIN && iota->start <= INT32_MAX &&
                 last >= INT32_MIN && last <= INT32_MAX;
    return small ? TILE_i32 : TILE_i64;
}

typedef struct counter {
    lowering *l;
    const tile_iota *iota;
    const tile_type *scalar;
    tile_value thread; /* the thread's coordinate */
    bool crossed;      /* with its registers' */
    tile_value base;   /* start + step * the thread's coordinate */
} counter;

static tile_value number(const counter *c, int64_t value) {
    return tile_function_constant(
        c->l->f, c->scalar,
        tile_expr_int(tile_function_context(c->l->f), tile_wrap_int(c->scalar->scalar, value)));
}

/* start + step * coordinate */
static tile_value scaled(const counter *c, tile_value coordinate) {
    if (c->scalar->scalar == TILE_i64) coordinate = lower_to_long(c->l, coordinate);
    tile_value product = lower_mul(c->l, coordinate, number(c, c->iota->step));
    return lower_add(c->l, product, number(c, c->iota->start));
}

static tile_value count(const counter *c, int64_t added) {
    if (!c->crossed) {
        uint64_t product = (uint64_t)c->iota->step * (uint64_t)added;
        return lower_add(c->l, c->base, number(c, (int64_t)product));
    }
    tile_value other = lower_int(c->l, added);
    return scaled(c, added ? tile_build_xor(&c->l->builder, c->thread, other) : c->thread);
}

/* Registers with one coordinate share its value. */
tile_value lower_count(lowering *l, tile_op op, const tile_type *type, const tile_value *ahead) {
    tile_iota iota = {0};
    tile_context *context = tile_function_context(l->f);
    tile_iota_of(&l->old, op, &iota);
    const tile_type *whole = tile_value_type(&l->old, tile_op_result(&l->old, op, 0));
    counter c = {l,
                 &iota,
                 tile_type_scalar(context, scalar_of(&iota, whole)),
                 lower_thread_coordinate(l, type->layout, iota.axis),
                 lower_bits_cross(type->layout, iota.axis),
                 TILE_NO_VALUE};
    if (ahead) c.thread = lower_add(l, c.thread, ahead[iota.axis]);
    c.base = scaled(&c, c.thread);
    unsigned registers = tile_type_registers(type);
    tile_value *values = TILE_NEW_ARRAY(l->pass->scratch, tile_value, registers);
    tile_value *known =
        TILE_NEW_ARRAY(l->pass->scratch, tile_value, tile_layout_extent(type->layout, iota.axis));
    for (unsigned i = 0; i < registers; i++) {
        int64_t added = lower_register_coordinate(type->layout, i, iota.axis);
        if (!known[added].id) known[added] = count(&c, added);
        values[i] = known[added];
    }
    tile_value all = tile_build_concat(&l->builder, values, registers);
    if (c.scalar->scalar == type->scalar) return all;
    return tile_build_cast(&l->builder, all, tile_type_vector(context, type->scalar, registers));
}

tile_value lower_iota(lowering *l, tile_op op) {
    return lower_count(l, op, tile_value_type(&l->old, tile_op_result(&l->old, op, 0)), NULL);
}

tile_value lower_repeat(lowering *l, tile_value source, const tile_type *from,
                        const tile_type *to) {
    unsigned registers = tile_type_registers(to);
    int64_t *order = TILE_NEW_ARRAY(l->pass->scratch, int64_t, registers);
    bool same = registers == tile_type_registers(from);
    for (unsigned i = 0; i < registers; i++) {
        order[i] = tile_layout_narrow_register(to->layout, from->layout, i);
        same &= order[i] == i;
    }
    if (same) return source;
    tile_value wide = tile_build_permute(
        &l->builder, source, tile_type_vector(tile_function_context(l->f), to->scalar, registers));
    tile_op_set_list(l->f, tile_value_def(l->f, wide), TILE_ATTR_order, order, registers);
    return wide;
}

tile_value lower_broadcast(lowering *l, tile_op op) {
    tile_value source = tile_op_operand(&l->old, op, 0);
    return lower_repeat(l, lower_mapped(l, source), tile_value_type(&l->old, source),
                        tile_value_type(&l->old, tile_op_result(&l->old, op, 0)));
}
