/* The operands of a product, and the check of its result.
 *
 * An operand repeats a pattern of random numbers whose length is a prime. It is therefore fast to
 * generate and write, no two rows or tiles are equal, and all processes get the same operands. */
#ifndef TILE_TOOLS_TILE_BENCH_MATMUL_OPERANDS_H
#define TILE_TOOLS_TILE_BENCH_MATMUL_OPERANDS_H

#include "tools/tile-bench/common/lab.h"
#include "tools/tile-bench/matmul/product.h"

typedef struct bench_verdict {
    bool by_elements; /* every element was compared; else Freivalds' test */
    char wrong[160];  /* empty: everything is right */
} bench_verdict;

typedef enum bench_fill {
    BENCH_WHOLE,  /* -1, 0 and 1, so sparse that every sum is exact in the result's type */
    BENCH_RANDOM, /* uniform: integers of all bits, floats in (-0.5, 0.5). The values matter for the
                     time, because they affect the power consumption */
} bench_fill;

/* What the operands of products repeat. It is kept from product to product, because making it takes
 * longer than most products. Zero-initialize. */
typedef struct bench_operands {
    char *random[TILE_SCALAR_COUNT][2]; /* BENCH_RANDOM: bytes of a and b; NULL: not made so far */
    double density;                     /* of the patterns: the share of numbers that are not 0 */
    int8_t *whole[2];                   /* BENCH_WHOLE: -1, 0 and 1; NULL: not made so far */
} bench_operands;

void bench_operands_free(bench_operands *operands);

/* Writes both operands. */
tile_status bench_fill_operands(bench_operands *operands, const bench_product *product,
                                bench_fill fill, bench_lab *lab, const bench_memory *a,
                                const bench_memory *b);
/* Returns a byte with which results of this type are filled so that they have values that no
 * correct result contains: floats are then NaN, and integers far from 0. */
unsigned char bench_poison(tile_scalar scalar);

/* Compares the elements of a result with the product of BENCH_WHOLE operands, for equality. The
 * host computes the reference in integers, on all cores. */
bench_verdict bench_check_result(bench_operands *operands, const bench_product *product,
                                 const char *c);

#endif
