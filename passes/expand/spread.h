/* Values of a region that runs for each element of a space, for all elements at once: tiles over
 * the dims of the space on which they depend. */
#ifndef TILE_PASSES_EXPAND_SPREAD_H
#define TILE_PASSES_EXPAND_SPREAD_H

#include "passes/pass.h"

/* A set of the space's dims; a tile's also has SPREAD_TILE, so that 0 is a scalar, which all
 * elements share. */
#define SPREAD_TILE (UINT32_C(1) << 31)

/* A tile has as many dims as the space, those that are not in `dims` with an extent of 1. */
typedef struct spread {
    tile_value value;
    uint32_t dims;
} spread;

typedef struct spread_space {
    tile_builder b;
    tile_context *context;
    unsigned rank;
    int64_t extent[TILE_MAX_RANK];
    uint32_t full; /* dims of more than one element, and SPREAD_TILE */
} spread_space;

enum { SPREAD_NO_DIM = -1, SPREAD_MAX_PLACES = 2 * TILE_MAX_RANK };

/* Some tile's dims, by the space's dim that each is; SPREAD_NO_DIM: one of extent 1. */
typedef struct spread_order {
    unsigned rank;
    int dim[SPREAD_MAX_PLACES];
} spread_order;

/* The type of a tile over these dims, of the elements of `like`. */
const tile_type *spread_type(const spread_space *x, const tile_type *like, uint32_t dims);
/* A tile of these extents, of the elements of `like`. */
const tile_type *spread_extents(const spread_space *x, const tile_type *like,
                                const int64_t *extents, unsigned rank);
/* The same elements with other extents; nothing where they are those. */
tile_value spread_reshape(spread_space *x, tile_value tile, const int64_t *extents, unsigned rank);
/* The value over more dims. */
tile_value spread_fit(spread_space *x, spread s, uint32_t dims);
/* A tile whose dims are those of the order, as one of the space, and back: s is over the order's
 * dims. */
spread spread_arrange(spread_space *x, tile_value tile, const spread_order *order);
tile_value spread_unarrange(spread_space *x, spread s, const spread_order *order);
/* The dims of the order. */
uint32_t spread_dims(const spread_order *order);
/* Coordinate d of each element. */
spread spread_coordinate(spread_space *x, unsigned d);

/* What is known of a coordinate. */
typedef enum spread_kind {
    SPREAD_UNIFORM,  /* the same for all elements */
    SPREAD_COUNT,    /* base + the space's coordinate `dim` */
    SPREAD_QUOTIENT, /* that / by */
    SPREAD_REST,     /* that % by */
    SPREAD_OTHER,
} spread_kind;

typedef struct spread_place {
    spread_kind kind;
    unsigned dim;
    tile_value base; /* or none */
    int64_t by;
    spread at; /* the coordinate itself */
} spread_place;

/* Where an access to memory goes: tiles of points first, then along dims of the space. */
typedef struct spread_access {
    unsigned rank; /* of the memory */
    tile_value index[TILE_MAX_RANK];
    spread_order order; /* of what is moved; rank 0: one element for all */
    uint32_t dims;      /* that tell where it goes */
} spread_access;

/* points: dims that the points have in any case; SPREAD_TILE alone: there are points. 0: as few as
 * possible. */
spread_access spread_find_access(spread_space *x, const spread_place *places, unsigned rank,
                                 uint32_t points);
/* i1: whether a tile of i1 has an element that holds; all threads come together for it. */
tile_value spread_any(spread_space *x, tile_value holds);
/* Element [places] of a tile, which are inside of it where the predicate holds (no value: always);
 * no value after a diagnostic. */
spread spread_take(spread_space *x, tile_value tile, spread_place *places, spread predicate);

#endif
