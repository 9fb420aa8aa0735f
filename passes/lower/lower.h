/* What the parts of the lower-tiles pass share.
 *
 *   lower_tiles.c    the walk over the old body, control flow, arithmetic, semaphores
 *   check.c    what must hold before
 *   address.c  linear maps of the thread's number, coordinates, predicates, offsets
 *   view.c     loads and stores between views and fragments
 *   gather.c   the points of index tiles, predicates, pads, scalars
 *   bounds_assume.c   coordinates in shared buffers, of which the CPU device is told
 *   shared.c   loads and stores between shared buffers and fragments, ldmatrix
 *   store.c    tiles that are stored piece by piece
 *   store_fusion.c     what only these need, computed piece by piece, too
 *   fragment.c tiles as what a thread holds of them
 *   thread.c   accesses of single threads to shared buffers by coordinates
 *   element.c  .. and to views
 *   atomic.c   atomic accesses
 *   barrier.c  barriers in shared memory
 *   prefetch.c the sectors of a tile
 *   copy.c     copies between views and shared buffers
 *   tma.c      those that tensor maps can describe
 *   shape.c    coordinates of a tile's elements, elements that are repeated
 *   lookup.c   a gather by shuffles
 *   reduce.c   elements combined along an axis
 *   scan.c     running combinations along an axis
 *   sort.c     elements put in order along an axis
 *   print.c    what is printed
 *   dot.c      mma on fragments
 *   wgmma.c    wgmma on descriptors and fragments
 *   fma.c      products added one by one */
#ifndef TILE_PASSES_LOWER_LOWER_H
#define TILE_PASSES_LOWER_LOWER_H

#include "lib/layout/cut.h"
#include "lib/analysis/executors.h"
#include "lib/analysis/range.h"
#include "lib/layout/mma.h"
#include "lib/layout/pieces.h"
#include "passes/pass.h"

/* A view, taken apart: values of the new body. */
typedef struct lower_view {
    tile_value base;
    tile_value extents[TILE_MAX_RANK]; /* i32 */
    tile_value limits[TILE_MAX_RANK]; /* these, but nothing below 0: coordinates compare unsigned */
    tile_value strides[TILE_MAX_RANK]; /* i64, in elements */
    const tile_layout
        *layout; /* of opaque scratch: the order of its last dims' elements; or NULL */
} lower_view;

typedef struct lowering {
    tile_pass *pass;
    tile_function *f;         /* the new body */
    tile_function old;        /* the old one */
    tile_builder builder;     /* where the new body grows */
    tile_value *map;          /* old value -> new value; tiles become vectors, views nothing */
    lower_view **views;       /* old value -> its parts, for views */
    const tile_range *ranges; /* by old value */
    tile_executors executors; /* execute what is built now */
    tile_value thread;        /* thread_id: the number in that set */
    unsigned warp_bits;       /* of that set */
    bool *fused;              /* by old operation: its users compute it (store_fusion.c) */
    tile_op *uninitialized_barriers; /* alloc_barrier operations: not initialised yet */
    size_t uninitialized_count, uninitialized_capacity;
    bool init_needs_sync; /* initialised, and the block's threads have not met since */
    tile_region named_barrier_region[TILE_MAX_BARRIERS]; /* regions whose groups of warps meet by
                                                            numbers of .. */
    unsigned named_barrier_first[TILE_MAX_BARRIERS];     /* .. their own, from this one on */
    unsigned named_barrier_count;
    uint32_t named_barriers_used;
    bool failed; /* something has been refused on the way */
} lowering;

/* thread.c ------------------------------------------------------------------------------------ */

/* The new operands of a thread-level operation, coordinates in shared buffers turned into offsets,
 * and how many each place of its row has; room for as many as it has now. False after a report. */
bool lower_thread_operands(lowering *l, tile_op op, tile_value *operands, unsigned *count,
                           uint16_t *segments);

/* element.c: a thread's access to a view at coordinates; false if op is none. *result: what
 * it gives, or nothing. */
bool lower_thread_view(lowering *l, tile_op op, tile_value *result);

