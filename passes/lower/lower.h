/* The interface between the files of the lower-tiles pass.
 *
 *   lower_tiles.c      traversal of the old body, control flow, arithmetic, semaphores
 *   check.c            preconditions
 *   address.c          linear maps of the thread index, coordinates, predicates, offsets
 *   view.c             loads and stores between views and fragments
 *   im2col.c           windows
 *   gather.c           index tiles, predicates, pads, scalars
 *   shared.c           loads and stores between shared buffers and fragments, ldmatrix
 *   store.c, store_fusion.c  tiles that are stored piece by piece, and what is computed so
 *   fragment.c         conversion between tiles and per-thread fragments
 *   thread.c, element.c  single-thread accesses by coordinates to shared buffers, to views
 *   shared_sum.c       sums in shared buffers
 *   atomic.c           atomic accesses
 *   barrier.c          barriers in shared memory
 *   prefetch.c         prefetch of a tile's sectors
 *   copy.c             copies between views and shared buffers
 *   unaligned.c        tiles of rows that begin anywhere
 *   misaligned.c       the same, copied in whole chunks
 *   store_shifted.c    stores to such rows from registers
 *   tma.c              copies with tensor maps
 *   shape.c            coordinates of a tile's elements, repeated elements
 *   lookup.c           gather by shuffles
 *   reduce.c, scan.c, sort.c  reductions, scans and sorting along an axis
 *   print.c            print
 *   dot.c              mma on fragments
 *   wgmma_operands.c   descriptors and fragments
 *   wgmma.c            wgmma on descriptors and fragments
 *   scaled_sum.c       sums of wgmma that are scaled where they are added
 *   fma.c              dot by scalar fma */
#ifndef TILE_PASSES_LOWER_LOWER_H
#define TILE_PASSES_LOWER_LOWER_H

#include "lib/layout/cut.h"
#include "lib/analysis/executors.h"
#include "lib/analysis/range.h"
#include "lib/layout/mma.h"
#include "lib/layout/pieces.h"
#include "lib/ops/im2col.h"
#include "passes/pass.h"

/* The components of a view, as values of the new body. */
typedef struct lower_view {
    tile_value base;
    tile_value extents[TILE_MAX_RANK]; /* i32 */
    tile_value limits[TILE_MAX_RANK];  /* max(extent, 0), for unsigned comparisons of coordinates */
    tile_value strides[TILE_MAX_RANK]; /* i64, in elements */
    const tile_layout
        *layout; /* for opaque scratch: the element order of its last dims; else NULL */
    const struct lower_windows *windows; /* of a view made by `im2col` (im2col.c); else NULL */
} lower_view;

typedef struct lowering {
    tile_pass *pass;
    tile_function *f;         /* the new body */
    tile_function old;        /* the old body */
    tile_builder builder;     /* insertion point in the new body */
    tile_value *map;          /* old value -> new value; tiles become vectors, views have no
                                 value */
    lower_view **views;       /* old value -> its components, for views */
    const tile_range *ranges; /* by old value */
    tile_executors executors; /* the threads that execute the current insertion point */
    tile_value thread;        /* thread_id: the index within these executors */
    unsigned warp_bits;       /* of the executors */
    bool rolls_stores;        /* loops compute what stores do piece by piece (roll_elementwise.c) */
    bool *fused;              /* by old operation: its users compute it (store_fusion.c), or an
                                 operation before it does (unaligned.c) */
    tile_op *deferred;        /* by old operation: the dot that it follows (scaled_sum.c) */
    tile_op *uninitialized_barriers; /* alloc_barrier operations without initialization so far */
    size_t uninitialized_count, uninitialized_capacity;
    bool init_needs_sync; /* initialized, but the block has not synchronized since */
    tile_region named_barrier_region[TILE_MAX_BARRIERS]; /* regions whose store groups synchronize
                                                            with named barriers .. */
    unsigned named_barrier_first[TILE_MAX_BARRIERS];     /* .. whose numbers begin here */
    unsigned named_barrier_count;
    uint32_t named_barriers_used;
    bool failed; /* an operation was rejected during lowering */
} lowering;

