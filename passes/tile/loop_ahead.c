/* begin + i * step < end, where the sum may wrap around. By what ranges tell:
 *
 *     it does not                 at < end
 *     nothing is below 0, and     at < end, unsigned: the sum is below 2^32, and behind the last
 *     it stays below 2^32         iteration it is not less than the end
 *     else                        iv < end - i * step, which is computed before the loop in 64 bits
 */
#include "passes/tile/loop_ahead.h"

static tile_value as_long(tile_builder *b, tile_value value) {
    const tile_type *i64 = tile_type_scalar(tile_function_context(b->function), TILE_i64);
    return tile_build_cast(b, value, i64);
}

static tile_value long_number(tile_builder *b, int64_t value) {
    tile_context *context = tile_function_context(b->function);
    return tile_function_constant(b->function, tile_type_scalar(context, TILE_i64),
                                  tile_expr_int(context, value));
}

static tile_range range_of(const loop_ahead *l, tile_value value) {
    return value.id < l->range_count ? l->ranges[value.id] : tile_range_of_scalar(TILE_i32);
}

/* What the variable may be, `steps` steps after `from`; 64 bits hold it. */
static int64_t most_after(const loop_ahead *l, const tile_function *f, int64_t from,
                          int64_t steps) {
    return from + steps * range_of(l, tile_op_operand(f, l->loop, 2)).max;
}

/* end - count * step, or the least number if it is less than that: nothing is below either. */
static tile_value build_limit(const loop_ahead *l, tile_function *f, int64_t count) {
    tile_builder b = tile_builder_before(f, l->loop);
    b.loc = tile_op_loc(f, l->loop);
    tile_value step = as_long(&b, tile_op_operand(f, l->loop, 2));
    tile_value limit = as_long(&b, tile_op_operand(f, l->loop, 1));
    limit = tile_build_sub(&b, limit, tile_build_mul(&b, step, long_number(&b, count)));
    limit = tile_build_max(&b, limit, long_number(&b, INT32_MIN));
    return tile_build_cast(&b, limit, tile_type_scalar(tile_function_context(f), TILE_i32));
}

tile_value loop_ahead_exists(tile_builder *b, const loop_ahead *l, tile_value at, int64_t count) {
    tile_function *f = b->function;
    tile_value end = tile_op_operand(f, l->loop, 1);
    tile_value iv = tile_region_arg(f, tile_op_region(f, l->loop, 0), 0);
    int64_t least = range_of(l, tile_op_operand(f, l->loop, 0)).min;
    int64_t most = most_after(l, f, range_of(l, end).max - 1, count);
    if (most <= INT32_MAX) return tile_build_lt(b, at, end);
    if (least >= 0 && most <= UINT32_MAX) return tile_build_ult(b, at, end);
    return tile_build_lt(b, iv, build_limit(l, f, count));
}

tile_value loop_ahead_starts(tile_builder *b, const loop_ahead *l, tile_value at, tile_value count,
                             int64_t most) {
    tile_function *f = b->function;
    tile_value begin = tile_op_operand(f, l->loop, 0), end = tile_op_operand(f, l->loop, 1);
    int64_t last = most_after(l, f, range_of(l, begin).max, most);
    if (last <= INT32_MAX) return tile_build_lt(b, at, end);
    tile_value ahead = as_long(b, tile_op_operand(f, l->loop, 2));
    ahead = tile_build_mul(b, as_long(b, count), ahead);
    ahead = tile_build_add(b, as_long(b, begin), ahead);
    return tile_build_lt(b, ahead, as_long(b, end));
}
