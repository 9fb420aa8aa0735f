/* Rows and columns in groups, and the Hilbert curve of a rectangle.
 *
 * Groups. In a group of n rows the blocks that run at once cover n rows and some columns of tiles,
 * and so read n row panels and few column panels, where without groups they read all row panels.
 * The last group has the rows that are left.
 *
 *       rows(2) of 3 x 4:    0 2 4 6
 *                            1 3 5 7
 *                            8 9 10 11
 *
 * Hilbert. The curve goes through a box of w x h tiles from one corner to the other end of side a,
 * the longer one at the start; b is the other side. A box is cut, and the tile's number says in
 * which part it lies, until one side is 1. Two parts where the box is long (2 w > 3 h); three else,
 * of which the first and the last run along b:
 *
 *       +---------+---------+             +-----+-----+     each part is a box again, with its own
 *     b | 1 -->   | 2 -->   |             |  2 ----->  |     corner p and its own directions a, b;
 *       p---------+---------+           b +-----+-----+     numbers are counted from the corner.
 *                a                        | 1 ^ | 3 | |
 *                                         p-----+---v-+
 *
 * Sides are halved, and made even where that is possible, so that a part ends beside the next one's
 * corner: consecutive tiles are neighbours, but for one diagonal step where both sides are odd or
 * the like. (The usual bit tricks need squares of powers of two.) */
#include "passes/tile/raster.h"

static tile_value number(tile_builder *b, int64_t value) {
    return tile_build_int(b, value);
}

/* base + direction * length */
static tile_value along(tile_builder *b, tile_value base, tile_value direction, tile_value length) {
    return tile_build_add(b, base, tile_build_mul(b, direction, length));
}

/* Groups --------------------------------------------------------------------------------------- */

raster_divisor raster_divide_by(tile_builder *b, tile_value value, bool before_loop) {
    raster_divisor d = {.value = value};
    int64_t known;
    if (before_loop && !tile_value_is_int(b->function, value, &known))
        d.reciprocal = tile_build_div(b, number(b, INT32_MAX), value);
    return d;
}

/* n / d of n >= 0. With floor((2^31 - 1) / d) for a reciprocal the product is right or one too
 * small: it is at most n / 2^31, and that is below 1, away from n / d. */
tile_value raster_quotient(tile_builder *b, tile_value n, const raster_divisor *d) {
    if (!d->reciprocal.id) return tile_build_div(b, n, d->value);
    tile_context *context = tile_function_context(b->function);
    const tile_type *i32 = tile_type_scalar(context, TILE_i32);
    const tile_type *i64 = tile_type_scalar(context, TILE_i64);
    tile_value bits = tile_build_constant(b, i64, tile_expr_int(context, 31));
    tile_value reciprocal = tile_build_cast(b, d->reciprocal, i64);
    tile_value wide = tile_build_mul(b, tile_build_cast(b, n, i64), reciprocal);
    tile_value low = tile_build_cast(b, tile_build_shr(b, wide, bits), i32);
    tile_value rest = tile_build_sub(b, n, tile_build_mul(b, low, d->value));
    tile_value next = tile_build_add(b, low, number(b, 1));
    return tile_build_select(b, tile_build_ge(b, rest, d->value), next, low);
}

/* n - count * size */
static tile_value without(tile_builder *b, tile_value n, tile_value count, tile_value size) {
    return tile_build_sub(b, n, tile_build_mul(b, count, size));
}

/* In groups along a dim of the extents. n / (group * the other extent) is taken in two steps,
 * as that product may not fit. What is not negative is said to be so: a division of unsigned
 * numbers is shorter. */
static void grouped(tile_builder *b, const raster_order *o, unsigned dim, tile_value n,
                    tile_value at[2]) {
    tile_value zero = number(b, 0), size = number(b, o->group);
    n = tile_build_max(b, n, zero);
    tile_value row = tile_build_max(b, raster_quotient(b, n, &o->slow), zero);
    tile_value first = tile_build_mul(b, tile_build_div(b, row, size), size);
    tile_value rest = tile_build_max(b, without(b, n, first, o->slow.value), zero);
    tile_value left = tile_build_sub(b, o->extent[dim], first);
    tile_value complete = tile_build_ge(b, left, size);
    tile_value rows = tile_build_select(b, complete, size, o->last.value);
    tile_value column = tile_build_select(b, complete, tile_build_div(b, rest, size),
                                          raster_quotient(b, rest, &o->last));
    at[dim] = tile_build_add(b, first, without(b, rest, column, rows));
    at[1 - dim] = column;
}