/* thread.c ------------------------------------------------------------------------------------ */

/* Writes the new operands of a thread-level operation, with coordinates in shared buffers turned
 * into offsets, and the operand count of each segment. The arrays must have room for the
 * operation's current operands. False after a diagnostic. */
bool lower_thread_operands(lowering *l, tile_op op, tile_value *operands, unsigned *count,
                           uint16_t *segments);

/* element.c: a thread's access to a view by coordinates. False if op is none. *result: its result,
 * or no value. */
bool lower_thread_view(lowering *l, tile_op op, tile_value *result);

/* The offset of an element in a stage with this layout, from its coordinates in the new body.
 * inner: a tile's layout, or NULL; the coordinates are multiples of its extents. With inner,
 * *begin_bits are the bits that the offset may have within a part of the buffer's layout. */
tile_value lower_laid_out_offset(lowering *l, const tile_layout *layout,
                                 const tile_value *coordinates, const tile_layout *inner,
                                 uint32_t *begin_bits);

/* The i32 offset of an element of a buffer. element: an element operand of the old body, that is
 * the buffer, its stage if it has stages, and coordinates. */
tile_value lower_buffer_offset(lowering *l, const tile_value *element);

/* check.c ------------------------------------------------------------------------------------- */

/* Checks that every tile operation can be lowered. False after a diagnostic at each one that
 * cannot. ranges: by value id of f. */
bool lower_can(tile_pass *pass, tile_function *f, const tile_range *ranges);

/* lower_tiles.c: copies all attributes of an operation of the old body to one of the new body. */
void lower_copy_attrs(lowering *l, tile_op from, tile_op to);

/* address.c ----------------------------------------------------------------------------------- */

tile_value lower_int(lowering *l, int64_t value);
tile_value lower_long(lowering *l, int64_t value);
/* a + b and a * b, folded if an operand is the neutral element. The result has the type of the
 * operands. */
tile_value lower_add(lowering *l, tile_value a, tile_value b);
tile_value lower_mul(lowering *l, tile_value a, tile_value b);
tile_value lower_to_long(lowering *l, tile_value value);
/* The exclusive-or of bases[i] over the set bits i < count of an i32, of which only the lowest
 * input_bits (32: any) can be set. lower_thread_map applies it to the thread index. */
tile_value lower_bit_map(lowering *l, tile_value input, unsigned input_bits, const uint32_t *bases,
                         unsigned count);
tile_value lower_thread_map(lowering *l, const uint32_t *bases, unsigned count);
/* lower_thread_map of a register layout's lane and warp bits, for dim d only. */
tile_value lower_thread_coordinate(lowering *l, const tile_layout *layout, unsigned d);
/* Returns whether registers and lanes or warps change the same bits of coordinate d. Their
 * contributions are then combined by exclusive-or, else by addition. */
bool lower_bits_overlap(const tile_layout *layout, unsigned d);
/* Coordinate d of the element that thread 0 holds in this register. */
int64_t lower_register_coordinate(const tile_layout *layout, unsigned register_, unsigned d);
/* i1: this thread is the first of those that hold the same elements; no value if no elements are
 * duplicated. */
tile_value lower_is_first_holder(lowering *l, const tile_layout *layout);
tile_value lower_and(lowering *l, tile_value a, tile_value b); /* either may be absent */

/* lower_extract_access returns the elements of access `index` of a fragment's cut as one value, a
 * scalar if the width is 1. lower_combine_accesses is the inverse: the values of all accesses, in
 * order, become the fragment. */
tile_value lower_extract_access(lowering *l, tile_value fragment, const tile_access_split *cut,
                                unsigned index);
tile_value lower_combine_accesses(lowering *l, const tile_value *parts,
                                  const tile_access_split *cut);

