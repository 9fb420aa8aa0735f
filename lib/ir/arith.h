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
typedef struct tile_manner {
    bool nan;         /* NaN wins */
    bool is_unsigned; /* integers are read as unsigned */
    tile_rounding rounding;
} tile_manner;

tile_manner tile_op_manner(const tile_function *f, tile_op op);

/* As tile_fold_int; scalar, the integers' type, counts where bits do. */
bool tile_fold_element(tile_opcode opcode, tile_scalar scalar, tile_manner manner, int64_t a,
                       int64_t b, int64_t c, int64_t *result);
/* As tile_fold_float. */
bool tile_fold_real(tile_opcode opcode, tile_scalar scalar, tile_manner manner, double a, double b,
                    double c, double *result);

/* A whole number; NONE is EVEN. */
double tile_round_whole(tile_rounding rounding, double a);

#endif
