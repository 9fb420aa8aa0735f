/* What the parts of the lower-tiles pass share.
 *
 *   lower_tiles.c    the walk over the old body, control flow, arithmetic, semaphores
 *   lower_check.c    what must hold before
 *   lower_address.c  linear maps of the thread's number, coordinates, predicates, offsets
 *   lower_memory.c   loads, stores and copies between views, shared buffers and fragments
 *   lower_dot.c      mma on fragments, ldmatrix */
#ifndef TILE_PASSES_TILE_LOWER_H
#define TILE_PASSES_TILE_LOWER_H

#include "lib/analysis/range.h"
#include "passes/pass.h"

/* A view, taken apart: values of the new body. */
typedef struct lower_view {
    tile_value base;
    tile_value extents[TILE_MAX_RANK]; /* i32 */
    tile_value strides[TILE_MAX_RANK]; /* i64, in elements */
} lower_view;

typedef struct lowering {
    tile_pass *pass;
    tile_function *f;         /* the new body */
    tile_function old;        /* the old one */
    tile_builder builder;     /* where the new body grows */
    tile_value *map;          /* old value -> new value; tiles become vectors, views nothing */
    lower_view **views;       /* old value -> its parts, for views */
    const tile_range *ranges; /* by old value */
    tile_value thread;        /* thread_id */
    unsigned warp_bits;
} lowering;

/* How a fragment is cut into accesses of `width` elements: bits[i] is the register bit that stands
 * for element offset 1 << i inside an access; the other register bits enumerate the accesses. */
typedef struct lower_cut {
    unsigned width_bits;
    unsigned bits[5];
    unsigned rest_bits;
    unsigned rest[TILE_LAYOUT_MAX_BITS];
} lower_cut;

/* lower_check.c ------------------------------------------------------------------------------- */

/* Whether every tile operation can be lowered. False after a diagnostic at each one that cannot. */
bool lower_can(tile_pass *pass, tile_function *f);

/* lower_address.c ----------------------------------------------------------------------------- */

tile_value lower_int(lowering *l, int64_t value);
tile_value lower_long(lowering *l, int64_t value);
/* a + b and a * b that leave out what adding 0 or multiplying by 1 would do. Types as the
 * operands'. */
tile_value lower_add(lowering *l, tile_value a, tile_value b);
tile_value lower_mul(lowering *l, tile_value a, tile_value b);
tile_value lower_to_long(lowering *l, tile_value value);
/* The exclusive-or of bases[i] over the set bits i of the thread's number. */
tile_value lower_thread_map(lowering *l, const uint32_t *bases, unsigned count);
/* lower_thread_map of a register layout's lane and warp bits, of dim d only. */
tile_value lower_thread_coordinate(lowering *l, const tile_layout *layout, unsigned d);
/* Coordinate d of the flat index that registers alone give. */
int64_t lower_register_coordinate(const tile_layout *layout, unsigned register_, unsigned d);
/* The cut of a fragment for accesses of up to `widest` elements; offsets[b] is what register bit b
 * adds to the linear position, fixed the bits that other inputs contribute. */
lower_cut lower_cut_fragment(const uint32_t *offsets, unsigned reg_bits, uint32_t fixed,
                             unsigned widest);
/* The cut for accesses along dim d of the tile. */
lower_cut lower_cut_along(const tile_layout *layout, unsigned d, unsigned widest);
/* Register number of access `index` of the cut, element `element`. */
unsigned lower_cut_register(const lower_cut *cut, unsigned index, unsigned element);
/* i1: this thread is the first of those that hold the same elements; no value if all differ. */
tile_value lower_first_holder(lowering *l, const tile_layout *layout);
tile_value lower_and(lowering *l, tile_value a, tile_value b); /* either may be none */

/* Elements of access `index` of a fragment's cut, as one value (a scalar if the width is 1), and
 * the reverse: the values of all accesses, in order, become the fragment. */
tile_value lower_take(lowering *l, tile_value fragment, const lower_cut *cut, unsigned index);
tile_value lower_assemble(lowering *l, const tile_value *parts, const lower_cut *cut);

/* lower_memory.c ------------------------------------------------------------------------------ */

tile_value lower_load_view(lowering *l, const tile_value *element, const tile_type *tile);
void lower_store_view(lowering *l, tile_value fragment, const tile_type *tile,
                      const tile_value *element);
tile_value lower_load_shared(lowering *l, const tile_value *element, unsigned count,
                             const tile_type *tile);
void lower_store_shared(lowering *l, tile_value fragment, const tile_type *tile,
                        const tile_value *element, unsigned count);
void lower_copy(lowering *l, tile_op op);
/* The i64 offset of one element of a view: an element operand of the old body. */
tile_value lower_view_offset(lowering *l, const tile_value *element, unsigned count);

/* lower_dot.c --------------------------------------------------------------------------------- */

tile_value lower_dot(lowering *l, tile_op op);
/* A fragment of a shared buffer. maps: what each register, lane and warp bit of the tile's layout
 * adds to the element offset inside the slot. */
typedef struct lower_shared_map {
    tile_value buffer;
    tile_value slot; /* element offset of the slot's beginning */
    uint32_t reg[TILE_LAYOUT_MAX_BITS];
    uint32_t lane[TILE_LANE_BITS];
    uint32_t warp[TILE_LAYOUT_MAX_WARP_BITS];
} lower_shared_map;

/* Element offset in the buffer: slot + (what the thread adds ^ what the registers add). thread_bits
 * is the union of all that the thread can add. */
tile_value lower_shared_offset(lowering *l, const lower_shared_map *map, tile_value thread_part,
                               uint32_t thread_bits, uint32_t register_part);
/* load_shared through ldmatrix; no value if the layouts do not allow it. */
tile_value lower_ldmatrix(lowering *l, const lower_shared_map *map, const tile_type *tile);

#endif