/* The type of `width` elements: a scalar or a vector. */
const tile_type *lower_part_type(lowering *l, tile_scalar scalar, unsigned width);
/* The maximum number of elements per access: 16 bytes. */
unsigned lower_widest(tile_scalar scalar);
/* The new body's value of a value of the old body. */
tile_value lower_mapped(const lowering *l, tile_value old);

/* view.c -------------------------------------------------------------------------------------- */

/* A point selected by index tiles. */
typedef struct lower_point {
    bool known;
    tile_value offset;    /* i64, in elements */
    tile_value predicate; /* i1: it is in bounds of the view */
} lower_point;

/* An access pattern: the elements of a tile in a view, distributed over threads by a layout. */
typedef struct lower_view_access {
    const lower_view *view;
    const tile_layout *layout;
    unsigned view_rank;
    unsigned first_dim; /* the view's dim that is the tile's dim 0, or the first one after its
                           points */
    unsigned points;    /* number of leading dims of the tile that index tiles select; 0: none */
    const tile_value *index;     /* in the old body, by the view's dims */
    tile_layout point_layout;    /* layout of the index tiles; the other extents are 1 */
    lower_point *point;          /* by register of the index tiles */
    struct lower_places *places; /* of a view made by `im2col` */
    tile_value mask;             /* the predicate's fragment, with the tile's layout; or no value */
    tile_access_split cut;
    tile_value start[TILE_MAX_RANK]; /* i32, by tile dim: index + the thread's contribution */
    tile_value base;                 /* i64 offset of the thread's first element */
    tile_value predicate;            /* bounds of the leading dims; no value if all are in bounds */
    bool unchecked[TILE_MAX_RANK];   /* by tile dim: no predicate checks its bounds */
    /* If bits overlap, the thread's contribution, which start and base then exclude. */
    tile_value overlapping[TILE_MAX_RANK];
    tile_value row_step[TILE_MAX_RANK];
    /* An earlier access, relative to which the following rows are addressed. */
    tile_value anchor_offset; /* its offset */
    unsigned anchor_register;
    /* Cached predicates by dim and register coordinate, so that equal ones are built once. */
    struct {
        int64_t coordinate;
        tile_value predicate;
    } known[TILE_MAX_RANK][64];
    unsigned known_count[TILE_MAX_RANK];
} lower_view_access;

/* im2col.c */

/* Makes the components of the view that an `im2col` makes. */
void lower_im2col(lowering *l, tile_op op);
/* The view that windows are those of. */
const lower_view *lower_windowed_view(const lower_view *view);
/* The coordinates in src of the first element of the window at a place, by src's dims: the batch
 * and the spatial dims. */
void lower_split_place(lowering *l, const lower_view *view, tile_value place,
                       tile_value at[1 + TILE_MAX_SPATIAL]);
/* The distance from there to a position of the filter, by spatial dim. */
void lower_split_position(lowering *l, const lower_view *view, tile_value position,
                          tile_value at[TILE_MAX_SPATIAL]);
/* Starts an access to a view of windows: part of lower_start_view. */
void lower_start_windows(lowering *l, lower_view_access *a, const tile_value *element);
/* The offset of a register's element, without its channel; *inside: it is in src. */
tile_value lower_window_offset(lowering *l, lower_view_access *a, unsigned register_,
                               tile_value *inside);

/* element: an element operand of the old body; rank: that of the tile. */
lower_view_access lower_start_view(lowering *l, const tile_value *element,
                                   const tile_layout *layout, unsigned rank, unsigned widest);
/* Returns the offset of access `index` of the cut; *predicate: its predicate. */
tile_value lower_view_access_offset(lowering *l, lower_view_access *a, unsigned index,
                                    tile_value *predicate);
/* i32: the elements of access `index` that are in bounds along the dim in which they are
 * contiguous, at least 1 if its predicate holds; may be more than the access has. */
tile_value lower_view_access_count(lowering *l, const lower_view_access *a, unsigned index);
/* op: the load, or for a store the store or copy. */
tile_value lower_load_view(lowering *l, tile_op op, const tile_value *element,
                           const tile_type *tile);