/* The offset of an element in a stage with this layout, from its coordinates in the new body.
 * inner: where not NULL, a tile's layout, of whose extents they are multiples; then *begin_bits are
 * those that the offset may have inside of a part of the buffer's layout. */
tile_value lower_laid_out_offset(lowering *l, const tile_layout *layout,
                                 const tile_value *coordinates, const tile_layout *inner,
                                 uint32_t *begin_bits);

/* The i32 offset of one element of a buffer, given by its stage, if there are any, and coordinates:
 * an element operand of the old body. */
tile_value lower_buffer_offset(lowering *l, const tile_value *element);

/* check.c ------------------------------------------------------------------------------------- */

/* Whether every tile operation can be lowered. False after a diagnostic at each one that cannot.
 * ranges: by value id of f. */
bool lower_can(tile_pass *pass, tile_function *f, const tile_range *ranges);

/* lower_tiles.c: all attributes of an operation of the old body, for one of the new one. */
void lower_copy_attrs(lowering *l, tile_op from, tile_op to);

/* address.c ----------------------------------------------------------------------------------- */

tile_value lower_int(lowering *l, int64_t value);
tile_value lower_long(lowering *l, int64_t value);
/* a + b and a * b that leave out what adding 0 or multiplying by 1 would do. Types as the
 * operands'. */
tile_value lower_add(lowering *l, tile_value a, tile_value b);
tile_value lower_mul(lowering *l, tile_value a, tile_value b);
tile_value lower_to_long(lowering *l, tile_value value);
/* The exclusive-or of bases[i] over the set bits i < count of an i32, of which only the lowest
 * input_bits (32: any) can be set; of the thread's number. */
tile_value lower_bit_map(lowering *l, tile_value input, unsigned input_bits, const uint32_t *bases,
                         unsigned count);
tile_value lower_thread_map(lowering *l, const uint32_t *bases, unsigned count);
/* lower_thread_map of a register layout's lane and warp bits, of dim d only. */
tile_value lower_thread_coordinate(lowering *l, const tile_layout *layout, unsigned d);
/* Whether registers change bits of coordinate d that lanes or warps change, too: then what both
 * contribute meets by exclusive-or, else it is a sum. */
bool lower_bits_overlap(const tile_layout *layout, unsigned d);
/* Coordinate d of what thread 0 has in this register. */
int64_t lower_register_coordinate(const tile_layout *layout, unsigned register_, unsigned d);
/* i1: this thread is the first of those that hold the same elements; no value if all differ. */
tile_value lower_is_first_holder(lowering *l, const tile_layout *layout);
tile_value lower_and(lowering *l, tile_value a, tile_value b); /* either may be none */

/* Elements of access `index` of a fragment's cut, as one value (a scalar if the width is 1), and
 * the reverse: the values of all accesses, in order, become the fragment. */
tile_value lower_extract_access(lowering *l, tile_value fragment, const tile_access_split *cut,
                                unsigned index);
tile_value lower_combine_accesses(lowering *l, const tile_value *parts,
                                  const tile_access_split *cut);

/* The type of `width` elements: a scalar or a vector. */
const tile_type *lower_part_type(lowering *l, tile_scalar scalar, unsigned width);
/* How many elements one access moves at most: 16 bytes. */
unsigned lower_widest(tile_scalar scalar);
/* The new body's value for one of the old body. */
tile_value lower_mapped(const lowering *l, tile_value old);

/* view.c -------------------------------------------------------------------------------------- */

/* A point that index tiles give. */
typedef struct lower_point {
    bool known;
    tile_value offset;    /* i64, in elements */
    tile_value predicate; /* i1: it is inside of the view */
} lower_point;

