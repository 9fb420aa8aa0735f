/* The meaning of element-wise operations with their attributes, for elements of one type.
 * Threads: any. */
#ifndef TILE_LIB_IR_ARITH_H
#define TILE_LIB_IR_ARITH_H

#include "lib/ir/function.h"

/* How a number between two adjacent representable ones is rounded; NONE: the operation's default.
 */
typedef enum tile_rounding {
    TILE_ROUNDING_NONE = 0,
    TILE_ROUNDING_EVEN,
    TILE_ROUNDING_ZERO,
    TILE_ROUNDING_UP,
    TILE_ROUNDING_DOWN,
} tile_rounding;

/* The effect of an operation's attributes on its arithmetic. */
typedef struct tile_arith_flags {
    bool nan;         /* the result is NaN if an operand is */
    bool is_unsigned; /* the attribute `unsigned`: integers are read as unsigned */
    bool saturates;   /* casts: clamped to the range of the result's type */
    tile_rounding rounding;
} tile_arith_flags;

tile_arith_flags tile_op_arith_flags(const tile_function *f, tile_op op);

/* The function that tile_fold_int calls; NULL: the operation has no such evaluation. */
typedef bool (*tile_int_meaning)(int64_t a, int64_t b, int64_t c, int64_t *result);
tile_int_meaning tile_int_meaning_of(tile_opcode opcode);

/* Like tile_fold_int. scalar, the integers' type, matters if it is unsigned, or if the result
 * depends on its width. */
bool tile_fold_element(tile_opcode opcode, tile_scalar scalar, tile_arith_flags arith_flags,
                       int64_t a, int64_t b, int64_t c, int64_t *result);
/* Like tile_fold_float. */
bool tile_fold_real(tile_opcode opcode, tile_scalar scalar, tile_arith_flags arith_flags, double a,
                    double b, double c, double *result);

/* The range of the results if each float operand is in a range: the column of arith.def. */
typedef enum tile_ranges {
    TILE_RANGES_NONE = 0,
    TILE_RANGES_ENDS,
    TILE_RANGES_SIZE,
    TILE_RANGES_QUOTIENT,
    TILE_RANGES_WAVE,
    TILE_RANGES_POWER,
    TILE_RANGES_ANGLE,
    TILE_RANGES_REMAINDER,
    TILE_RANGES_EQUAL,
    TILE_RANGES_CHOICE,
} tile_ranges;
tile_ranges tile_opcode_ranges(tile_opcode opcode);

/* div, rem, mod or ceildiv. */
bool tile_opcode_divides(tile_opcode opcode);
/* shl, shr or ushr. */
bool tile_opcode_shifts(tile_opcode opcode);
/* Returns whether an element has a defined value: integers are not divided by 0, and are shifted by
 * 0 to width - 1. scalar: the type of the first operand. */
bool tile_element_is_defined(tile_opcode opcode, tile_scalar scalar, int64_t rhs);
/* Returns whether op divides and its divisor is not a nonzero integer constant. */
bool tile_may_divide_by_zero(const tile_function *f, tile_op op);

/* Rounds to an integer; NONE is EVEN. */
double tile_round_whole(tile_rounding rounding, double a);

#endif
