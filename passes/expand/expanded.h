/* Values of a region that runs for each element of a space, for all elements at once: tiles over
 * the dims of the space on which they depend. */
#ifndef TILE_PASSES_EXPAND_EXPANDED_H
#define TILE_PASSES_EXPAND_EXPANDED_H

#include "passes/pass.h"

/* A set of the space's dims; a tile's also has EXPANDED_TILE, so that 0 is a scalar, which all
 * elements share. */
#define EXPANDED_TILE (UINT32_C(1) << 31)

/* A tile has as many dims as the space, those that are not in `dims` with an extent of 1. */
typedef struct expanded {
    tile_value value;
    uint32_t dims;
} expanded;

typedef struct expanded_space {
    tile_builder b;
    tile_context *context;
    unsigned rank;
    int64_t extent[TILE_MAX_RANK];
    uint32_t full; /* dims of more than one element, and EXPANDED_TILE */
} expanded_space;

enum { EXPANDED_NO_DIM = -1, EXPANDED_MAX_INDICES = 2 * TILE_MAX_RANK };

/* Some tile's dims, by the space's dim that each is; EXPANDED_NO_DIM: one of extent 1. */
typedef struct expanded_order {
    unsigned rank;
    int dim[EXPANDED_MAX_INDICES];
} expanded_order;

/* The type of a tile over these dims, of the elements of `like`. */
const tile_type *expanded_type(const expanded_space *x, const tile_type *like, uint32_t dims);
/* A tile of these extents, of the elements of `like`. */
const tile_type *expanded_extents(const expanded_space *x, const tile_type *like,
                                  const int64_t *extents, unsigned rank);
/* The same elements with other extents; nothing where they are those. */
tile_value expanded_reshape(expanded_space *x, tile_value tile, const int64_t *extents,
                            unsigned rank);
/* The value over more dims. */
tile_value expanded_broadcast(expanded_space *x, expanded s, uint32_t dims);
/* A tile whose dims are those of the order, as one of the space, and back: s is over the order's
 * dims. */
expanded expanded_from_order(expanded_space *x, tile_value tile, const expanded_order *order);
tile_value expanded_to_order(expanded_space *x, expanded s, const expanded_order *order);
/* The dims of the order. */
uint32_t expanded_dims(const expanded_order *order);
/* Coordinate d of each element. */
expanded expanded_coordinate(expanded_space *x, unsigned d);

/* What is known of a coordinate. */
typedef enum expanded_index_kind {
    EXPANDED_UNIFORM,    /* the same for all elements */
    EXPANDED_COORDINATE, /* base + the space's coordinate `dim` */
    EXPANDED_QUOTIENT,   /* that / by */
    EXPANDED_REMAINDER,  /* that % by */
    EXPANDED_OTHER,
} expanded_index_kind;

typedef struct expanded_index {
    expanded_index_kind kind;
    unsigned dim;
    tile_value base; /* or none */
    int64_t by;
    expanded at; /* the coordinate itself */
} expanded_index;

/* Where an access to memory goes: tiles of points first, then along dims of the space. */
typedef struct expanded_access {
    unsigned rank; /* of the memory */
    tile_value index[TILE_MAX_RANK];
    expanded_order order; /* of what is moved; rank 0: one element for all */
    uint32_t dims;        /* that tell where it goes */
} expanded_access;

/* points: dims that the points have in any case; EXPANDED_TILE alone: there are points. 0: as few
 * as possible. */
expanded_access expanded_find_access(expanded_space *x, const expanded_index *places, unsigned rank,
                                     uint32_t points);
/* i1: whether a tile of i1 has an element that holds; all threads come together for it. */
tile_value expanded_any(expanded_space *x, tile_value holds);
/* Element [places] of a tile, which are inside of it where the predicate holds (no value: always);
 * no value after a diagnostic. */
expanded expanded_extract(expanded_space *x, tile_value tile, expanded_index *places,
                          expanded predicate);

#endif