/* One access pattern: a tile's elements, spread over threads by a layout, in a view. */
typedef struct lower_view_access {
    const lower_view *view;
    const tile_layout *layout;
    unsigned view_rank;
    unsigned
        first_dim;   /* the view's dim that is the tile's dim 0, or the first behind its points */
    unsigned points; /* the tile's first dims, which index tiles give; 0: none */
    const tile_value *index;  /* of the old body, by the view's dims */
    tile_layout point_layout; /* of index tiles; the other extents are 1 */
    lower_point *point;       /* by register of these */
    tile_value mask;          /* the predicate's fragment, laid out as the tile; or none */
    tile_access_split cut;
    tile_value start[TILE_MAX_RANK]; /* i32, by tile dim: index + what the thread adds */
    tile_value base;                 /* i64 offset of the thread's first element */
    tile_value predicate;            /* leading dims; none if nothing is to be checked */
    /* Where bits cross, what the thread adds: then start and base are without it. */
    tile_value crossed[TILE_MAX_RANK];
    tile_value row_step[TILE_MAX_RANK];
    /* An access some rows back, from which the rows that follow are counted. */
    tile_value anchor_offset; /* its offset */
    unsigned anchor_register;
    /* Predicates by dim and coordinate that registers add, so that equal ones are built once. */
    struct {
        int64_t coordinate;
        tile_value predicate;
    } known[TILE_MAX_RANK][64];
    unsigned known_count[TILE_MAX_RANK];
} lower_view_access;

/* element: an element operand of the old body; rank: the tile's. */
lower_view_access lower_start_view(lowering *l, const tile_value *element,
                                   const tile_layout *layout, unsigned rank, unsigned widest);
/* Offset and predicate of access `index` of the cut. */
tile_value lower_view_access_offset(lowering *l, lower_view_access *a, unsigned index,
                                    tile_value *predicate);
/* op: the load; the store or copy. */
tile_value lower_load_view(lowering *l, tile_op op, const tile_value *element,
                           const tile_type *tile);
void lower_store_view(lowering *l, tile_op op, tile_value fragment, const tile_type *tile,
                      const tile_value *element);
/* Of a piece of a tile; ahead: how far behind the element it begins, by the tile's dims, as values
 * of the new body. NULL: it begins there. The view is no opaque scratch. */
tile_value lower_load_piece(lowering *l, tile_op op, const tile_value *element,
                            const tile_type *tile, const tile_value *ahead);
void lower_store_piece(lowering *l, tile_op op, tile_value fragment, const tile_type *tile,
                       const tile_value *element, const tile_value *ahead);
/* The access of global memory that has just been built tells the caches what op does; conditions
 * are worth their registers to what one thread copies. */
void lower_copy_cache_hints(lowering *l, tile_op op);
/* Of a store, also to a shared buffer: whether threads may store to one place. */
void lower_copy_conflict_attrs(lowering *l, tile_op op);
/* The i64 offset of one element of a view: an element operand of the old body. */
tile_value lower_view_offset(lowering *l, const tile_value *element, unsigned count);

/* bounds_assume.c ----------------------------------------------------------------------------- */

/* Where the predicate holds (no value: always) the coordinates are `inside` (no value: surely): the
 * CPU device reports those that are not. buffer: of the old body. */
void lower_assume_in_bounds(lowering *l, tile_value buffer, tile_value inside,
                            tile_value predicate);
/* i1: `run` elements along the last dim, from these coordinates of the old body on, are inside of
 * the buffer; no value: surely. */
tile_value lower_in_bounds_of_buffer(lowering *l, const tile_type *buffer, const tile_value *index,
                                     unsigned run);
/* Of an access whose brackets name an element: the buffer, [a stage,] and coordinates. */
void lower_assume_element_in_bounds(lowering *l, tile_op op, const tile_value *element,
                                    unsigned run);

/* gather.c ------------------------------------------------------------------------------------ */

/* The access is one of op, whose predicate, if it has one, holds for it; lowers the width to what
 * the predicate leaves of it. */
