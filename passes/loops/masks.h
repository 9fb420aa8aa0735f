/* Masks of a loop: comparisons of i32 tiles whose sides are sums of scalars and iotas, and from
 * where to where they hold for all elements, or for none.
 *
 * The smaller side grows with the loop's variable. The larger one does not change; it may be a
 * minimum, a maximum or a choice of sums. */
#ifndef TILE_PASSES_LOOPS_MASKS_H
#define TILE_PASSES_LOOPS_MASKS_H

#include "passes/pass.h"

enum {
    MASK_TERMS = 12, /* scalars of a sum, at most */
    MASK_DEPTH = 8,  /* of expressions that are looked into */
};

typedef struct mask_loop {
    tile_function *f;
    tile_region body;
} mask_loop;

/* A sum of scalars and of what an iota gives, from least to most, and the loop's variable. */
typedef struct mask_sum {
    tile_value terms[MASK_TERMS];
    int signs[MASK_TERMS];
    unsigned count;
    int64_t variable, least, most;
} mask_sum;

/* low < high holds for all elements as long as low's variable is below a bound, and for none from
 * another one on. */
typedef struct mask {
    tile_value value, high;
    mask_sum low;
    int64_t margin; /* 1: or equal */
} mask;

/* Whether the operation is such a comparison. variable: how often the smaller side has the loop's;
 * 0: before the loop. */
bool mask_find(const mask_loop *loop, tile_op op, int64_t variable, mask *m);

/* The same for the opposite of the comparison: the larger side grows with the loop's variable, and
 * where m holds for no element the comparison holds for all of them. */
bool mask_find_opposite(const mask_loop *loop, tile_op op, mask *m);

/* The i64 below which the mask holds for all elements, of a variable from `begin` on; and from
 * which on it holds for none, of one below `end`. Where an element of either side would wrap around
 * in 32 bits the first one is below every variable and the second one above. */
tile_value mask_build_all(const mask_loop *loop, tile_builder *b, tile_value begin, const mask *m);
tile_value mask_build_none(const mask_loop *loop, tile_builder *b, tile_value begin, tile_value end,
                           const mask *m);

/* An i64 constant, and a value as one. */
tile_value mask_int64(tile_function *f, int64_t value);
tile_value mask_widen(tile_function *f, tile_builder *b, tile_value value);

#endif
