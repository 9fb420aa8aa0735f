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

#endif
