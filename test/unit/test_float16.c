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

/* Checks rounding between two adjacent values: the midpoint rounds to the even code, values next to
 * it to the nearer code. */
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
    for (unsigned code = 0; code < 0x7bff; code++) { /* the midpoint is exact in f32 */
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
    cr_assert_eq(tile_bf16_from_double(INFINITY), 0x7f80);
    cr_assert_eq(tile_e4m3_from_double(1e9), 0x7e); /* saturates: 448 */
    cr_assert_eq(tile_e4m3_from_double(-INFINITY), 0xfe);
    cr_assert_eq(tile_e5m2_from_double(1e9), 0x7b);
    cr_assert_eq(e4m3_value(0x7e), 448.0f);
    cr_assert_eq(e5m2_value(0x7b), 57344.0f);
    cr_assert(isinf(e5m2_value(0x7c)));
    cr_assert(isnan(e4m3_value(0x7f)) && isnan(e5m2_value(0x7d)) && isnan(f16_value(0x7e00)));
    cr_assert(isnan(f16_value(tile_f16_from_float(NAN))));
    cr_assert(isnan(bf16_value(tile_bf16_from_double(NAN))));
    cr_assert_eq(tile_f16_from_float(-0.0f), 0x8000);
}

/* Decodes the fields as the OCP specification "8-bit Floating Point (OFP8)" says. */
static double number_of(unsigned code, unsigned mantissa_bits, int bias) {
    unsigned mantissa = code & ((1u << mantissa_bits) - 1), field = (code & 0x7f) >> mantissa_bits;
    double fraction = mantissa / (double)(1u << mantissa_bits);
    double value = field ? ldexp(1 + fraction, (int)field - bias) : ldexp(fraction, 1 - bias);
    return code & 0x80 ? -value : value;
}

Test(float16, every_code_of_8_bits) {
    for (unsigned code = 0; code < 0x100; code++) {
        unsigned magnitude = code & 0x7f;
        if (magnitude == 0x7f)
            cr_assert(isnan(e4m3_value(code)), "%02x", code);
        else
            cr_assert_eq(e4m3_value(code), number_of(code, 3, 7), "%02x", code);
        if (magnitude > 0x7c)
            cr_assert(isnan(e5m2_value(code)), "%02x", code);
        else if (magnitude == 0x7c)
            cr_assert_eq(e5m2_value(code), code & 0x80 ? -INFINITY : INFINITY);
        else
            cr_assert_eq(e5m2_value(code), number_of(code, 2, 15), "%02x", code);
    }
}

/* Finds the nearest finite code, the even one of two, by trying all of them. */
static unsigned nearest_code(double x, float (*value)(unsigned), unsigned largest) {
    unsigned best = 0;
    double magnitude = fmin(fabs(x), (double)value(largest));
    for (unsigned code = 1; code <= largest; code++) {
        double now = fabs(magnitude - (double)value(best)),
               then = fabs(magnitude - (double)value(code));
        if (then < now || (then == now && code % 2 == 0)) best = code;
    }
    return best | (signbit(x) ? 0x80u : 0);
}

static void check_8_bits(double x) {
    if (isnan(x)) {
        cr_assert_eq(tile_e4m3_from_double(x), 0x7f);
        cr_assert_eq(tile_e5m2_from_double(x), 0x7f);
        return;
    }
    cr_assert_eq(tile_e4m3_from_double(x), nearest_code(x, e4m3_value, 0x7e), "%a", x);
    cr_assert_eq(tile_e5m2_from_double(x), nearest_code(x, e5m2_value, 0x7b), "%a", x);
}

Test(float16, every_half_in_8_bits) {
    for (unsigned code = 0; code < 0x10000; code++) check_8_bits(f16_value(code));
}

/* Every pattern of the upper 16 bits of an f32, with lower bits on both sides of a midpoint. */
Test(float16, many_floats_in_8_bits) {
    static const uint32_t low[] = {0, 1, 0x7fff, 0x8000, 0xffff};
    for (uint32_t high = 0; high < 0x10000; high += 3)
        for (unsigned i = 0; i < sizeof low / sizeof *low; i++) {
            uint32_t word = high << 16 | low[i];
            float value;
            memcpy(&value, &word, sizeof value);
            check_8_bits(value);
        }
}

/* tf32: the two neighbors are the word without its low 13 bits and the next such word. */
static void check_tf32(uint32_t word, double shift) {
    float value, low, high;
    uint32_t below = word & ~UINT32_C(0x1fff), above = below + 0x2000;
    memcpy(&value, &word, sizeof value);
    memcpy(&low, &below, sizeof low);
    memcpy(&high, &above, sizeof high);
    double x = (double)value + shift;
    if (isinf(high)) return;
    bool up = fabs(x - (double)low) >= fabs((double)high - x);
    cr_assert_eq(tile_tf32_from_double(x), up ? above : below, "%a", x);
    cr_assert_eq(tile_tf32_to_float(tile_tf32_from_double(x)), up ? high : low);
}

Test(float16, tf32_rounds_to_nearest_ties_away) {
    static const uint32_t low[] = {0, 1, 0xfff, 0x1000, 0x1001, 0x1fff};
    for (uint32_t high = 0; high < 1u << 19; high += 7)
        for (unsigned i = 0; i < sizeof low / sizeof *low; i++)
            if ((high >> 10 & 0xff) != 0xff) check_tf32(high << 13 | low[i], 0);
    double tiny = 0x1p-40; /* too small for f32, but a single rounding from f64 sees it */
    check_tf32(0x3f801000, -tiny);
    check_tf32(0x3f801000, tiny);
    cr_assert_eq(tile_tf32_from_double(-(1 + 0x1p-11)), 0xbf802000);
    cr_assert_eq(tile_tf32_from_double(3.4025e38), 0x7f800000, "to infinity");
    cr_assert_eq(tile_tf32_from_double(1e300), 0x7f800000);
    cr_assert_eq(tile_tf32_from_double(NAN), 0x7fffffff);
    cr_assert_eq(tile_tf32_to_float(0x3f801fff), 1.0f, "the low bits are ignored");
}
