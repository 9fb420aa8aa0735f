/* Which elements of its operands an element of a result depends on: the column `dims` of ops.def.
 * Threads: any. */
#ifndef TILE_LIB_OPS_DIMS_H
#define TILE_LIB_OPS_DIMS_H

#include "lib/ir/function.h"

/* The words of the column. */
typedef enum tile_dims {
    TILE_DIMS_none = 0,
    TILE_DIMS_same,
    TILE_DIMS_each,
    TILE_DIMS_stretched,
    TILE_DIMS_permuted,
    TILE_DIMS_flat,
    TILE_DIMS_joined,
    TILE_DIMS_parted,
    TILE_DIMS_sliced,
    TILE_DIMS_beside,
    TILE_DIMS_taken,
    TILE_DIMS_windowed,
    TILE_DIMS_folded,
    TILE_DIMS_along,
    TILE_DIMS_product,
    TILE_DIMS_all,
    TILE_DIMS_counted
} tile_dims;

extern const uint8_t tile_dims_table[TILE_OPCODE_LIMIT];

static inline tile_dims tile_op_dims(tile_opcode opcode) {
    return (tile_dims)tile_dims_table[opcode];
}

/* Along one dim of an operand, the elements on which an element of the result depends. */
typedef enum tile_dim_kind {
    TILE_DIM_ALL,  /* anywhere */
    TILE_DIM_ONE,  /* the only one, which is repeated */
    TILE_DIM_OF,   /* at the coordinate along dim `of` of the result, + shift */
    TILE_DIM_AT,   /* at the coordinate `shift` */
    TILE_DIM_FLAT, /* in all FLAT dims together, at the result's row-major index */
} tile_dim_kind;

typedef struct tile_dim {
    tile_dim_kind kind;
    unsigned of;
    int64_t shift; /* if the extents and numbers that determine it are known */
} tile_dim;

/* Fills map for an operand that is a tile or a tensor, and returns its rank; 0: it is neither. */
unsigned tile_dim_map(const tile_function *f, tile_op op, unsigned result, unsigned operand,
                      tile_dim map[TILE_MAX_RANK]);

enum { TILE_NO_DIM = TILE_MAX_RANK };

/* The operand's dim that corresponds to dim d of the first result. */
unsigned tile_dim_in_operand(const tile_function *f, tile_op op, unsigned operand, unsigned d);

/* Returns whether the operation only moves elements of operands to results, and computes nothing.
 */
bool tile_opcode_moves(tile_opcode opcode);
/* The number of leading operands whose elements the operation moves; 0: it computes. */
unsigned tile_moved_operands(const tile_function *f, tile_op op);
/* Returns whether the operation processes the operand's elements; other operands are parameters. */
bool tile_operand_carries_elements(tile_opcode opcode, unsigned operand);

#endif
