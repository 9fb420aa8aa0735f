/* How `precision` multiplies f32: each element is a sum of parts, and the product is a sum of
 * products of parts. Threads: any. */
#ifndef TILE_LIB_OPS_PRECISION_H
#define TILE_LIB_OPS_PRECISION_H

#include "lib/ir/effects.h"

enum { TILE_MAX_PARTS = 3, TILE_MAX_PART_PRODUCTS = 6 };

/* The product of a part of lhs and a part of rhs. Part 0 is the largest one. */
typedef struct tile_part_product {
    uint8_t lhs, rhs;
} tile_part_product;

/* A word of `precision`; NONE: ieee. Small products come first. */
typedef struct tile_precision {
    unsigned part_count, product_count;
    tile_part_product products[TILE_MAX_PART_PRODUCTS];
} tile_precision;

const tile_precision *tile_precision_of(tile_word precision);

/* Splits an f32. Where the first part is not finite, the others are 0. */
void tile_split_parts(tile_word precision, double value, double parts[TILE_MAX_PARTS]);

#endif