void lower_store_view(lowering *l, tile_op op, tile_value fragment, const tile_type *tile,
                      const tile_value *element);
/* A piece of a tile. ahead: the distance of its start from the element, by the tile's dims, as
 * values of the new body; NULL: 0. The view must not be opaque scratch. */
tile_value lower_load_piece(lowering *l, tile_op op, const tile_value *element,
                            const tile_type *tile, const tile_value *ahead);
void lower_store_piece(lowering *l, tile_op op, tile_value fragment, const tile_type *tile,
                       const tile_value *element, const tile_value *ahead);
/* Copies op's cache hints to the global memory access built last. A conditional hint costs
 * registers, so only copies issued by one thread get it. */
void lower_copy_cache_hints(lowering *l, tile_op op);
/* For a store, also to a shared buffer: marks whether several threads may store to one address. */
void lower_copy_conflict_attrs(lowering *l, tile_op op);
/* The i64 offset of an element of a view, given as an element operand of the old body. */
tile_value lower_view_offset(lowering *l, const tile_value *element, unsigned count);

/* unaligned.c --------------------------------------------------------------------------------- */

/* Copies a tile from a view whose rows begin anywhere to a buffer. Unless `alone` is set, also
 * lowers the copies that follow it directly, and marks them as `fused`. False if unaligned loads do
 * not suit; nothing is built then that is used. */
bool lower_copies_unaligned(lowering *l, tile_op op, bool alone);
/* The loaded fragment, or no value if unaligned loads do not suit. */
tile_value lower_load_unaligned(lowering *l, tile_op op, const tile_value *element,
                                const tile_type *tile);

/* misaligned.c: buffers with the attribute `misaligned`. ------------------------------------ */

bool lower_is_misaligned(const lowering *l, tile_value buffer);
/* False if op is no alloc_shared of such a buffer. */
bool lower_alloc_misaligned(lowering *l, tile_op op);
tile_value lower_load_misaligned(lowering *l, const tile_value *element, unsigned count,
                                 const tile_type *tile);
/* Starts the asynchronous copies of whole chunks. False if op has no such buffer. */
bool lower_copy_misaligned(lowering *l, tile_op op);

/* store_shifted.c: stores a tile to a view whose rows begin anywhere. False if the store is no such
 * one; nothing is built then. */
bool lower_store_shifted(lowering *l, tile_op op, tile_value fragment, const tile_type *tile,
                         const tile_value *element);

/* copy.c: a remark why threads execute a copy_async instead of the hardware. */
void lower_explain_threads(lowering *l, tile_op op, const tile_value *view, const tile_type *tile);
/* copy.c: elements that both cuts move at once: they agree on the register bits up to this width.
 */
unsigned lower_common_width(const tile_access_split *a, const tile_access_split *b);

/* gather.c ------------------------------------------------------------------------------------ */

/* Adds the predicate of op, if it has one, to the access pattern, and reduces the width so that one
 * predicate covers each access. */
void lower_mask_view(lowering *l, tile_op op, lower_view_access *a);
/* i1: the index, whose range is that of `old`, is in bounds; no value if that is provable. */
tile_value lower_in_bounds(lowering *l, tile_value old, tile_value index, tile_value limit);
/* The point that a register of the tile belongs to. */
lower_point lower_point_of_register(lowering *l, lower_view_access *a, unsigned register_);
/* Elements of a shared buffer selected by index tiles, accessed one by one. */
typedef struct lower_buffer_points {
    tile_value buffer, stage;         /* in the new body; stage: its offset */
    const tile_type *type;            /* the buffer's */
    const tile_layout *layout;        /* of the tile */
    tile_layout point_layout;         /* layout of the index tiles; the other extents are 1 */
    unsigned points, covered;         /* the tile's dims that are points, and the others */
    const tile_value *index;          /* in the old body, by dim */
    tile_value thread[TILE_MAX_RANK]; /* by covered dim of the tile: the thread's coordinate */
} lower_buffer_points;
lower_buffer_points lower_start_points(lowering *l, tile_op op, const tile_layout *layout);
/* Returns the element offset of a register of the tile; *predicate: it is in bounds of the
 * buffer. */
