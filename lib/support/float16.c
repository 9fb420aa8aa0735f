/* Conversions between the element types that C lacks and float or double. */
#include "lib/support/float16.h"

#include <math.h>

/* A binary float of at most 16 bits with subnormals. */
typedef struct small_format {
    int mantissa; /* number of bits */
    int bias;
    unsigned largest;  /* the largest finite code, without sign */
    unsigned overflow; /* the result of overflow */
    unsigned nan;
    unsigned sign;
} small_format;

static const small_format f16_format = {10, 15, 0x7bff, 0x7c00, 0x7e00, 0x8000};
static const small_format bf16_format = {7, 127, 0x7f7f, 0x7f80, 0x7fc0, 0x8000};
static const small_format e4m3_format = {3, 7, 0x7e, 0x7e, 0x7f, 0x80};
static const small_format e5m2_format = {2, 15, 0x7b, 0x7b, 0x7f, 0x80};

/* Counts the value in units of its last place; rint rounds ties to even. A carry out of the
 * mantissa correctly increments the exponent, also from subnormals, whose exponent field is zero.
 */
static unsigned encode(const small_format *format, double value) {
    unsigned sign = signbit(value) ? format->sign : 0;
    double magnitude = fabs(value);
    int exponent;
    if (isnan(value)) return format->sign == 0x80 ? format->nan : sign | format->nan;
    if (isinf(value)) return sign | format->overflow;
    frexp(magnitude, &exponent);
    exponent = magnitude == 0 || exponent - 1 < 1 - format->bias ? 1 - format->bias : exponent - 1;
    if (exponent > 1 << 8) return sign | format->overflow;
    double units = rint(ldexp(magnitude, format->mantissa - exponent));
    unsigned field = (unsigned)(exponent + format->bias - 1);
    unsigned code = (field << format->mantissa) + (unsigned)units;
    return sign | (code > format->largest ? format->overflow : code);
}

static float decode(const small_format *format, unsigned bits) {
    unsigned magnitude = bits & (format->sign - 1);
    unsigned mantissa = magnitude & ((1u << format->mantissa) - 1);
    int field = (int)(magnitude >> format->mantissa);
    float value;
    if (magnitude > format->largest)
        value = magnitude == format->overflow || (format == &e5m2_format && magnitude == 0x7c)
                    ? INFINITY
                    : NAN;
    else if (field == 0)
        value = ldexpf((float)mantissa, 1 - format->bias - format->mantissa);
    else
        value = ldexpf((float)(mantissa + (1u << format->mantissa)),
                       field - format->bias - format->mantissa);
    return bits & format->sign ? -value : value;
}

float tile_e4m3_to_float(uint8_t bits) {
    return decode(&e4m3_format, bits);
}

float tile_e5m2_to_float(uint8_t bits) {
    return decode(&e5m2_format, bits);
}

uint16_t tile_f16_from_double(double value) {
    return (uint16_t)encode(&f16_format, value);
}

uint16_t tile_bf16_from_double(double value) {
    return (uint16_t)encode(&bf16_format, value);
}

uint8_t tile_e4m3_from_double(double value) {
    return (uint8_t)encode(&e4m3_format, value);
}

uint8_t tile_e5m2_from_double(double value) {
    return (uint8_t)encode(&e5m2_format, value);
}

float tile_bf16_to_float(uint16_t bits) {
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

uint16_t tile_f16_from_float(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    uint32_t sign = word >> 16 & 0x8000u;
    word &= 0x7fffffffu;
    if (word >= 0x47800000u) return (uint16_t)(sign | (word > 0x7f800000u ? 0x7e00u : 0x7c00u));
    if (word < 0x38800000u) { /* 0.5f has the subnormals' last place: + rounds to it */
        float sum = fabsf(value) + 0.5f;
        memcpy(&word, &sum, sizeof word);
        return (uint16_t)(sign | (word - 0x3f000000u));
    }
    word += 0xfffu + (word >> 13 & 1);
    return (uint16_t)(sign | (word - 0x38000000u) >> 13);
}

float tile_tf32_to_float(uint32_t bits) {
    float value;
    bits &= ~UINT32_C(0x1fff);
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Rounds to odd in between, so that the second rounding knows on which side of a midpoint the
 * number is: truncates, and sets the last bit if that was inexact (S. Boldo and G. Melquiond,
 * "Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd"). */
static uint32_t round_to_odd(double value) {
    float nearest = (float)value;
    uint32_t bits;
    memcpy(&bits, &nearest, sizeof bits);
    if ((double)nearest == value) return bits;
    if (fabs((double)nearest) > fabs(value)) bits--;
    return bits | 1;
}

uint32_t tile_tf32_from_double(double value) {
    if (isnan(value)) return 0x7fffffff;
    return (round_to_odd(value) + 0x1000) & ~UINT32_C(0x1fff);
}
