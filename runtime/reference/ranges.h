/* The error bounds of level 1: interval arithmetic on tile_interval. Threads: any. */
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

/* One number, or always NaN. */
static inline bool range_is_point(tile_interval r) {
    return r.low == r.high || (isnan(r.low) && isnan(r.high));
}

static inline bool range_is_anything(tile_interval r) {
    return isnan(r.low) && !isnan(r.high);
}

/* The larger absolute value of its ends. */
static inline double range_size(tile_interval r) {
    return fmax(fabs(r.low), fabs(r.high));
}

/* The smallest range that contains both. */
tile_interval range_union(tile_interval a, tile_interval b);
/* All numbers of an integer type; for a float, anything. */
tile_interval range_of_type(tile_scalar scalar);

/* An elementwise operation. */
typedef struct range_op {
    tile_opcode opcode;
    unsigned operand_count;
    tile_scalar from, to;  /* of the first operand and of the result */
    tile_scalar precision; /* of the computation: `to`, or a type permitted instead of f64 */
    tile_arith_flags arith_flags;
    tile_error error;
} range_op;

/* The result's range from the operands' ranges. value: the result of level 1. */
tile_interval range_apply(const range_op *op, const tile_interval *x, double value);
/* The range plus the error of a result of this type. src: the absolute value of the first
 * operand. */
tile_interval range_widen(const tile_error *error, tile_scalar to, tile_interval r, double src);
/* Adds infinity if the range exceeds the type's largest number. */
tile_interval range_overflow(tile_scalar to, tile_interval r);
/* The range of a number after rounding to a type. */
tile_interval range_round(tile_scalar to, tile_interval r);

#endif