tile_value lower_point_offset(lowering *l, const lower_buffer_points *p, unsigned register_,
                              tile_value *predicate);
/* op's pad in each element of a scalar or vector with this type. */
tile_value lower_pad_of(lowering *l, tile_op op, const tile_type *type);
/* lookup.c: a gather along an axis within one warp, by shuffles. */
tile_value lower_lookup(lowering *l, tile_op op, unsigned axis);
/* A load from a shared buffer, or a store to one, element by element. False if op is none. */
bool lower_gathered_load(lowering *l, tile_op op, tile_value *result);
bool lower_scattered_store(lowering *l, tile_op op);
/* The loaded value where the predicate holds, else op's pad. */
tile_value lower_pad(lowering *l, tile_op op, tile_value loaded, tile_value predicate);
tile_value lower_inside(lowering *l, tile_op op);
/* A gather from a tile along an axis, through its buffer or by shuffles. */
tile_value lower_gather(lowering *l, tile_op op);
/* Access of one element: all threads load it, the first thread stores it. */
tile_value lower_load_scalar(lowering *l, tile_op op);
void lower_store_scalar(lowering *l, tile_op op);

/* prefetch.c ---------------------------------------------------------------------------------- */

void lower_prefetch(lowering *l, tile_op op);

/* shared.c ------------------------------------------------------------------------------------ */

/* A fragment in a shared buffer: the contribution of each register, lane and warp bit of the tile's
 * layout to the element offset within the stage. */
typedef struct lower_shared_map {
    tile_value buffer;
    tile_value stage;    /* element offset of the stage's beginning */
    tile_value begin;    /* start of a part of the stage, combined by exclusive-or; or no value */
    uint32_t begin_bits; /* bits that begin may have */
    uint32_t origin;     /* begin if it is a constant */
    unsigned part_bits;  /* part p begins at element p << part_bits */
    uint32_t reg[TILE_LAYOUT_MAX_BITS];
    uint32_t lane[TILE_LANE_BITS];
    uint32_t warp[TILE_LAYOUT_MAX_WARP_BITS];
} lower_shared_map;

/* Sets the offset contributions of a tile with this layout that begins at these coordinates (NULL:
 * at 0), in memory with the layout `memory`. */
void lower_map_part(lowering *l, const tile_layout *memory, const tile_value *coordinates,
                    const tile_layout *layout, lower_shared_map *map);
/* A register's contribution to the offset. */
uint32_t lower_register_offset(const lower_shared_map *map, const tile_layout *layout,
                               unsigned register_);
/* A fragment of one whole stage, which begins at an element offset. buffer: a value of the old
 * body. */
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

/* element: a shared buffer, its stage if it has stages, and for a part the coordinates of its
 * start; in the old body. */
lower_shared_map lower_map_shared(lowering *l, const tile_value *element, unsigned count,
                                  const tile_layout *layout);
lower_shared_access lower_start_shared(lowering *l, const lower_shared_map *map,
                                       const tile_layout *layout, unsigned widest);
/* The element offset in the buffer of a register of the fragment. */
tile_value lower_shared_access_offset(lowering *l, const lower_shared_access *a,
                                      unsigned register_);
/* whole_warps: all lanes execute the access, so that ldmatrix is allowed. */
tile_value lower_load_shared(lowering *l, const tile_value *element, unsigned count,
                             const tile_type *tile, bool whole_warps);
void lower_store_shared(lowering *l, tile_value fragment, const tile_type *tile,
                        const tile_value *element, unsigned count);

tile_value lower_load_mapped(lowering *l, const lower_shared_map *map, const tile_type *tile,
                             bool whole_warps);
void lower_store_mapped(lowering *l, tile_value fragment, const lower_shared_map *map,
                        const tile_type *tile);
