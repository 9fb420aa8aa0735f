/* Accesses of tiles to memory with index tiles in the brackets, a predicate or a pad: operations
 * with TILE_TRAIT_GATHERS. For code that checks, lowers or executes them. A pass that does not
 * handle these must skip operations for which tile_is_plain_access returns false. */
#ifndef TILE_LIB_OPS_GATHER_H
#define TILE_LIB_OPS_GATHER_H

#include "lib/ir/function.h"

/* The parts of an access. The memory's dims are, in order: the dims that index tiles or scalars
 * address, point by point, and the dims along which the tile extends, from a scalar start.
 *
 *     load %x[%i, 3, %j, %c] : [rows, 64]     %i and %j tiles of [rows], %c a scalar
 *             points         covered          tiles 2, shape [rows], covered 1 */
typedef struct tile_gather {
    unsigned operand;        /* of the row: the memory */
    tile_value memory;       /* a view or a shared buffer */
    const tile_value *index; /* by dim of the memory, after its stage; NULL: a whole buffer */
    unsigned rank;           /* of the memory */
    unsigned tiles;          /* number of indices that are tiles */
    const tile_type *shape;  /* shape of the index tiles; NULL: none */
    unsigned shape_rank;     /* number of the tile's first dims, from index tiles; 0: none */
    unsigned covered;        /* number of last dims along which the tile extends */
    tile_value predicate;    /* a scalar, or a tile with the shape of the moved value; or none */
    const tile_type *type;   /* of the moved value: a tile, a shared buffer or a scalar */
} tile_gather;

/* Returns false if the row's brackets never hold index tiles. */
bool tile_gather_of(const tile_function *f, tile_op op, tile_gather *gather);

/* The predicate of op that is an operand of its own; or none. */
tile_value tile_op_predicate(const tile_function *f, tile_op op);

/* Returns whether op moves a whole tile from a start of scalars, with zeros for out-of-bounds
 * elements: no index tiles, no predicate, no pad, no scalar. True for operations that have no other
 * form. */
bool tile_is_plain_access(const tile_function *f, tile_op op);
/* The same, with any pad. */
bool tile_is_whole_access(const tile_function *f, tile_op op);

/* Returns whether a tile provably has the same value at all coordinates along its dim d; true for a
 * scalar. */
bool tile_is_repeated(const tile_function *f, tile_value tile, unsigned d);

/* The value of elements that op does not read. */
bool tile_op_pads(const tile_function *f, tile_op op); /* the value is not all zero bits */
/* Writes the value as an element of this type; an unknown number becomes 0. */
void tile_pad_write(const tile_function *f, tile_op op, tile_scalar scalar, void *at);

/* Checks that run after all attributes are set, unlike the row's rule. False after a diagnostic. */
bool tile_verify_gather(const tile_function *f, tile_op op);

#endif
