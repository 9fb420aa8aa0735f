/* Raster orders: rows or columns in groups.
 *
 * With groups of n rows, the blocks that run at the same time cover n rows and some columns of
 * tiles. They read n row panels and few column panels; without groups they would read all row
 * panels. The last group has the remaining rows.
 *
 *       rows(2) of 3 x 4:    0 2 4 6
 *                            1 3 5 7
 *                            8 9 10 11 */
#include "passes/grid/raster.h"

static tile_value number(tile_builder *b, int64_t value) {
    return tile_build_int(b, value);
}

raster_divisor raster_divide_by(tile_builder *b, tile_value value, bool before_loop) {
    raster_divisor d = {.value = value};
    int64_t known;
    if (before_loop && !tile_value_is_int(b->function, value, &known))
        d.reciprocal = tile_build_div(b, number(b, INT32_MAX), value);
    return d;
}

/* n / d for n >= 0. With the reciprocal floor((2^31 - 1) / d), the product differs from n / d by at
 * most n / 2^31 < 1, so the quotient is exact or one too small. */
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

/* Coordinates of tile n, in groups along dim `dim`. n / (group * the other extent) is computed in
 * two steps because that product may overflow. The max operations state that a value is
 * nonnegative: an unsigned division is shorter. */
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

raster_order raster_plan(tile_builder *b, tile_raster raster, int64_t group,
                         const tile_value extent[2], bool before_loop) {
    raster_order o = {.raster = raster, .group = group, .extent = {extent[0], extent[1]}};
    for (unsigned d = 0; d < 2; d++) /* with one row or column, all orders are equal */
        if (tile_value_is(b->function, extent[d], 1)) o.raster = TILE_RASTER_NONE;
    bool rows = o.raster == TILE_RASTER_ROWS, columns = o.raster == TILE_RASTER_COLUMNS;
    o.slow = raster_divide_by(b, extent[rows], before_loop);
    if (!rows && !columns) return o;
    tile_value left = tile_build_rem(b, extent[columns], number(b, group));
    o.last = raster_divide_by(b, tile_build_max(b, left, number(b, 1)), before_loop);
    return o;
}

void raster_tile(tile_builder *b, const raster_order *o, tile_value n, tile_value xy[2]) {
    switch (o->raster) {
    case TILE_RASTER_NONE: /* x first: a single group of all rows */
        xy[1] = raster_quotient(b, n, &o->slow);
        xy[0] = without(b, n, xy[1], o->slow.value);
        return;
    case TILE_RASTER_ROWS: grouped(b, o, 0, n, xy); return;
    case TILE_RASTER_COLUMNS: grouped(b, o, 1, n, xy); return;
    }
}
