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

/* The bucket of a size, by which kernels choose their points: the largest size that takes as many
 * eighths of the power of two below (above 16; smaller ones are as they are) and is as good a
 * pitch: a multiple of 64, of 8, or of neither. What is not above 0 stays what it is. */
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
