/* Random problems: the same seed and index give the same problem on every machine. */
#ifndef TILE_TOOLS_TILE_BENCH_RANDOM_DRAW_H
#define TILE_TOOLS_TILE_BENCH_RANDOM_DRAW_H

#include "tools/tile-bench/attention/heads.h"
#include "tools/tile-bench/matmul/product.h"
#include "tools/tile-bench/rows/rows.h"

enum { BENCH_MAX_CLASSES = 8, BENCH_LARGEST_RANDOM = 16384 };

typedef struct bench_draw {
    uint64_t seed;
    int64_t
        classes[BENCH_MAX_CLASSES]; /* problem i has extents that are multiples of class i % n */
    unsigned class_count;
    double min_bytes, max_bytes; /* of all arrays of a problem together */
    int64_t max_m;               /* of products; 0: BENCH_LARGEST_RANDOM */
} bench_draw;

/* Returns an integer from least to most, so that its logarithm is uniform. */
int64_t bench_draw_log(uint64_t *state, int64_t least, int64_t most);

/* Chooses one of `count` values for a problem. `what` is a number for what is chosen: choices of
 * different things are independent. */
unsigned bench_draw_one(const bench_draw *draw, unsigned index, unsigned what, unsigned count);
/* Draws m, n and k of a product whose type and layout are set. n and k, from 32 up, are multiples
 * of the class. m is from 1 up. In half of the problems, and if a is transposed, it is a multiple,
 * too. Problems with too many or too few bytes are drawn again. False if none fits. */
bool bench_draw_product(const bench_draw *draw, unsigned index, bench_product *product);
/* Draws lengths, heads and depth of attention whose type is set. Lengths are from 16 up and
 * multiples of the class; in a third of the problems there are more keys than queries. One, four or
 * eight heads share their keys; half of the problems are causal. */
bool bench_draw_attention(const bench_draw *draw, unsigned index, bench_attention *attention);
/* Draws rows and columns of an operation on rows whose op and type are set. n is a multiple of the
 * class, from 16 up; m is from 1 to 2^20. max_bytes is for x and a result of its shape, so that all
 * operations get the same shapes. */
bool bench_draw_rows(const bench_draw *draw, unsigned index, bench_rows *rows);

#endif