/* Assumes that the coordinates are in bounds, `inside` (no value: provably), where the predicate
 * holds (no value: always). The CPU device reports violations. buffer: in the old body. */
void lower_assume_in_bounds(lowering *l, tile_value buffer, tile_value inside,
                            tile_value predicate);
/* i1: `run` elements along the last dim, beginning at these coordinates of the old body, are in
 * bounds of the buffer; no value if that is provable. */
tile_value lower_in_bounds_of_buffer(lowering *l, const tile_type *buffer, const tile_value *index,
                                     unsigned run);
/* For an access whose element operand consists of the buffer, a stage if it has stages, and
 * coordinates. */
void lower_assume_element_in_bounds(lowering *l, tile_op op, const tile_value *element,
                                    unsigned run);

/* store.c ------------------------------------------------------------------------------------- */

/* A store_async. */
void lower_store_async(lowering *l, tile_op op);

/* store_rows.c -------------------------------------------------------------------------------- */

/* Stores the rows of a store_async's pieces to a view whose rows begin anywhere. NULL if there is
 * a better way. warp_bits: log2 of the warps of a group. */
typedef struct lower_rows lower_rows;
lower_rows *lower_find_rows(lowering *l, tile_op op, unsigned warp_bits);
/* Begins a run of `count` pieces along the rows. begin: the distance of the first piece from the
 * store's coordinates. */
void lower_begin_rows(lowering *l, lower_rows *rows, const tile_value *begin, unsigned count);
/* Stores what the run's pieces up to j have of each row, except for elements that a later piece
 * stores. All threads of the group execute it, after they have written piece j. stage, previous:
 * the element offsets of the stages of piece j and of the one before; no value for j = 0. */
void lower_store_rows(lowering *l, lower_rows *rows, unsigned j, tile_value stage,
                      tile_value previous);

/* store_fusion.c ------------------------------------------------------------------------------ */

/* Sets `fused`: the tile operations whose values only piecewise stores use. */
void lower_find_store_fused(lowering *l);

/* store_frames.h */
typedef struct lower_frame lower_frame;

/* The operations that a piecewise store_async computes itself. */
typedef struct lower_store_fusion {
    tile_value tile; /* of the old body */
    lower_frame *frames;
    unsigned frame_count;
    uint8_t *frame; /* by old value: 1 + the number of its frame; 0: none */
    tile_op *ops;   /* of the old body, in reverse order */
    unsigned count;
    size_t values; /* number of values in the old body */
    bool is_long;  /* many instructions per element */
} lower_store_fusion;
lower_store_fusion lower_start_store_fusion(lowering *l, tile_op op, const tile_pieces *pieces);
/* Bytes that a thread loads for one piece. */
unsigned lower_store_fused_load_bytes(const lowering *l, const lower_store_fusion *fused);
/* Returns whether the operations can be computed for these pieces: each has whole rows of what it
 * reduces. */
bool lower_fits_pieces(lowering *l, const lower_store_fusion *fused, const tile_pieces *pieces);

typedef struct lower_piece {
    const lower_store_fusion *fused;
    unsigned index;                     /* of the piece */
    tile_value (*ahead)[TILE_MAX_RANK]; /* by frame: where it starts in the tile */
    tile_value *known;                  /* by old value: parts that are already built */
} lower_piece;
lower_piece lower_start_piece(lowering *l, const lower_store_fusion *fused, unsigned index,
                              const tile_value *ahead);
/* lower_load_store_fused loads the inputs of a piece. lower_compute_store_fused, possibly later,
 * computes its fragment in the register order of the piece's layout. */
void lower_load_store_fused(lowering *l, const lower_piece *piece);
tile_value lower_compute_store_fused(lowering *l, const lower_piece *piece);

/* shared_sum.c -------------------------------------------------------------------------------- */

/* Sets `fused`: loads from a shared buffer and additions whose sums are stored there again. */
void lower_find_shared_sums(lowering *l);
/* Stores such a sum. False if the stored tile is none. */
bool lower_shared_sum(lowering *l, tile_op store);

