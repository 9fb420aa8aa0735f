/* What accesses of tiles to memory say beside where a tile begins: index tiles in the brackets, a
 * predicate, a pad. Of operations with TILE_TRAIT_GATHERS, for whoever checks, lowers or runs them;
 * a pass that does not know of these leaves alone what tile_is_plain_access denies. */
#ifndef TILE_LIB_OPS_GATHER_H
#define TILE_LIB_OPS_GATHER_H

#include "lib/ir/function.h"

/* An access taken apart. The memory's dims are, from the first to the last: those that index tiles
 * or scalars give, point by point, and those along which the tile extends, from a scalar start on.
 *
 *     load %x[%i, 3, %j, %c] : [rows, 64]     %i and %j tiles of [rows], %c a scalar
 *             points         covered          tiles 2, shape [rows], covered 1 */
typedef struct tile_gather {
    unsigned operand;        /* of the row: the memory */
    tile_value memory;       /* a view or a shared buffer */
    const tile_value *index; /* by dim of the memory, behind its stage; NULL: a whole buffer */
    unsigned rank;           /* of the memory */
    unsigned tiles;          /* of the indices: how many are tiles */
    const tile_type *shape;  /* theirs; NULL: there is none */
    unsigned shape_rank;     /* the tile's first dims, which they give; 0: none */
    unsigned covered;        /* the memory's last dims, and the tile's: along these it extends */
    tile_value predicate;    /* a scalar or a tile of the shape of what is moved; or none */
    const tile_type *type;   /* of what is moved: a tile's, or a shared buffer's, or a scalar's */
} tile_gather;

/* False if the row's brackets never hold index tiles. */
bool tile_gather_of(const tile_function *f, tile_op op, tile_gather *gather);

/* The predicate that op has as an operand of its own; or none. */
tile_value tile_op_predicate(const tile_function *f, tile_op op);

/* Whether op moves a tile from where scalars say, all of it, with zeros for what lies outside: no
 * index tiles, no predicate, no pad, no scalar. True for operations that cannot do otherwise. */
bool tile_is_plain_access(const tile_function *f, tile_op op);

/* Whether a tile has surely one value along its dim d, whatever the other coordinates are; a scalar
 * has. */
bool tile_is_repeated(const tile_function *f, tile_value tile, unsigned d);

/* What op has in place of elements that it does not read. */
bool tile_op_pads(const tile_function *f, tile_op op); /* something else than zero bits */
/* Writes it as an element of this type; what is no number yet becomes 0. */
void tile_pad_write(const tile_function *f, tile_op op, tile_scalar scalar, void *at);

/* What rules cannot see, as attributes are set later. False after a diagnostic. */
bool tile_verify_gather(const tile_function *f, tile_op op);

#endif
