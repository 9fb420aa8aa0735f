/* Integer arithmetic that C has no operator for. */
#ifndef TILE_LIB_SUPPORT_INTEGER_H
#define TILE_LIB_SUPPORT_INTEGER_H

#include <stdint.h>

/* The greatest common divisor; 0 is a multiple of everything. */
static inline uint64_t tile_gcd(uint64_t a, uint64_t b) {
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* The smallest multiple of unit that is not below value, for values from 0. */
static inline int64_t tile_round_up(int64_t value, int64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* Of a power of two; of others it is rounded down, and 0 of 0. */
static inline unsigned tile_log2(uint32_t power) {
    unsigned bits = 0;
    while (power >> (bits + 1)) bits++;
    return bits;
}

/* The bucket of a size, by which kernels choose their points: the smallest of 1, 2, 3, 4, 6, 8, 12,
 * 16, .. (2^i and 3 x 2^i) that is not below it; what is not above 0 stays what it is. */
static inline int64_t tile_bucket(int64_t size) {
    int64_t power = 1;
    if (size <= 2) return size;
    while (power < size && power <= INT64_MAX / 4) power *= 2;
    if (power < size) return INT64_MAX;
    return size <= power / 4 * 3 ? power / 4 * 3 : power;
}

#endif
