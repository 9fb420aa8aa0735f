/* Converts many floats at once to and from the types in memory. */
#include "tools/tile-bench/common/floats.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Below 2^-14, adding 0.5 makes the hardware round at f16's last subnormal bit. Otherwise the
 * exponent is rebiased by 112 and the discarded bits are rounded to nearest, ties to even. */
static uint16_t half_of(float x) {
    uint32_t bits = bits_of(x), sign = bits & 0x80000000u, size = bits ^ sign;
    uint32_t small = bits_of(float_of(size) + 0.5f) - 0x3f000000u;
    uint32_t normal = (size - (112u << 23) + 0xfffu + (size >> 13 & 1)) >> 13;
    uint32_t is_small = (uint32_t)0 - (size < 113u << 23);
    return (uint16_t)(sign >> 16 | (small & is_small) | (normal & ~is_small));
}

static uint16_t bfloat_of(float x) {
    uint32_t bits = bits_of(x);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* Multiplying by 2^112 corrects the exponent's bias, for subnormals as well. */
static float float_of_half(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, size = (uint32_t)(half & 0x7fff) << 13;
    return float_of(sign | bits_of(float_of(size) * 0x1p112f));
}

void bench_store_floats(tile_scalar scalar, const float *from, size_t count, void *to) {
    uint16_t *words = to;
    const size_t width = tile_scalar_bytes(scalar);
    if (scalar == TILE_f16)
        for (size_t i = 0; i < count; i++) words[i] = half_of(from[i]);
    else if (scalar == TILE_bf16)
        for (size_t i = 0; i < count; i++) words[i] = bfloat_of(from[i]);
    else
        for (size_t i = 0; i < count; i++)
            tile_scalar_write(scalar, (char *)to + i * width, from[i]);
}

void bench_load_floats(tile_scalar scalar, const void *from, size_t count, float *to) {
    const uint16_t *words = from;
    const size_t width = tile_scalar_bytes(scalar);
    if (scalar == TILE_f16)
        for (size_t i = 0; i < count; i++) to[i] = float_of_half(words[i]);
    else if (scalar == TILE_bf16)
        for (size_t i = 0; i < count; i++) to[i] = float_of((uint32_t)words[i] << 16);
    else
        for (size_t i = 0; i < count; i++)
            to[i] = (float)tile_scalar_read(scalar, (const char *)from + i * width);
}

/* Finds the first 16-bit float whose exponent bits are all ones, which means infinity or NaN. */
static size_t find_word(uint16_t infinity, const uint16_t *words, size_t count) {
    enum { PIECE = 4096 };
    for (size_t at = 0; at < count; at += PIECE) {
        size_t end = count - at < PIECE ? count : at + PIECE, found = 0;
        for (size_t i = at; i < end; i++) found += (words[i] & infinity) == infinity;
        for (size_t i = at; found && i < end; i++)
            if ((words[i] & infinity) == infinity) return i;
    }
    return count;
}

size_t bench_find_nonfinite(tile_scalar scalar, const void *from, size_t count) {
    const size_t width = tile_scalar_bytes(scalar);
    uint16_t infinity = 0;
    if (scalar == TILE_f16 || scalar == TILE_bf16) {
        tile_scalar_write(scalar, &infinity, INFINITY);
        return find_word(infinity, from, count);
    }
    for (size_t i = 0; i < count; i++)
        if (!isfinite(tile_scalar_read(scalar, (const char *)from + i * width))) return i;
    return count;
}