void lower_mask_view(lowering *l, tile_op op, lower_view_access *a);
/* The point of a register of the tile. */
lower_point lower_point_of_register(lowering *l, lower_view_access *a, unsigned register_);
/* Elements of a shared buffer at index tiles, one by one. */
typedef struct lower_buffer_points {
    tile_value buffer, stage;         /* of the new body; the offset of the stage */
    const tile_type *type;            /* the buffer's */
    const tile_layout *layout;        /* of the tile */
    tile_layout point_layout;         /* of the index tiles; the other extents are 1 */
    unsigned points, covered;         /* the tile's dims */
    const tile_value *index;          /* of the old body, by dim */
    tile_value thread[TILE_MAX_RANK]; /* by covered dim of the tile: the thread's coordinate */
} lower_buffer_points;
lower_buffer_points lower_start_points(lowering *l, tile_op op, const tile_layout *layout);
/* The offset in elements of a register of the tile, and whether it is inside of the buffer. */
tile_value lower_point_offset(lowering *l, const lower_buffer_points *p, unsigned register_,
                              tile_value *predicate);
/* op's pad in each element of a scalar or vector of this type. */
tile_value lower_pad_of(lowering *l, tile_op op, const tile_type *type);
/* lookup.c: a gather along an axis that lies in one warp, by shuffles. */
tile_value lower_lookup(lowering *l, tile_op op, unsigned axis);
/* A load from a shared buffer, or a store into one, element by element; false if op is none. */
bool lower_gathered_load(lowering *l, tile_op op, tile_value *result);
bool lower_scattered_store(lowering *l, tile_op op);
/* What was loaded under a predicate, or op's pad where that is false. */
tile_value lower_pad(lowering *l, tile_op op, tile_value loaded, tile_value predicate);
tile_value lower_inside(lowering *l, tile_op op);
/* Of a tile, along an axis, through its buffer. */
tile_value lower_gather(lowering *l, tile_op op);
/* One element, by all threads; of a store by the first one. */
tile_value lower_load_scalar(lowering *l, tile_op op);
void lower_store_scalar(lowering *l, tile_op op);

/* prefetch.c ---------------------------------------------------------------------------------- */

void lower_prefetch(lowering *l, tile_op op);

/* shared.c ------------------------------------------------------------------------------------ */

/* A fragment of a shared buffer: what each register, lane and warp bit of the tile's layout adds to
 * the element offset inside the stage. */
typedef struct lower_shared_map {
    tile_value buffer;
    tile_value stage;    /* element offset of the stage's beginning */
    tile_value begin;    /* of a part of the stage: by exclusive-or, where it begins; or none */
    uint32_t begin_bits; /* that it may have */
    uint32_t origin;     /* the same where it is a constant */
    unsigned part_bits;  /* part p begins p << part_bits elements behind it */
    uint32_t reg[TILE_LAYOUT_MAX_BITS];
    uint32_t lane[TILE_LANE_BITS];
    uint32_t warp[TILE_LAYOUT_MAX_WARP_BITS];
} lower_shared_map;

/* What a tile of this layout, which begins at these coordinates (NULL: at 0), adds to offsets in
 * memory of such a layout. */
void lower_map_part(lowering *l, const tile_layout *memory, const tile_value *coordinates,
                    const tile_layout *layout, lower_shared_map *map);
/* What a register of it adds. */
uint32_t lower_register_offset(const lower_shared_map *map, const tile_layout *layout,
                               unsigned register_);
/* A fragment as large as a stage of the buffer, a value of the old body, which begins at an element
 * offset. */
lower_shared_map lower_map_stage(lowering *l, tile_value buffer, tile_value begin,
                                 const tile_layout *layout);

/* The accesses of a fragment in a shared buffer. */
typedef struct lower_shared_access {
    lower_shared_map map;
    const tile_layout *layout; /* of the fragment */
    tile_access_split cut;
    uint32_t thread_bits;
    tile_value thread_part;
} lower_shared_access;

/* element: a shared buffer, its stage, if it has stages, and where a part of that begins, if it is
 * one; in the old body. */
lower_shared_map lower_map_shared(lowering *l, const tile_value *element, unsigned count,
                                  const tile_layout *layout);
lower_shared_access lower_start_shared(lowering *l, const lower_shared_map *map,
                                       const tile_layout *layout, unsigned widest);
/* Element offset in the buffer of a register of the fragment. */
tile_value lower_shared_access_offset(lowering *l, const lower_shared_access *a,
                                      unsigned register_);
/* whole_warps: all lanes come here, so that ldmatrix may. */
tile_value lower_load_shared(lowering *l, const tile_value *element, unsigned count,
                             const tile_type *tile, bool whole_warps);