/* atomic.c ------------------------------------------------------------------------------------ */

/* Returns the old elements, or no value for a scalar whose old value is unused. */
tile_value lower_atomic(lowering *l, tile_op op);
/* lower_tiles.c: appends a barrier to the code built so far, unless it already ends with one. */
void lower_end_with_sync(lowering *l);

/* barrier.c ----------------------------------------------------------------------------------- */

void lower_alloc_barrier(lowering *l, tile_op op);
/* Barriers allocated in the arithmetic prefix of the kernel are initialized at its start by one
 * warp, while the others compute the prefix. */
void lower_begin_barriers(lowering *l);
/* Initializes the allocated barriers and synchronizes the block before any other effect. */
void lower_sync_after_barrier_init(lowering *l);
/* Returns whether op, including its regions, only performs arithmetic or names memory. */
bool lower_is_arithmetic(const tile_function *f, tile_op op);
void lower_barrier_arrive(lowering *l, tile_op op);
void lower_barrier_wait(lowering *l, tile_op op);
void lower_ordered_issue(lowering *l, tile_op op);

/* copy.c -------------------------------------------------------------------------------------- */

void lower_copy(lowering *l, tile_op op);
/* The layout that distributes a copy with index tiles or a predicate over threads, derived from the
 * layouts of these operands. False if there is none. */
bool lower_gathered_copy(const tile_function *f, const tile_range *ranges, tile_op op,
                         tile_layout *layout);

/* tma.c --------------------------------------------------------------------------------------- */

/* A copy_async with a barrier, or to a view, by TMA. False after a remark. */
bool lower_tma(lowering *l, tile_op op);
/* The barrier_arrive that expects the bytes of a copy_async with a barrier, or TILE_NO_OP. */
tile_op lower_arrival_of(const lowering *l, tile_op copy);
/* The bytes that a barrier_arrive expects. */
int64_t lower_arriving_bytes(const lowering *l, tile_op arrive);

/* Whether a coordinate of the old body is not negative, unless it has overflowed i32. */
bool lower_is_natural(const lowering *l, tile_value value);
/* The TMA boxes of a stage in a store_async's ring; NULL after a remark. */
typedef struct lower_boxes lower_boxes;
lower_boxes *lower_find_boxes(lowering *l, tile_op op);
/* Returns whether lower_find_boxes would succeed, without building anything or emitting remarks. */
bool lower_has_boxes(const lowering *l, tile_op op);
/* Between begin and end, stages are copied to the view and form one bulk group. The thread for
 * which `starts` is true issues the copies. stage: the element offset of a stage. ahead: as for
 * lower_store_piece. */
void lower_begin_boxes(lowering *l, lower_boxes *boxes, tile_value starts);
void lower_store_boxes(lowering *l, tile_op op, const lower_boxes *boxes, tile_value stage,
                       const tile_value *ahead);
void lower_end_boxes(lowering *l, lower_boxes *boxes);

/* shape.c ------------------------------------------------------------------------------------- */

tile_value lower_iota(lowering *l, tile_op op);
/* Lowers the sum of an iota and a splat of a scalar. False if op is none. */
bool lower_shifted_iota(lowering *l, tile_op op);
tile_value lower_broadcast(lowering *l, tile_op op);
/* A comparison of tiles whose result is equal for adjacent elements of a thread: maps its result.
 * False if that is not provable. */
bool lower_compare(lowering *l, tile_op op);
/* A transpose, reshape, join, unjoin or slice, or a concat of tiles: maps its results. */
void lower_rearrange(lowering *l, tile_op op);
/* Reorders a fragment for another layout with the same threads. */
tile_value lower_reorder(lowering *l, tile_value source, const tile_type *from,
                         const tile_type *to);
/* Both lower an operation for one piece. lower_count: an iota, with `ahead` as for
 * lower_load_piece. lower_repeat: a broadcast of a value of the new body. */
