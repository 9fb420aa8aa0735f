/* The operands of a product, and the check of its result.
 *
 * An operand repeats a pattern of random numbers whose length is a prime. It is therefore fast to
 * generate and write, no two rows or tiles are equal, and all processes get the same operands. */
#ifndef TILE_TOOLS_TILE_BENCH_MATMUL_OPERANDS_H
#define TILE_TOOLS_TILE_BENCH_MATMUL_OPERANDS_H

#include "tile/device.h"
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

/* Writes both operands. */
tile_status bench_fill_operands(const bench_product *product, bench_fill fill, tile_buffer *a,
                                tile_buffer *b);
/* Fills a result of this type with values that no correct result contains. */
tile_status bench_poison(tile_scalar scalar, tile_buffer *result);

/* Compares the result with the product of BENCH_WHOLE operands, for equality. The host computes the
 * reference in integers. */
tile_status bench_check_result(const bench_product *product, const tile_buffer *c,
                               bench_verdict *verdict);

#endif
