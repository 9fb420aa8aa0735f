/* Compares begin + i * step < end, where the sum may wrap around. Value ranges select the form:
 *
 *     no wraparound               at < end
 *     nonnegative,                at < end, unsigned: the sum is below 2^32, and after the last
 *     and below 2^32              iteration it is at least the end
 *     otherwise                   iv < end - i * step, computed before the loop in 64 bits */
#include "passes/common/loop_ahead.h"

#include "passes/common/host_value.h"

static tile_value long_number(tile_builder *b, int64_t value) {
    tile_context *context = tile_function_context(b->function);
    return tile_function_constant(b->function, tile_type_scalar(context, TILE_i64),
                                  tile_expr_int(context, value));
}

loop_ahead loop_ahead_of(const tile_function *f, tile_op loop, const tile_range *ranges,
                         size_t range_count) {
    return (loop_ahead){loop,
                        tile_operand_begin(f, loop),
                        tile_operand_end(f, loop),
                        tile_operand_step(f, loop),
                        ranges,
                        range_count};
}

tile_range loop_ahead_range(const loop_ahead *l, tile_value value) {
    return value.id < l->range_count ? l->ranges[value.id] : tile_range_of_scalar(TILE_i32);
}

/* The largest value of the variable `steps` steps after `from`; fits in 64 bits. */
static int64_t most_after(const loop_ahead *l, int64_t from, int64_t steps) {
    return from + steps * loop_ahead_range(l, l->step).max;
}

/* end - count * step, clamped to INT32_MIN: no value is below either. */
static tile_value build_limit(const loop_ahead *l, tile_function *f, int64_t count) {
    tile_builder b = tile_builder_before(f, l->loop);
    b.loc = tile_op_loc(f, l->loop);
    tile_value step = host_value_cast(&b, l->step, TILE_i64),
               limit = host_value_cast(&b, l->end, TILE_i64);
    limit = tile_build_sub(&b, limit, tile_build_mul(&b, step, long_number(&b, count)));
    limit = tile_build_max(&b, limit, long_number(&b, INT32_MIN));
    return tile_build_cast(&b, limit, tile_type_scalar(tile_function_context(f), TILE_i32));
}

tile_value loop_ahead_exists(tile_builder *b, const loop_ahead *l, tile_value at, int64_t count) {
    tile_function *f = b->function;
    tile_value iv = tile_region_arg(f, tile_op_region(f, l->loop, 0), 0);
    int64_t least = loop_ahead_range(l, l->begin).min;
    int64_t most = most_after(l, loop_ahead_range(l, l->end).max - 1, count);
    if (most <= INT32_MAX) return tile_build_lt(b, at, l->end);
    if (least >= 0 && most <= UINT32_MAX) return tile_build_ult(b, at, l->end);
    return tile_build_lt(b, iv, build_limit(l, f, count));
}

tile_value loop_ahead_starts(tile_builder *b, const loop_ahead *l, tile_value at, tile_value count,
                             int64_t most) {
    int64_t last = most_after(l, loop_ahead_range(l, l->begin).max, most);
    if (last <= INT32_MAX) return tile_build_lt(b, at, l->end);
    tile_value ahead = tile_build_mul(b, host_value_cast(b, count, TILE_i64),
                                      host_value_cast(b, l->step, TILE_i64));
    ahead = tile_build_add(b, host_value_cast(b, l->begin, TILE_i64), ahead);
    return tile_build_lt(b, ahead, host_value_cast(b, l->end, TILE_i64));
}