tile_value lower_count(lowering *l, tile_op op, const tile_type *type, const tile_value *ahead);
tile_value lower_repeat(lowering *l, tile_value source, const tile_type *from, const tile_type *to);

/* fragment.c ---------------------------------------------------------------------------------- */

/* Lowers a `coordinates` operation: one value for each dim of the tile. */
void lower_coordinates(lowering *l, tile_op op, tile_value *coordinates);
tile_value lower_scalar(lowering *l, tile_op op);

/* reduce.c ------------------------------------------------------------------------------------ */

/* places: where the coordinates of a reduce_arg go, or NULL. */
tile_value lower_reduce(lowering *l, tile_op op, tile_value *places);
/* A reduce of one piece of its operand, which has whole rows. from, to: the types of the pieces. */
tile_value lower_reduce_piece(lowering *l, tile_op op, tile_value piece, const tile_type *from,
                              const tile_type *to);
/* Register i of the result is register order[i] of the vector. */
tile_value lower_permute(lowering *l, tile_value vector, const int64_t *order, unsigned count);
tile_value lower_shfl(lowering *l, tile_value value, tile_value lane, const char *kind);
/* The tile type with the extents of its layout. */
const tile_type *lower_laid_out(lowering *l, tile_scalar scalar, const tile_layout *layout);

/* convert.c ----------------------------------------------------------------------------------- */

/* Converts a tile to another layout. */
tile_value lower_convert(lowering *l, tile_op op);

/* scan.c -------------------------------------------------------------------------------------- */

tile_value lower_scan(lowering *l, tile_op op);
/* A reduction or scan by a function; results: one for each operand. */
void lower_combine(lowering *l, tile_op op, tile_value *results);

/* sort.c -------------------------------------------------------------------------------------- */

tile_value lower_sort(lowering *l, tile_op op);

/* dot.c --------------------------------------------------------------------------------------- */

tile_value lower_dot(lowering *l, tile_op op);
/* Copies the signedness of the dot's operands to the built instruction. exchanged: its operands are
 * swapped. */
void lower_copy_signs(lowering *l, tile_op dot, tile_value product, bool exchanged);

/* wgmma.c ------------------------------------------------------------------------------------- */

/* A dot with `via = wgmma`. */
tile_value lower_wgmma(lowering *l, tile_op op);
/* Whether the dot's sums are equal in all rows of an instruction, so that it computes some rows. */
bool lower_has_equal_rows(const lowering *l, tile_op dot);

/* scaled_sum.c -------------------------------------------------------------------------------- */

/* The fma that scales and adds the dot's sums, if the code of the dot includes it. */
tile_op lower_scaled_sum(const lowering *l, tile_op dot);
tile_value lower_scale_of_sum(const tile_function *f, tile_op dot, tile_op fma);
/* The dot's code has computed the result of the fma, if it includes one. */
void lower_end_scaled_sum(lowering *l, tile_op dot, tile_value result);
/* Fills `deferred`, and marks these operations as fused. */
void lower_find_deferred(lowering *l);
/* Builds the operations that are deferred to the dot. */
void lower_deferred(lowering *l, tile_op dot);
/* lower_tiles.c: builds one operation. */
void lower_operation(lowering *l, tile_op op);
tile_value lower_dot_wait(lowering *l, tile_op op);
/* Returns whether carried value `index` of a loop of the old body is an accumulator that its first
 * wgmma overwrites, so that the initial zeros need not be written. */
bool lower_starts_sums(const lowering *l, tile_op loop, unsigned index);

/* fma.c --------------------------------------------------------------------------------------- */

/* A dot without a matrix instruction; both operands in shared memory. */
tile_value lower_fma_loop(lowering *l, tile_op op);
/* The estimated maximum number of its instructions, from types with layouts. */
int64_t lower_fma_length(const tile_type *acc, const tile_type *lhs);

/* print.c ------------------------------------------------------------------------------------- */

void lower_print(lowering *l, tile_op op);

#endif
