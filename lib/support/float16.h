/* Floats that C does not have, as bits. Conversions round to nearest, ties to even (tf32: ties away
 * from zero, like cvt.rna). Overflow becomes infinity, or the largest finite number in the 8-bit
 * types (like cvt.rn.satfinite). A NaN stays a NaN; in tf32 and the 8-bit types all of its bits
 * except the sign are set, like cvt does. */
#ifndef TILE_LIB_SUPPORT_FLOAT16_H
#define TILE_LIB_SUPPORT_FLOAT16_H

#include <stdint.h>
#include <string.h>

float tile_bf16_to_float(uint16_t bits);
float tile_e4m3_to_float(uint8_t bits);
float tile_e5m2_to_float(uint8_t bits);
/* A tf32 is in the upper 19 bits of a word; the other bits are ignored when read and written as
 * zeros. */
float tile_tf32_to_float(uint32_t bits);

uint16_t tile_f16_from_float(float value);
/* These take a double, so that a result of wider arithmetic is rounded only once. */
uint16_t tile_f16_from_double(double value);
uint16_t tile_bf16_from_double(double value);
uint8_t tile_e4m3_from_double(double value);
uint8_t tile_e5m2_from_double(double value);
uint32_t tile_tf32_from_double(double value);

/* Inline because it is in the inner loop of f16 products. */
static inline float tile_f16_to_float(uint16_t bits) {
    const uint32_t exponent_mask = 0x7c00u << 13;
    uint32_t magnitude = (bits & 0x7fffu) << 13;
    uint32_t exponent = magnitude & exponent_mask;
    uint32_t word = magnitude + ((127u - 15u) << 23);
    float value;
    if (exponent == exponent_mask) word += (128u - 16u) << 23;
    if (exponent == 0) { /* subnormal: add an implicit one, then subtract it */
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
