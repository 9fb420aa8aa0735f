/* Integer arithmetic for which C has no operator. */
#ifndef TILE_LIB_SUPPORT_INTEGER_H
#define TILE_LIB_SUPPORT_INTEGER_H

#include <stdint.h>

/* The greatest common divisor; gcd(0, a) is a. */
static inline uint64_t tile_gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The smallest multiple of unit that is at least value, for value >= 0. */
static inline int64_t tile_round_up(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* log2 of a power of two; other values are rounded down, and 0 returns 0. */
static inline unsigned tile_log2(uint32_t power) {
    return power ? 31u - (unsigned)__builtin_clz(power) : 0;
}

/* The bucket of a size, by which kernels choose their tuned points. Sizes up to 16 are their own
 * bucket. Above, it is the largest size that needs the same number of eighths of the power of two
 * below and has the same alignment as a pitch: a multiple of 64, of 8, or of neither. Sizes <= 0
 * are returned unchanged. */
static inline int64_t tile_bucket(int64_t size) {
    int64_t eighth = 1;
    if (size > INT64_MAX / 2) return INT64_MAX;
    while (size > 16 * eighth) eighth *= 2;
    if (eighth == 1) return size;
    int64_t largest = tile_round_up(size, eighth);
    if (size % 64 == 0) return largest / 64 * 64;
    if (size % 8 == 0) return largest % 64 == 0 ? largest - 8 : largest / 8 * 8;
    return largest % 8 == 0 ? largest - 1 : largest;
}

#endif
