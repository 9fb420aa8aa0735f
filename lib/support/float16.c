/* Conversions between the element types that C lacks and float or double. */
#include "lib/support/float16.h"

#include <math.h>

/* A binary float of at most 16 bits with subnormals. */
typedef struct small_format {
    int mantissa; /* bits */
    int bias;
    unsigned largest;  /* the largest finite code, without sign */
    unsigned overflow; /* what larger numbers become */
    unsigned nan;
    unsigned sign;
} small_format;

static const small_format f16_format = {10, 15, 0x7bff, 0x7c00, 0x7e00, 0x8000};
static const small_format bf16_format = {7, 127, 0x7f7f, 0x7f80, 0x7fc0, 0x8000};
static const small_format e4m3_format = {3, 7, 0x7e, 0x7e, 0x7f, 0x80};
static const small_format e5m2_format = {2, 15, 0x7b, 0x7b, 0x7e, 0x80};

/* Counts the value in units of its last place; rint rounds ties to even. A carry out of the
 * mantissa runs into the exponent, which is what it should do; so do subnormals, whose field is
 * zero. */
static unsigned encode(const small_format *format, double value) {
    unsigned sign = signbit(value) ? format->sign : 0;
    double magnitude = fabs(value);
    int exponent;
    if (isnan(value)) return sign | format->nan;
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

uint16_t tile_bf16_from_float(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    if ((word & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((word >> 16 & 0x8000u) | 0x7fc0u);
    word += 0x7fffu + (word >> 16 & 1);
    return (uint16_t)(word >> 16);
}

uint16_t tile_f16_from_float(float value) {
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    uint32_t sign = word >> 16 & 0x8000u;
    word &= 0x7fffffffu;
    if (word >= 0x47800000u) return (uint16_t)(sign | (word > 0x7f800000u ? 0x7e00u : 0x7c00u));
    if (word < 0x38800000u) { /* 0.5f has the last place of the subnormals: the sum rounds to it */
        float sum = fabsf(value) + 0.5f;
        memcpy(&word, &sum, sizeof word);
        return (uint16_t)(sign | (word - 0x3f000000u));
    }
    word += 0xfffu + (word >> 13 & 1);
    return (uint16_t)(sign | (word - 0x38000000u) >> 13);
}

/* Any element type ---------------------------------------------------------------------------- */

#define READ(type, address) \
    do { \
        type element; \
        memcpy(&element, address, sizeof element); \
        return element; \
    } while (0)

#define WRITE(type, address, value) \
    do { \
        type element = (type)(value); \
        memcpy(address, &element, sizeof element); \
    } while (0)

static uint16_t read_u16(const void *address) {
    READ(uint16_t, address);
}

int64_t tile_integer_read(tile_scalar scalar, const void *address) {
    switch (scalar) {
    case TILE_i1: return *(const uint8_t *)address != 0;
    case TILE_i8: READ(int8_t, address);
    case TILE_i16: READ(int16_t, address);
    case TILE_i32: READ(int32_t, address);
    case TILE_i64: READ(int64_t, address);
    default: return 0;
    }
}

void tile_integer_write(tile_scalar scalar, void *address, int64_t value) {
    switch (scalar) {
    case TILE_i1: WRITE(uint8_t, address, value & 1); break;
    case TILE_i8: WRITE(uint8_t, address, value); break;
    case TILE_i16: WRITE(uint16_t, address, value); break;
    case TILE_i32: WRITE(uint32_t, address, value); break;
    case TILE_i64: WRITE(int64_t, address, value); break;
    default: break;
    }
}

double tile_scalar_read(tile_scalar scalar, const void *address) {
    switch (scalar) {
    case TILE_f16: return tile_f16_to_float(read_u16(address));
    case TILE_bf16: return tile_bf16_to_float(read_u16(address));
    case TILE_f32:
    case TILE_tf32: READ(float, address);
    case TILE_f64: READ(double, address);
    case TILE_e4m3: return tile_e4m3_to_float(*(const uint8_t *)address);
    case TILE_e5m2: return tile_e5m2_to_float(*(const uint8_t *)address);
    default: return (double)tile_integer_read(scalar, address);
    }
}

bool tile_integer_fits(tile_scalar scalar, int64_t value) {
    unsigned bits = tile_scalar_bits(scalar);
    if (!scalar || bits >= 64 || tile_scalar_is_floating(scalar)) return true;
    int64_t limit = (int64_t)1 << (bits - 1);
    return bits == 1 ? value == 0 || value == 1 : value >= -limit && value < limit;
}

int64_t tile_integer_from_double(double value, int64_t low, int64_t high) {
    if (isnan(value)) return 0;
    if (value <= (double)low) return low;
    return value >= (double)high ? high : (int64_t)value;
}

static void write_integer(tile_scalar scalar, void *address, double value) {
    int64_t high = (int64_t)((UINT64_C(1) << (tile_scalar_bits(scalar) - 1)) - 1);
    if (scalar == TILE_i1)
        tile_integer_write(scalar, address, !(value == 0));
    else
        tile_integer_write(scalar, address, tile_integer_from_double(value, -high - 1, high));
}

void tile_scalar_write(tile_scalar scalar, void *address, double value) {
    switch (scalar) {
    case TILE_f16: WRITE(uint16_t, address, tile_f16_from_double(value)); break;
    case TILE_bf16: WRITE(uint16_t, address, tile_bf16_from_double(value)); break;
    case TILE_f32:
    case TILE_tf32: WRITE(float, address, value); break;
    case TILE_f64: WRITE(double, address, value); break;
    case TILE_e4m3: WRITE(uint8_t, address, tile_e4m3_from_double(value)); break;
    case TILE_e5m2: WRITE(uint8_t, address, tile_e5m2_from_double(value)); break;
    default: write_integer(scalar, address, value); break;
    }
}
