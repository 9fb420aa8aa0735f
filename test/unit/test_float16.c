/* Small floats: every code, every rounding boundary. */
#include <criterion/criterion.h>
#include <math.h>

#include "lib/support/float16.h"

static float f16_value(unsigned code) {
    return tile_f16_to_float((uint16_t)code);
}

static float bf16_value(unsigned code) {
    return tile_bf16_to_float((uint16_t)code);
}

static float e4m3_value(unsigned code) {
    return tile_e4m3_to_float((uint8_t)code);
}

static float e5m2_value(unsigned code) {
    return tile_e5m2_to_float((uint8_t)code);
}

Test(float16, every_code_converts_back) {
    for (unsigned code = 0; code < 0x10000; code++) {
        if (!isnan(f16_value(code))) {
            cr_assert_eq(tile_f16_from_float(f16_value(code)), code, "%04x", code);
            cr_assert_eq(tile_f16_from_double(f16_value(code)), code, "%04x", code);
        }
        if (!isnan(bf16_value(code))) {
            cr_assert_eq(tile_bf16_from_float(bf16_value(code)), code, "%04x", code);
            cr_assert_eq(tile_bf16_from_double(bf16_value(code)), code, "%04x", code);
        }
    }
    for (unsigned code = 0; code < 0x100; code++) {
        if (!isnan(e4m3_value(code)))
            cr_assert_eq(tile_e4m3_from_double(e4m3_value(code)), code, "%02x", code);
        if (isfinite(e5m2_value(code)))
            cr_assert_eq(tile_e5m2_from_double(e5m2_value(code)), code, "%02x", code);
    }
}

/* Between two neighbours: the middle goes to the even code, a little to either side to the nearer.
 */
static void check_middles(float (*value)(unsigned), unsigned largest, unsigned (*round)(double)) {
    for (unsigned code = 0; code < largest; code++) {
        double low = value(code), high = value(code + 1), middle = (low + high) / 2;
        cr_assert_eq(round(middle), code + (code & 1), "above %x", code);
        cr_assert_eq(round(nextafter(middle, low)), code, "above %x", code);
        cr_assert_eq(round(nextafter(middle, high)), code + 1, "above %x", code);
    }
}

static unsigned f16_round(double x) {
    return tile_f16_from_double(x);
}

static unsigned f16_round_float(double x) {
    return tile_f16_from_float((float)x);
}

static unsigned bf16_round(double x) {
    return tile_bf16_from_double(x);
}

static unsigned e4m3_round(double x) {
    return tile_e4m3_from_double(x);
}

static unsigned e5m2_round(double x) {
    return tile_e5m2_from_double(x);
}

Test(float16, ties_go_to_even) {
    check_middles(f16_value, 0x7bff, f16_round);
    check_middles(bf16_value, 0x7f7f, bf16_round);
    check_middles(e4m3_value, 0x7e, e4m3_round);
    check_middles(e5m2_value, 0x7b, e5m2_round);
    for (unsigned code = 0; code < 0x7bff; code++) { /* a middle is exact in f32 */
        float middle = (f16_value(code) + f16_value(code + 1)) / 2;
        cr_assert_eq(f16_round_float(middle), code + (code & 1), "above %x", code);
        cr_assert_eq(tile_f16_from_float(nextafterf(middle, 0)), code, "above %x", code);
        cr_assert_eq(tile_f16_from_float(nextafterf(middle, 1e30f)), code + 1, "above %x", code);
    }
}

Test(float16, limits) {
    cr_assert_eq(tile_f16_from_float(65519.0f), 0x7bff);
    cr_assert_eq(tile_f16_from_float(65520.0f), 0x7c00);
    cr_assert_eq(tile_f16_from_double(65520.0), 0x7c00);
    cr_assert_eq(tile_f16_from_float(-INFINITY), 0xfc00);
    cr_assert_eq(tile_bf16_from_float(INFINITY), 0x7f80);
    cr_assert_eq(tile_e4m3_from_double(1e9), 0x7e); /* saturates: 448 */
    cr_assert_eq(tile_e4m3_from_double(-INFINITY), 0xfe);
    cr_assert_eq(tile_e5m2_from_double(1e9), 0x7b);
    cr_assert_eq(e4m3_value(0x7e), 448.0f);
    cr_assert_eq(e5m2_value(0x7b), 57344.0f);
    cr_assert(isinf(e5m2_value(0x7c)));
    cr_assert(isnan(e4m3_value(0x7f)) && isnan(e5m2_value(0x7d)) && isnan(f16_value(0x7e00)));
    cr_assert(isnan(f16_value(tile_f16_from_float(NAN))));
    cr_assert(isnan(bf16_value(tile_bf16_from_float(NAN))));
    cr_assert_eq(tile_f16_from_float(-0.0f), 0x8000);
}

Test(float16, integers_wrap_and_clamp) {
    unsigned char bytes[8];
    tile_integer_write(TILE_i8, bytes, 300);
    cr_assert_eq(tile_integer_read(TILE_i8, bytes), 44);
    tile_integer_write(TILE_i16, bytes, -32769);
    cr_assert_eq(tile_integer_read(TILE_i16, bytes), 32767);
    tile_integer_write(TILE_i1, bytes, 3);
    cr_assert_eq(tile_integer_read(TILE_i1, bytes), 1);
    tile_scalar_write(TILE_i32, bytes, -3e9);
    cr_assert_eq(tile_scalar_read(TILE_i32, bytes), -2147483648.0);
    tile_scalar_write(TILE_i64, bytes, 1e30);
    cr_assert_eq(tile_integer_read(TILE_i64, bytes), INT64_MAX);
    tile_scalar_write(TILE_i8, bytes, NAN);
    cr_assert_eq(tile_scalar_read(TILE_i8, bytes), 0);
    tile_scalar_write(TILE_i32, bytes, -2.9);
    cr_assert_eq(tile_scalar_read(TILE_i32, bytes), -2);
    tile_scalar_write(TILE_i1, bytes, 0.25);
    cr_assert_eq(tile_scalar_read(TILE_i1, bytes), 1);
}

Test(float16, which_integers_fit) {
    cr_assert(tile_integer_fits(TILE_i8, -128) && tile_integer_fits(TILE_i8, 127));
    cr_assert_not(tile_integer_fits(TILE_i8, -129) || tile_integer_fits(TILE_i8, 128));
    cr_assert(tile_integer_fits(TILE_i1, 0) && tile_integer_fits(TILE_i1, 1));
    cr_assert_not(tile_integer_fits(TILE_i1, -1) || tile_integer_fits(TILE_i1, 2));
    cr_assert(tile_integer_fits(TILE_i64, INT64_MIN) && tile_integer_fits(TILE_f16, INT64_MAX));
    cr_assert(tile_integer_fits(TILE_SCALAR_NONE, INT64_MAX));
}