/* Hilbert -------------------------------------------------------------------------------------- */

/* What is carried: the box's corner, the directions of its sides, their lengths, the number. */
enum { PX, PY, AX, AY, BX, BY, W, H, N, STATE };

static void copy_state(tile_value to[STATE], const tile_value *from) {
    for (unsigned i = 0; i < STATE; i++) to[i] = from[i];
}

/* A half, one more where it is odd and the side is longer than 2. */
static tile_value even_half(tile_builder *b, tile_value side) {
    tile_value half = tile_build_div(b, side, number(b, 2));
    tile_value odd = tile_build_ne(b, tile_build_and(b, half, number(b, 1)), number(b, 0));
    tile_value more = tile_build_and(b, odd, tile_build_gt(b, side, number(b, 2)));
    return tile_build_select(b, more, tile_build_add(b, half, number(b, 1)), half);
}

/* if condition { yields yes } else { yields no }: begin both with the state, change, end. */
typedef struct fork {
    tile_op op;
    tile_builder way[2];
    tile_value state[2][STATE];
} fork;

static fork begin_fork(tile_builder *b, tile_value condition, const tile_value state[STATE]) {
    const tile_type *types[STATE];
    fork f;
    for (unsigned i = 0; i < STATE; i++) types[i] = tile_value_type(b->function, state[i]);
    f.op = tile_build_if_else(b, condition, types, STATE);
    for (unsigned way = 0; way < 2; way++) {
        f.way[way] = tile_builder_at_end(b->function, tile_op_region(b->function, f.op, way));
        f.way[way].loc = b->loc;
        copy_state(f.state[way], state);
    }
    return f;
}

static void end_fork(tile_builder *b, fork *f, tile_value state[STATE]) {
    for (unsigned way = 0; way < 2; way++) tile_build_yield(&f->way[way], f->state[way], STATE);
    for (unsigned i = 0; i < STATE; i++) state[i] = tile_op_result(b->function, f->op, i);
}

static void cut_long_box(tile_builder *b, tile_value s[STATE]) {
    tile_value half = even_half(b, s[W]), size = tile_build_mul(b, half, s[H]);
    fork f = begin_fork(b, tile_build_lt(b, s[N], size), s);
    f.state[0][W] = half;
    tile_value *t = f.state[1];
    tile_builder *c = &f.way[1];
    t[N] = tile_build_sub(c, s[N], size);
    t[W] = tile_build_sub(c, s[W], half);
    t[PX] = along(c, s[PX], s[AX], half);
    t[PY] = along(c, s[PY], s[AY], half);
    end_fork(b, &f, s);
}

/* The middle part, or the last one. */
static void cut_behind_first(tile_builder *b, tile_value half_w, tile_value half_h,
                             tile_value s[STATE]) {
    tile_value rest = tile_build_sub(b, s[H], half_h), size = tile_build_mul(b, s[W], rest);
    fork f = begin_fork(b, tile_build_lt(b, s[N], size), s);
    tile_builder *c = &f.way[0];
    f.state[0][PX] = along(c, s[PX], s[BX], half_h);
    f.state[0][PY] = along(c, s[PY], s[BY], half_h);
    f.state[0][H] = rest;
    tile_value *t = f.state[1];
    c = &f.way[1];
    tile_value across = tile_build_sub(c, s[W], number(c, 1));
    tile_value up = tile_build_sub(c, half_h, number(c, 1));
    t[N] = tile_build_sub(c, s[N], size);
    t[PX] = along(c, along(c, s[PX], s[AX], across), s[BX], up);
    t[PY] = along(c, along(c, s[PY], s[AY], across), s[BY], up);
    t[AX] = tile_build_neg(c, s[BX]);
    t[AY] = tile_build_neg(c, s[BY]);
    t[BX] = tile_build_neg(c, s[AX]);
    t[BY] = tile_build_neg(c, s[AY]);
    t[W] = half_h;
    t[H] = tile_build_sub(c, s[W], half_w);
    end_fork(b, &f, s);
}

