/* Numbers in memory: the element types that C does not have, and reading and writing any of them.
 * All conversions round to nearest, ties to even; what is too large becomes an infinity, or the
 * largest finite number in the 8-bit types (as cvt.rn.satfinite does). */
#ifndef TILE_LIB_SUPPORT_FLOAT16_H
#define TILE_LIB_SUPPORT_FLOAT16_H

#include <string.h>

#include "tile/ir.h"

float tile_bf16_to_float(uint16_t bits);
float tile_e4m3_to_float(uint8_t bits);
float tile_e5m2_to_float(uint8_t bits);

uint16_t tile_f16_from_float(float value);
uint16_t tile_bf16_from_float(float value);
/* These take a double, so that a result of wider arithmetic is rounded once. */
uint16_t tile_f16_from_double(double value);
uint16_t tile_bf16_from_double(double value);
uint8_t tile_e4m3_from_double(double value);
uint8_t tile_e5m2_from_double(double value);

/* tile_scalar_read and tile_scalar_write (tile/ir.h) serve all types through a double. These serve
 * integer types exactly, wrapping to their width; i1 is 0 or 1. */
int64_t tile_integer_read(tile_scalar scalar, const void *address);
void tile_integer_write(tile_scalar scalar, void *address, int64_t value);
/* Whether the type has this integer: always, for floats, i64 and a type that is not known yet. */
bool tile_integer_fits(tile_scalar scalar, int64_t value);
/* A double as an i64: towards zero, clamped to [low, high], NaN to 0. */
int64_t tile_integer_from_double(double value, int64_t low, int64_t high);

/* Inline, for it is the inner step of every f16 product. */
static inline float tile_f16_to_float(uint16_t bits) {
    const uint32_t exponent_mask = 0x7c00u << 13;
    uint32_t magnitude = (bits & 0x7fffu) << 13;
    uint32_t exponent = magnitude & exponent_mask;
    uint32_t word = magnitude + ((127u - 15u) << 23);
    float value;
    if (exponent == exponent_mask) word += (128u - 16u) << 23;
    if (exponent == 0) { /* subnormal: put a one before it, then take it away */
        const uint32_t one = 113u << 23;
        float base;
        word += 1u << 23;
        memcpy(&value, &word, sizeof value);
        memcpy(&base, &one, sizeof base);
        value -= base;
        memcpy(&word, &value, sizeof word);
    }
    word |= (bits & 0x8000u) << 16;
    memcpy(&value, &word, sizeof value);
    return value;
}

#endif
