/* Between the files of resident loops: resident.c and resident_product.c find them,
 * resident_kernel.c and resident_dot.c make their kernels. */
#ifndef TILE_PASSES_SCHEDULE_SECTIONS_RESIDENT_H
#define TILE_PASSES_SCHEDULE_SECTIONS_RESIDENT_H

#include "passes/schedule/sections/sections.h"

typedef struct resident_finder {
    schedule *s;
    const tile_function *f;
    tile_op loop;
    sched_resident *r;
    bool multiplies; /* the loop contains products */
    sched_visited_values visited;
    const char *why, *remedy; /* of the remark, if one kernel cannot run the loop */
    tile_op at;
} resident_finder;

/* Records the first reason why one kernel cannot run the loop. Returns false. */
bool resident_miss(resident_finder *n, tile_op at, const char *why, const char *remedy);
bool resident_is_inside(const resident_finder *n, tile_op op);
bool resident_is_element_wise(resident_finder *n, tile_op op);
/* Finds where the elements are that the value at map depends on; false after a miss. */
bool resident_visit(resident_finder *n, tile_value value, const sched_map *map);
/* A dim of the domain with this extent that the map does not use, `wanted` if possible; -1: none.
 */
int resident_find_dim(const resident_finder *n, const sched_map *map, unsigned rank,
                      unsigned except, unsigned wanted, const tile_expr *extent);
/* Adds a dim, of which blocks have all elements, to the domain; -1 if it has no room. */
int resident_add_dim(resident_finder *n, const tile_expr *extent);

/* resident_product.c: visits a product whose result is at map. */
bool resident_visit_product(resident_finder *n, tile_op op, const sched_map *map);
/* Returns whether the tiles of all products fit a block. Decides where the weights are kept. */
bool resident_fit_products(resident_finder *n);

typedef struct resident_writer {
    sched_kernel k;
    const sched_section *section;
    const sched_resident *r;
    const tile_type **types; /* by carried value: of its tile; NULL: in place */
    tile_value *sent;        /* what the iteration yields */
    tile_value *weights; /* by reduction: the shared buffer of a product's weights that is copied
                          * before the loop; 0: none */
} resident_writer;

/* The smallest extent of a tile that holds all elements. */
int resident_whole_block(const tile_expr *extent);
/* The type of a value's tile at map: extents of 1 along the dims that the map does not have. */
const tile_type *resident_tile_at(const resident_writer *w, const sched_map *map, unsigned rank,
                                  const tile_type *element);
/* The tile with its dims in this order. */
tile_value resident_permute(sched_kernel *k, tile_value tile, const int64_t *order, unsigned rank);
bool resident_depends_on_variable(const sched_resident *r, const tile_expr *expr);

/* resident_dot.c: sets the points of a kernel with products. params: the block's
 * rows and warps. */
void resident_set_points(resident_writer *w, const tile_expr *const *params);
/* Copies weights that all iterations use to shared memory, before the loop. */
void resident_copy_weights(resident_writer *w);
/* Builds number i of the loop's reductions in the body if it is a product. */
bool resident_multiply(resident_writer *w, size_t i);

#endif