static void cut_other_box(tile_builder *b, tile_value s[STATE]) {
    tile_value half_w = tile_build_div(b, s[W], number(b, 2)), half_h = even_half(b, s[H]);
    tile_value size = tile_build_mul(b, half_w, half_h);
    fork f = begin_fork(b, tile_build_lt(b, s[N], size), s);
    tile_value *t = f.state[0];
    t[AX] = s[BX];
    t[AY] = s[BY];
    t[BX] = s[AX];
    t[BY] = s[AY];
    t[W] = half_h;
    t[H] = half_w;
    f.state[1][N] = tile_build_sub(&f.way[1], s[N], size);
    cut_behind_first(&f.way[1], half_w, half_h, f.state[1]);
    end_fork(b, &f, s);
}

static void hilbert(tile_builder *b, tile_value n, const tile_value extent[2], tile_value at[2]) {
    tile_function *f = b->function;
    tile_value zero = number(b, 0), one = number(b, 1), s[STATE];
    tile_value wide = tile_build_ge(b, extent[0], extent[1]);
    tile_value x = tile_build_select(b, wide, one, zero), y = tile_build_select(b, wide, zero, one);
    const tile_value start[STATE] = {zero,
                                     zero,
                                     x,
                                     y,
                                     y,
                                     x,
                                     tile_build_max(b, extent[0], extent[1]),
                                     tile_build_min(b, extent[0], extent[1]),
                                     n};
    tile_op loop = tile_build_while_loop(b, start, STATE);
    tile_builder test = tile_builder_at_end(f, tile_op_region(f, loop, 0));
    tile_builder body = tile_builder_at_end(f, tile_op_region(f, loop, 1));
    test.loc = body.loc = b->loc;
    tile_value yield[STATE + 1];
    for (unsigned i = 0; i < STATE; i++) {
        yield[i + 1] = tile_region_arg(f, test.region, i);
        s[i] = tile_region_arg(f, body.region, i);
    }
    tile_value is_high = tile_build_gt(&test, yield[1 + H], one);
    yield[0] = tile_build_and(&test, tile_build_gt(&test, yield[1 + W], one), is_high);
    tile_build_yield(&test, yield, STATE + 1);
    tile_value half = tile_build_div(&body, s[H], number(&body, 2));
    tile_value is_long = tile_build_gt(&body, tile_build_sub(&body, s[W], s[H]), half);
    fork cut = begin_fork(&body, is_long, s);
    cut_long_box(&cut.way[0], cut.state[0]);
    cut_other_box(&cut.way[1], cut.state[1]);
    end_fork(&body, &cut, s);
    tile_build_yield(&body, s, STATE);
    for (unsigned i = 0; i < STATE; i++) s[i] = tile_op_result(f, loop, i);
    tile_value flat = tile_build_eq(b, s[H], one);
    at[0] = along(b, s[PX], tile_build_select(b, flat, s[AX], s[BX]), s[N]);
    at[1] = along(b, s[PY], tile_build_select(b, flat, s[AY], s[BY]), s[N]);
}

raster_order raster_plan(tile_builder *b, tile_raster raster, int64_t group,
                         const tile_value extent[2], bool before_loop) {
    raster_order o = {.raster = raster, .group = group, .extent = {extent[0], extent[1]}};
    int64_t known;
    for (unsigned d = 0; d < 2; d++) /* one row or column: there is one order */
        if (tile_value_is_int(b->function, extent[d], &known) && known == 1)
            o.raster = TILE_RASTER_NONE;
    bool rows = o.raster == TILE_RASTER_ROWS, columns = o.raster == TILE_RASTER_COLUMNS;
    if (o.raster != TILE_RASTER_HILBERT) o.slow = raster_divide_by(b, extent[rows], before_loop);
    if (!rows && !columns) return o;
    tile_value left = tile_build_rem(b, extent[columns], number(b, group));
    o.last = raster_divide_by(b, tile_build_max(b, left, number(b, 1)), before_loop);
    return o;
}

void raster_tile(tile_builder *b, const raster_order *o, tile_value n, tile_value xy[2]) {
    switch (o->raster) {
    case TILE_RASTER_NONE: /* x first: one group of all rows */
        xy[1] = raster_quotient(b, n, &o->slow);
        xy[0] = without(b, n, xy[1], o->slow.value);
        return;
    case TILE_RASTER_ROWS: grouped(b, o, 0, n, xy); return;
    case TILE_RASTER_COLUMNS: grouped(b, o, 1, n, xy); return;
    case TILE_RASTER_HILBERT: hilbert(b, n, o->extent, xy); return;
    }
}
