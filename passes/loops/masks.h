/* Masks of a loop: comparisons of i32 tiles whose sides are sums of scalars and iotas. Bounds are
 * built for the range of the loop's variable in which a mask holds for all elements, or for none.
 *
 * The smaller side grows with the loop's variable. The larger one is loop-invariant: a sum, or a
 * minimum, maximum or select of sums. */
#ifndef TILE_PASSES_LOOPS_MASKS_H
#define TILE_PASSES_LOOPS_MASKS_H

#include "passes/pass.h"

enum {
    MASK_TERMS = 12, /* most scalars in a sum */
    MASK_DEPTH = 8,  /* most levels of an expression */
};

typedef struct mask_loop {
    tile_function *f;
    tile_region body;
} mask_loop;

/* A sum of scalars, of an iota with values in [least, most], and of variable times the loop's
 * variable. */
typedef struct mask_sum {
    tile_value terms[MASK_TERMS];
    int signs[MASK_TERMS];
    unsigned count;
    int64_t variable, least, most;
} mask_sum;

/* low < high holds for all elements while low's variable is below one bound, and for none from
 * another bound on. */
typedef struct mask {
    tile_value value, high;
    mask_sum low;
    int64_t margin; /* 1: <= instead of < */
} mask;

/* Whether the operation is such a comparison. variable: coefficient of the loop's variable in the
 * smaller side; 0: before the loop. */
bool mask_find(const mask_loop *loop, tile_op op, int64_t variable, mask *m);

/* The same for the opposite of the comparison: the larger side grows with the loop's variable.
 * Where m holds for no element, the comparison holds for all of them. */
bool mask_find_opposite(const mask_loop *loop, tile_op op, mask *m);

/* mask_build_all: the i64 below which the mask holds for all elements, for variables from `begin`
 * on. mask_build_none: the i64 from which on it holds for none, for variables below `end`. If an
 * element of either side would wrap around in 32 bits, the first is below every variable and the
 * second above. */
tile_value mask_build_all(const mask_loop *loop, tile_builder *b, tile_value begin, const mask *m);
tile_value mask_build_none(const mask_loop *loop, tile_builder *b, tile_value begin, tile_value end,
                           const mask *m);

/* Builds an i64 constant; casts a value to i64. */
tile_value mask_int64(tile_function *f, int64_t value);
tile_value mask_widen(tile_function *f, tile_builder *b, tile_value value);

#endif
