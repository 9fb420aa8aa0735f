/* Where the numbers of level 1 may lie: arithmetic on tile_interval. Threads: any. */
#ifndef TILE_RUNTIME_REFERENCE_RANGES_H
#define TILE_RUNTIME_REFERENCE_RANGES_H

#include <math.h>

#include "lib/ir/arith.h"
#include "lib/ops/error.h"
#include "tile/compute.h"

static inline tile_interval range_point(double number) {
    return (tile_interval){number, number};
}

static inline tile_interval range_anything(void) {
    return (tile_interval){NAN, INFINITY};
}

/* One number, or certainly NaN. */
static inline bool range_is_point(tile_interval r) {
    return r.low == r.high || (isnan(r.low) && isnan(r.high));
}

static inline bool range_is_anything(tile_interval r) {
    return isnan(r.low) && !isnan(r.high);
}

/* The larger distance from 0. */
static inline double range_size(tile_interval r) {
    return fmax(fabs(r.low), fabs(r.high));
}

/* What is in one of the two. */
tile_interval range_union(tile_interval a, tile_interval b);
/* All numbers of an integer type; anything of a float's. */
tile_interval range_of_type(tile_scalar scalar);

/* An element-wise operation. */
typedef struct range_op {
    tile_opcode opcode;
    unsigned operand_count;
    tile_scalar from, to;  /* the first operand's and the result's */
    tile_scalar precision; /* of the computation: `to`, or what is granted instead of f64 */
    tile_arith_flags arith_flags;
    tile_error error;
} range_op;

/* The result's range from those of the operands. value: the result of the numbers that level 1
 * has. */
tile_interval range_apply(const range_op *op, const tile_interval *x, double value);
/* The range with the error of a result of this type. src: the size of the first operand. */
tile_interval range_widen(const tile_error *error, tile_scalar to, tile_interval r, double src);
/* What is beyond the type's numbers may have become infinite. */
tile_interval range_overflow(tile_scalar to, tile_interval r);
/* What a number may have become in a type that it is rounded to. */
tile_interval range_round(tile_scalar to, tile_interval r);

#endif
