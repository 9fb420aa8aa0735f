/* Bounds of parts. A part begins p steps after the loop begins. In a short loop that sum may exceed
 * an i32; the part then has no iterations.
 *
 *     for 2147483646 to 2147483647 step 5, 4 parts
 *       part 0   2147483646                     one iteration
 *       part 1   2147483651 = -2147483645       none, although it is below the end
 *
 * 1. Where ranges exclude wraparound, the bounds cost one multiplication and one addition.
 * 2. If only the beginning may wrap around, it wraps at most once and is then below the loop's
 *    begin: the part gets INT32_MIN as its end, so it is empty. Its beginning keeps its divisors,
 *    which determine the width of loads.
 * 3. If the step may wrap around as well, parts * step >= 2^31, so the loop has at most 2 * parts
 *    iterations. Part p runs iterations 2 p and 2 p + 1 with the step of the loop. */
#include "passes/common/loop_parts.h"

#include "passes/common/host_value.h"

static tile_value as_short(tile_builder *b, tile_value value) {
    const tile_type *i32 = tile_type_scalar(tile_function_context(b->function), TILE_i32);
    return tile_build_cast(b, value, i32);
}

/* Folds the product if the value is a constant. */
static tile_value times(tile_builder *b, tile_value value, int64_t factor) {
    int64_t known;
    if (tile_value_is_int(b->function, value, &known))
        return tile_build_int(b, tile_wrap_int(TILE_i32, known * factor));
    return tile_build_mul(b, value, tile_build_int(b, factor));
}

static tile_value advance(tile_builder *b, tile_value begin, tile_value step, tile_value part) {
    bool by_one = tile_value_is(b->function, step, 1);
    tile_value ahead = by_one ? part : tile_build_mul(b, part, step);
    bool from_zero = tile_value_is(b->function, begin, 0);
    return from_zero ? ahead : tile_build_add(b, begin, ahead);
}

/* Case 2. ahead: begin + p * step, where p * step fits an i32. */
static void end_where_it_wraps(tile_builder *b, tile_value begin, tile_value ahead, loop_part *p) {
    tile_value wraps = tile_build_lt(b, ahead, begin);
    p->begin = tile_build_max(b, ahead, begin);
    p->end = tile_build_select(b, wraps, tile_build_int(b, INT32_MIN), p->end);
}

/* Case 3. */
static loop_part build_wide(tile_builder *b, tile_value begin, tile_value end, tile_value step,
                            tile_value part, int64_t parts) {
    tile_value most = tile_build_int(b, INT32_MAX / parts + 1);
    tile_value fits = tile_build_ult(b, step, most); /* false for a negative step */
    tile_value number = tile_build_select(b, fits, part, times(b, part, 2));
    tile_value last = host_value_cast(b, end, TILE_i64), by = host_value_cast(b, step, TILE_i64);
    tile_value first = tile_build_mul(b, host_value_cast(b, number, TILE_i64), by);
    first = tile_build_add(b, host_value_cast(b, begin, TILE_i64), first);
    tile_value stop = tile_build_add(b, tile_build_add(b, first, by), by);
    stop = tile_build_select(b, fits, last, tile_build_min(b, stop, last));
    return (loop_part){as_short(b, tile_build_min(b, first, last)), as_short(b, stop),
                       tile_build_select(b, fits, times(b, step, parts), step)};
}

bool loop_parts_interleave(const loop_ahead *l, int64_t parts) {
    tile_range by = loop_ahead_range(l, l->step);
    return by.min >= 1 && by.max <= INT32_MAX / parts;
}

loop_part loop_part_build(tile_builder *b, const loop_ahead *l, tile_value part, int64_t parts) {
    tile_range from = loop_ahead_range(l, l->begin), by = loop_ahead_range(l, l->step);
    if (!loop_parts_interleave(l, parts))
        return build_wide(b, l->begin, l->end, l->step, part, parts);
    loop_part p = {advance(b, l->begin, l->step, part), l->end, times(b, l->step, parts)};
    if (from.max + (parts - 1) * by.max > INT32_MAX) end_where_it_wraps(b, l->begin, p.begin, &p);
    return p;
}
