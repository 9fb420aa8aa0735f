/* Values of a region that runs once per element of a space, represented for all elements as tiles
 * over the dims that they depend on. */
#ifndef TILE_PASSES_EXPAND_EXPANDED_H
#define TILE_PASSES_EXPAND_EXPANDED_H

#include "passes/pass.h"

/* A set of the space's dims. A tile's set also contains EXPANDED_TILE; 0 is a scalar shared by all
 * elements. */
#define EXPANDED_TILE (UINT32_C(1) << 31)

/* A tile has the rank of the space; dims that are not in `dims` have extent 1. */
typedef struct expanded {
    tile_value value;
    uint32_t dims;
} expanded;

typedef struct expanded_space {
    tile_builder b;
    tile_context *context;
    unsigned rank;
    int64_t extent[TILE_MAX_RANK];
    uint32_t full; /* dims with more than one element, and EXPANDED_TILE */
} expanded_space;

enum { EXPANDED_NO_DIM = -1, EXPANDED_MAX_INDICES = 2 * TILE_MAX_RANK };

/* Maps a tile's dims to dims of the space; EXPANDED_NO_DIM: extent 1. */
typedef struct expanded_order {
    unsigned rank;
    int dim[EXPANDED_MAX_INDICES];
} expanded_order;

/* The type of a tile over these dims, with the element type of `like`. */
const tile_type *expanded_type(const expanded_space *x, const tile_type *like, uint32_t dims);
/* The type of a tile with these extents and the element type of `like`. */
const tile_type *expanded_extents(const expanded_space *x, const tile_type *like,
                                  const int64_t *extents, unsigned rank);
/* Reshapes a tile; a no-op if the extents are equal. */
tile_value expanded_reshape(expanded_space *x, tile_value tile, const int64_t *extents,
                            unsigned rank);
/* Broadcasts the value to more dims. */
tile_value expanded_broadcast(expanded_space *x, expanded s, uint32_t dims);
/* Convert between a tile whose dims are in this order and a tile of the space. s has the order's
 * dims. */
expanded expanded_from_order(expanded_space *x, tile_value tile, const expanded_order *order);
tile_value expanded_to_order(expanded_space *x, expanded s, const expanded_order *order);
/* The dims of the order. */
uint32_t expanded_dims(const expanded_order *order);
/* Coordinate d of each element. */
expanded expanded_coordinate(expanded_space *x, unsigned d);

/* The form of a coordinate. */
typedef enum expanded_index_kind {
    EXPANDED_UNIFORM,    /* the same for all elements */
    EXPANDED_COORDINATE, /* base + the space's coordinate `dim` */
    EXPANDED_QUOTIENT,   /* (base + coordinate) / by */
    EXPANDED_REMAINDER,  /* (base + coordinate) % by */
    EXPANDED_OTHER,
} expanded_index_kind;

typedef struct expanded_index {
    expanded_index_kind kind;
    unsigned dim;
    tile_value base; /* or no value */
    int64_t by;
    expanded at; /* the coordinate itself */
} expanded_index;

/* The indices of a memory access: index tiles for the leading dims, then dims of the space. */
typedef struct expanded_access {
    unsigned rank; /* of the memory */
    tile_value index[TILE_MAX_RANK];
    expanded_order order; /* of the moved tile; rank 0: one element for all */
    uint32_t dims;        /* dims that the indices depend on */
} expanded_access;

/* points: dims that the index tiles must have; EXPANDED_TILE alone: use index tiles; 0: avoid
 * them. */
expanded_access expanded_find_access(expanded_space *x, const expanded_index *places, unsigned rank,
                                     uint32_t points);
/* i1: whether a tile of i1 has a true element. All threads must execute it. */
tile_value expanded_any(expanded_space *x, tile_value holds);
/* Element [places] of a tile. The coordinates are in bounds where the predicate holds (no value:
 * everywhere). No value after a diagnostic. */
expanded expanded_extract(expanded_space *x, tile_value tile, expanded_index *places,
                          expanded predicate);

#endif
