/* Vector spaces over GF(2): the bits of a number are a vector. */
#ifndef TILE_LIB_LAYOUT_SPACE_H
#define TILE_LIB_LAYOUT_SPACE_H

#include <stdint.h>

#include "lib/support/integer.h"

/* A basis: at most one vector for each leading bit. source says which inputs sum up to it. */
typedef struct vector_space {
    uint32_t vector[32];
    uint32_t source[32];
    unsigned count;
} vector_space;

/* Reduces value by the span and returns the remainder; *source accumulates the inputs used. It is
 * linear. */
static inline uint32_t space_reduce(const vector_space *span, uint32_t value, uint32_t *source) {
    for (uint32_t rest = value; rest;) { /* the bits that have not been visited */
        unsigned bit = tile_log2(rest);
        if (span->vector[bit]) {
            value ^= span->vector[bit];
            *source ^= span->source[bit];
        }
        rest = value & ((UINT32_C(1) << bit) - 1);
    }
    return value;
}

static inline void space_add(vector_space *span, uint32_t value, uint32_t source) {
    value = space_reduce(span, value, &source);
    if (!value) return;
    span->vector[tile_log2(value)] = value;
    span->source[tile_log2(value)] = source;
    span->count++;
}

#endif