void lower_store_shared(lowering *l, tile_value fragment, const tile_type *tile,
                        const tile_value *element, unsigned count);

tile_value lower_load_mapped(lowering *l, const lower_shared_map *map, const tile_type *tile,
                             bool whole_warps);
void lower_store_mapped(lowering *l, tile_value fragment, const lower_shared_map *map,
                        const tile_type *tile);

/* store.c ------------------------------------------------------------------------------------- */

/* A store_async. */
void lower_store_async(lowering *l, tile_op op);

/* store_fusion.c ------------------------------------------------------------------------------ */

/* Sets late: the operations on tiles that nobody but stores in pieces needs. */
void lower_find_store_fused(lowering *l);

/* What a store_async of a tile that is cut into such pieces computes itself. */
typedef struct lower_store_fusion {
    tile_value tile; /* of the old body */
    const tile_layout *whole;
    const tile_pieces *pieces;
    tile_op *ops; /* of the old body, the last one first */
    unsigned count;
    size_t values; /* in the old body */
    bool is_long;  /* many instructions for each element */
} lower_store_fusion;
lower_store_fusion lower_start_store_fusion(lowering *l, tile_op op, const tile_pieces *pieces);
/* Bytes that a thread loads for a piece. */
unsigned lower_store_fused_load_bytes(const lowering *l, const lower_store_fusion *fused);

typedef struct lower_piece {
    const lower_store_fusion *fused;
    unsigned index;                  /* of the piece */
    tile_value ahead[TILE_MAX_RANK]; /* where it begins behind the tile's first element */
    tile_value *known;               /* by old value: what there is of it already */
} lower_piece;
lower_piece lower_start_piece(lowering *l, const lower_store_fusion *fused, unsigned index,
                              const tile_value *ahead);
/* Loads what the piece needs, and then, perhaps later, computes it: the fragment, in the order of
 * the piece's layout. */
void lower_load_store_fused(lowering *l, const lower_piece *piece);
tile_value lower_compute_store_fused(lowering *l, const lower_piece *piece);

/* atomic.c ------------------------------------------------------------------------------------ */

/* The old elements; no value for a scalar's that nobody takes. */
tile_value lower_atomic(lowering *l, tile_op op);
/* lower_tiles.c: a barrier at the end of what has been built, unless the user's own stands there.
 */
void lower_end_with_sync(lowering *l);

/* barrier.c ----------------------------------------------------------------------------------- */

void lower_alloc_barrier(lowering *l, tile_op op);
/* Those of the kernel before which it only computes numbers are initialised where it begins, by one
 * warp, while the others compute these. */
void lower_begin_barriers(lowering *l);
/* What has been allocated is initialised, and the block's threads meet, before anything else
 * happens. */
void lower_sync_after_barrier_init(lowering *l);
/* Whether op, with all that stands in it, only computes numbers, or names memory. */
bool lower_is_arithmetic(const tile_function *f, tile_op op);
void lower_barrier_arrive(lowering *l, tile_op op);
void lower_barrier_wait(lowering *l, tile_op op);
void lower_ordered_issue(lowering *l, tile_op op);

/* copy.c -------------------------------------------------------------------------------------- */

void lower_copy(lowering *l, tile_op op);
/* The layout in which threads share a copy with index tiles or a predicate, from how these are
 * held; false: from none. */
bool lower_gathered_copy(const tile_function *f, const tile_range *ranges, tile_op op,
                         tile_layout *layout);

/* tma.c --------------------------------------------------------------------------------------- */

/* A copy_async with a barrier, or to a view, by TMA; false after a remark. */
bool lower_tma(lowering *l, tile_op op);
/* The barrier_arrive that expects the bytes of a copy_async with a barrier, or none. */
tile_op lower_arrival_of(const lowering *l, tile_op copy);
/* The bytes that a barrier_arrive expects. */
int64_t lower_arriving_bytes(const lowering *l, tile_op arrive);

