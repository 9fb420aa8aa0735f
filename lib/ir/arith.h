/* The meaning of element-wise operations with their attributes, for elements of one type.
 * Threads: any. */
#ifndef TILE_LIB_IR_ARITH_H
#define TILE_LIB_IR_ARITH_H

#include "lib/ir/function.h"

/* Which of two neighbours a number between them becomes; NONE: as the operation says. */
typedef enum tile_rounding {
    TILE_ROUNDING_NONE = 0,
    TILE_ROUNDING_EVEN,
    TILE_ROUNDING_ZERO,
    TILE_ROUNDING_UP,
    TILE_ROUNDING_DOWN,
} tile_rounding;

/* What an operation's attributes make of it. */
typedef struct tile_arith_flags {
    bool nan;         /* NaN wins */
    bool is_unsigned; /* integers are read as unsigned */
    bool saturates;   /* casts: clamped to what the result's type holds */
    tile_rounding rounding;
} tile_arith_flags;

tile_arith_flags tile_op_arith_flags(const tile_function *f, tile_op op);

/* As tile_fold_int; scalar, the integers' type, counts where bits do. */
bool tile_fold_element(tile_opcode opcode, tile_scalar scalar, tile_arith_flags arith_flags,
                       int64_t a, int64_t b, int64_t c, int64_t *result);
/* As tile_fold_float. */
bool tile_fold_real(tile_opcode opcode, tile_scalar scalar, tile_arith_flags arith_flags, double a,
                    double b, double c, double *result);

/* Where the results lie when each float operand lies in a range: the column of arith.def. */
typedef enum tile_ranges {
    TILE_RANGES_NONE = 0,
    TILE_RANGES_ENDS,
    TILE_RANGES_SIZE,
    TILE_RANGES_QUOTIENT,
    TILE_RANGES_WAVE,
    TILE_RANGES_EQUAL,
    TILE_RANGES_CHOICE,
} tile_ranges;
tile_ranges tile_opcode_ranges(tile_opcode opcode);

/* div, rem, mod or ceildiv. */
bool tile_opcode_divides(tile_opcode opcode);
/* One of these whose divisor is not an integer constant other than 0. */
bool tile_may_divide_by_zero(const tile_function *f, tile_op op);

/* A whole number; NONE is EVEN. */
double tile_round_whole(tile_rounding rounding, double a);

#endif
