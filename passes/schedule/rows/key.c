/* Indices in parts: for a reduction that returns an index, each block passes on one 64-bit key per
 * row, and split-k takes the maximum.
 *
 *     [ value, ordered so that larger is better : 32 ][ ~index : 32 ]
 *
 * The bits of a float, with the magnitude bits inverted if it is negative, order like the numbers.
 * All bits inverted, they order the other way. NaN is smaller than all values that count. -0
 * becomes 0, as in comparisons. A u32 is shifted down by 2^31. Among equal values, the lowest index
 * has the largest key. */
#include <math.h>

#include "lib/ir/syntax.h"
#include "passes/schedule/rows/rows.h"

enum { HALF = 32 };

static const tile_type *scalar(const rows *r, tile_scalar type) {
    return tile_type_scalar(r->k.s->context, type);
}

static tile_value number(rows *r, tile_scalar type, int64_t value) {
    return tile_build_constant(&r->k.b, scalar(r, type), tile_expr_int(r->k.s->context, value));
}

bool rows_has_key(const rows *r, size_t index) {
    return tile_scalar_bits(rows_type(r, index)->scalar) <= HALF;
}

tile_value rows_least_key(rows *r) {
    return number(r, TILE_i64, INT64_MIN);
}

static tile_value transposed(rows *r, tile_value bits) {
    return tile_build_xor(&r->k.b, bits, number(r, TILE_i32, -1));
}

/* Maps a float's bits to an i32 in the order of the floats; the map is its own inverse. */
static tile_value reorder(rows *r, tile_value bits) {
    tile_builder *b = &r->k.b;
    tile_value sign = tile_build_shr(b, bits, number(r, TILE_i32, HALF - 1));
    tile_value turn = tile_build_and(b, sign, number(r, TILE_i32, INT32_MAX));
    return tile_build_xor(b, bits, turn);
}

static bool is_float(const rows *r, size_t index) {
    return tile_scalar_is_floating(rows_type(r, index)->scalar);
}

/* Maps the bits of a u32 to an i32 in the same order; the map is its own inverse. */
static tile_value shift_unsigned(rows *r, size_t index, tile_value bits) {
    if (rows_type(r, index)->scalar != TILE_u32) return bits;
    return tile_build_xor(&r->k.b, bits, number(r, TILE_i32, INT32_MIN));
}

static bool is_largest(const rows *r, size_t index) {
    return rows_kind(r, index) == TILE_WORD_kind_max;
}

tile_value rows_build_key(rows *r, size_t index, tile_value value, tile_value place) {
    tile_builder *b = &r->k.b;
    tile_value order = value;
    if (is_float(r, index)) {
        order = sched_convert(&r->k, order, scalar(r, TILE_f32));
        tile_value zero =
            tile_build_constant(b, scalar(r, TILE_f32), tile_expr_float(r->k.s->context, 0));
        order = tile_build_select(b, tile_build_eq(b, order, zero), zero, order);
        order = reorder(
            r, tile_build_bitcast(b, order,
                                  tile_type_with_scalar(r->k.s->context,
                                                        tile_value_type(r->k.f, order), TILE_i32)));
    } else {
        order = shift_unsigned(r, index, sched_convert(&r->k, order, scalar(r, TILE_i32)));
    }
    if (!is_largest(r, index)) order = transposed(r, order);
    if (is_float(r, index))
        order = tile_build_select(b, tile_build_eq(b, value, value), order,
                                  number(r, TILE_i32, INT32_MIN));
    tile_value high = tile_build_shl(b, sched_convert(&r->k, order, scalar(r, TILE_i64)),
                                     number(r, TILE_i64, HALF));
    tile_value low =
        tile_build_and(b, sched_convert(&r->k, transposed(r, place), scalar(r, TILE_i64)),
                       number(r, TILE_i64, UINT32_MAX));
    return tile_build_or(b, high, low);
}

tile_value rows_value_of_key(rows *r, size_t index, tile_value key) {
    tile_builder *b = &r->k.b;
    const tile_type *type = rows_type(r, index);
    tile_value high = sched_convert(&r->k, tile_build_shr(b, key, number(r, TILE_i64, HALF)),
                                    scalar(r, TILE_i32));
    tile_value order = is_largest(r, index) ? high : transposed(r, high);
    if (!is_float(r, index)) return sched_convert(&r->k, shift_unsigned(r, index, order), type);
    tile_value bits = reorder(r, order);
    tile_value value = tile_build_bitcast(
        b, bits, tile_type_with_scalar(r->k.s->context, tile_value_type(r->k.f, bits), TILE_f32));
    tile_value none = tile_build_eq(b, high, number(r, TILE_i32, INT32_MIN));
    tile_value nan =
        tile_build_constant(b, scalar(r, TILE_f32), tile_expr_float(r->k.s->context, NAN));
    return sched_convert(&r->k, tile_build_select(b, none, nan, value), type);
}

tile_value rows_index_of_key(rows *r, tile_value key) {
    return transposed(r, sched_convert(&r->k, key, scalar(r, TILE_i32)));
}