/* The boxes of a stage of a store_async's ring; NULL after a remark. */
typedef struct lower_boxes lower_boxes;
lower_boxes *lower_find_boxes(lowering *l, tile_op op);
/* The same question; builds and says nothing. */
bool lower_has_boxes(const lowering *l, tile_op op);
/* Stages are copied to the view between begin and end, and make a group, by the thread for which
 * `starts` is true. stage: the element offset of one; ahead: as for lower_store_piece. */
void lower_begin_boxes(lowering *l, lower_boxes *boxes, tile_value starts);
void lower_store_boxes(lowering *l, tile_op op, const lower_boxes *boxes, tile_value stage,
                       const tile_value *ahead);
void lower_end_boxes(lowering *l, lower_boxes *boxes);

/* shape.c ------------------------------------------------------------------------------------- */

tile_value lower_iota(lowering *l, tile_op op);
/* The sum of an iota and a splat of a scalar; false if op is none. */
bool lower_shifted_iota(lowering *l, tile_op op);
tile_value lower_broadcast(lowering *l, tile_op op);
/* A comparison of tiles that is the same for neighbours which a thread holds: maps its result.
 * False: it is not known to be. */
bool lower_compare(lowering *l, tile_op op);
/* A transpose, reshape, join, unjoin, slice, or a concat of tiles: maps its results. */
void lower_rearrange(lowering *l, tile_op op);
/* A fragment whose layout has the same threads, in the order of another one. */
tile_value lower_reorder(lowering *l, tile_value source, const tile_type *from,
                         const tile_type *to);
/* The same of a piece: an iota's, as lower_load_piece takes it; of a value of the new body. */
tile_value lower_count(lowering *l, tile_op op, const tile_type *type, const tile_value *ahead);
tile_value lower_repeat(lowering *l, tile_value source, const tile_type *from, const tile_type *to);

/* fragment.c ---------------------------------------------------------------------------------- */

/* Of a `coordinates`: one for each dim of the tile. */
void lower_coordinates(lowering *l, tile_op op, tile_value *coordinates);

/* reduce.c ------------------------------------------------------------------------------------ */

/* places: NULL, or where the coordinates of a reduce_arg go. */
tile_value lower_reduce(lowering *l, tile_op op, tile_value *places);
/* Register i of the result is register order[i]. */
tile_value lower_permute(lowering *l, tile_value vector, const int64_t *order, unsigned count);
tile_value lower_shfl(lowering *l, tile_value value, tile_value lane, const char *kind);
/* A tile with the extents of its layout. */
const tile_type *lower_laid_out(lowering *l, tile_scalar scalar, const tile_layout *layout);

/* convert.c ----------------------------------------------------------------------------------- */

/* A tile in another layout. */
tile_value lower_convert(lowering *l, tile_op op);

/* scan.c -------------------------------------------------------------------------------------- */

tile_value lower_scan(lowering *l, tile_op op);

/* sort.c -------------------------------------------------------------------------------------- */

tile_value lower_sort(lowering *l, tile_op op);

/* dot.c --------------------------------------------------------------------------------------- */

tile_value lower_dot(lowering *l, tile_op op);
/* A product that has been built reads its operands as signed or unsigned as the dot says. */
void lower_copy_signs(lowering *l, tile_op dot, tile_value product, bool exchanged);

/* wgmma.c ------------------------------------------------------------------------------------- */

/* A dot with `via = wgmma`. */
tile_value lower_wgmma(lowering *l, tile_op op);
tile_value lower_dot_wait(lowering *l, tile_op op);
/* Whether carried value `index` of a loop of the old body are sums that its first product starts,
 * whatever they are before: zeros that need not be written. */
bool lower_starts_sums(const lowering *l, tile_op loop, unsigned index);

/* fma.c --------------------------------------------------------------------------------------- */

/* A dot without an instruction, both operands in shared memory. */
tile_value lower_fma_loop(lowering *l, tile_op op);
/* About how many instructions that has at most, from the types with layouts. */
int64_t lower_fma_length(const tile_type *acc, const tile_type *lhs);

/* print.c ------------------------------------------------------------------------------------- */

void lower_print(lowering *l, tile_op op);

#endif
