/* The interface between the files of the schedule pass.
 *
 * A compute is cut into groups, each of which becomes one kernel (cut/cut.c). Groups exchange
 * arrays in memory: the compute's arguments and results, and scratch of the plan. Within a group,
 * every value is computed where it is used, for one tile of the group's domain at a time. A map
 * gives the position in the domain of each element of a value. Operations that only move elements
 * change the map, not the elements (map.c). Windows and reshapes of windows need computed
 * coordinates (window.c, index.c).
 *
 * value.c builds the tile of a value for a map, place.c computes positions, and memory.c builds
 * loads and stores. Each kind of group has files that define its tiles and their order:
 * elementwise.c; rows/rows.c (with rows/sums.c, rows/assign_loops.c, rows/parts.c, rows/scan.c,
 * rows/tail.c); products/matmul.c; online/online.c (with cut/classify.c, cut/fuse.c, online/mask.c,
 * online/rescaled.c, online/points.c, online/grid.c, online/split.c, online/pack.c). */
#ifndef TILE_PASSES_SCHEDULE_KERNEL_SCHEDULE_H
#define TILE_PASSES_SCHEDULE_KERNEL_SCHEDULE_H

#include "lib/ir/effects.h"
#include "lib/ops/dims.h"
#include "passes/pass.h"
#include "passes/schedule/kernel/coordinate.h"

typedef struct sched_online sched_online;

typedef enum sched_kind {
    SCHED_ELEMENTWISE,
    SCHED_ROWS,     /* reductions along one axis, and what is computed from them */
    SCHED_WINDOWED, /* reductions over the positions of windows, and what is computed from them */
    SCHED_MATMUL,   /* a product, and element-wise functions of its result */
    SCHED_ONLINE,   /* reductions and products along one axis of values that are not stored */
} sched_kind;

typedef enum sched_place { SCHED_ARGUMENT, SCHED_RESULT, SCHED_SCRATCH } sched_place;

/* An array in memory that holds a value of the compute. */
typedef struct sched_array {
    const char *name;
    tile_value value;
    sched_place place;
    const tile_expr *strides[TILE_MAX_RANK]; /* as those of sched_shape */
    const struct sched_shape *declared;      /* of the view argument; NULL: as the value's */
} sched_array;

/* The dims of an array in memory, or of a view of it. */
typedef struct sched_shape {
    const tile_type *type;
    const tile_expr *strides[TILE_MAX_RANK]; /* over the compute's parameters; NULL: row-major */
} sched_shape;

typedef struct sched_output {
    unsigned array;
    sched_map map; /* by the array's dims; of a part, by the part's */
    /* Of an array that is a concat: the part that the group stores, which begins at `first` along
     * `axis`; 0: the array's value. */
    tile_value part;
    unsigned axis;
    const tile_expr *first;
} sched_output;

/* An array that is read. */
typedef struct sched_input {
    unsigned array;
    bool same;     /* every use reads it at the coordinates of map, over the domain */
    sched_map map; /* by the array's dims */
    /* If all uses read this reshape of the array's value, over the domain: map is by its dims. */
    tile_value reshape;
} sched_input;

typedef struct sched_group {
    sched_kind kind;
    sched_domain domain;
    tile_op root; /* matmul; online: the last carried reduction; rows: a long scan */
    tile_op dual; /* matmul: the second product, of the same left operand (cut/dual.c) */
    sched_online *online;
    unsigned axis;      /* rows: the domain's dim that is reduced */
    bool own_domain;    /* rows: few and long; each reduction is split separately */
    bool chains;        /* rows: of a long scan, the root, without other reductions */
    const bool *passed; /* by value: reshapes between an output and the domain; NULL: none */
    sched_output *outputs;
    size_t output_count, output_capacity;
    sched_input *inputs; /* arrays that are read where they are needed */
    size_t input_count, input_capacity;
    tile_op *reductions; /* the group's reductions, in order of their dependencies */
    size_t reduction_count, reduction_capacity; /* windowed: also reductions inside of others */
    /* matmul with reductions (cut/absorb.c): the domain of its epilogue, in which its maps are, and
     * the dim of it that is reduced. This is the last one, the product's columns, or, if `width` is
     * given, groups of that many columns, with the number of groups as the dim before. Or it is the
     * product's rows, the last dim but one. */
    bool has_rows;
    sched_domain rows;
    unsigned reduced;
    const tile_expr *width;
    tile_function *kernel;
    bool recomputes; /* windowed: also reductions whose results are in memory */
    bool repeated;   /* a loop of the plan launches the kernel */
    bool reversed;   /* the kernel's first blocks compute the last elements */
    bool moves;      /* matmul: reshapes and slices of the root's result are traversed */
    /* matmul: the number of parts that its sums need, over arguments that all created functions
     * have; 0 at sizes that need no parts. NULL: no size needs parts. */
    const tile_expr *parts;
} sched_group;

/* A part of a tensor along one dim, which may begin or end outside, over the compute's
 * parameters. */
typedef struct sched_part {
    const char *name; /* of the operation */
    tile_loc loc;
    const tile_expr *first, *size, *whole;
} sched_part;

typedef struct schedule {
    tile_pass *pass;
    tile_arena *arena;
    tile_context *context;
    tile_function *compute;
    bool is_section;   /* compute is a part of another one (sections/sections.h) */
    bool has_variable; /* the last dim is the variable of the kernel's loop, not an argument */
    bool failed;
    const sched_part *parts; /* that kernels check (sections/bounds.c) */
    size_t part_count;
    /* The compute's dims and integers, which are the first arguments of all created functions, in
     * this order. Parameters with a given value are not included. */
    const tile_param_decl **dims;
    const char **dim_names; /* names of the arguments */
    unsigned dim_count;
    bool *expands;                /* by value: contains windows, so it is larger than its sources */
    struct sched_repeat *repeats; /* by value: cut/traverse.c */
    unsigned char *free;          /* by value: kernel/view.c */
    struct sched_masked_operands *hidden; /* cut/masked_operand.c; NULL: none */
    struct sched_scaled *scaled;          /* kernel/scaled.h */
    size_t scaled_count, scaled_capacity;
    struct sched_packed *packed; /* kernel/packed.h */
    size_t packed_count, packed_capacity;
    sched_shape *declared; /* of results, by index; NULL: as their values (kernel/ordered.c) */
    sched_array *arrays;
    size_t array_count, array_capacity;
    sched_group **groups; /* each follows the groups whose arrays it reads */
    size_t group_count, group_capacity;
} schedule;

/* Reports an error at the operation (0: at the compute) and stops the pass. */
#define SCHED_FAIL(s, op, ...) \
    ((s)->failed = true, \
     tile_report((s)->context, TILE_ERROR, \
                 (op).id ? tile_op_loc((s)->compute, (op)) : (s)->compute->loc, __VA_ARGS__))

/* compute.c ------------------------------------------------------------------------------------ */

/* A parameter's given value, or its default type or number, as text; NULL if there is none. */
const char *sched_given(const schedule *s, const char *param);
/* Whether a user gives a value to this parameter of kernels: the option SCHED_GIVEN and its name.
 */
bool sched_is_given(const schedule *s, const char *param);
#define SCHED_GIVEN "given."
/* Its value, a positive number; 0: none is given; -1: it is not such a number. */
int64_t sched_given_number(const schedule *s, const char *param);
/* An expression of the compute over the arguments of a created function, in which dims are
 * arguments. */
const tile_expr *sched_expr(schedule *s, const tile_expr *expr);
/* The type of one element, a scalar type. */
const tile_type *sched_element(schedule *s, tile_value value);
/* The type of its arithmetic: f32 for 16-bit floats, so that values are not rounded between casts,
 * as at level 1. */
const tile_type *sched_compute_type(schedule *s, const tile_type *element);
static inline bool sched_is_half(const tile_type *element) {
    return element->scalar == TILE_f16 || element->scalar == TILE_bf16;
}
static inline const tile_type *sched_type(const schedule *s, tile_value value) {
    return tile_value_type(s->compute, value);
}
/* An expression of the compute with given parameters replaced by their values. */
const tile_expr *sched_resolved(schedule *s, const tile_expr *expr);
/* Does so in the extents of all tensors of the compute, and in the groups of convolutions. */
void sched_resolve_extents(schedule *s);
/* A dim of a tensor, resolved like that. */
const tile_expr *sched_dim(schedule *s, const tile_type *type, unsigned d);
/* The value of a constant expression, else -1. */
static inline int64_t sched_constant(const tile_expr *expr) {
    int64_t value;
    return tile_expr_is_int(expr, &value) ? value : -1;
}
/* The type in which a product of such elements is summed. */
const tile_type *sched_sum_type(schedule *s, tile_op matmul, tile_scalar multiplied);
/* A name beginning with `stem` that no function of the module has. */
const char *sched_unique_name(schedule *s, const char *stem);
int64_t sched_axis(const schedule *s, tile_op op);
/* Returns whether op is a scan or sort: it works along rows and preserves the number of
 * elements. */
bool sched_is_along(const schedule *s, tile_op op);
/* Returns whether the blocks of a cluster can hold a row of so many elements, for reductions such
 * as op. extent -1: it is not known. */
enum { SCHED_PART_OF_ROW = 16384 /* elements */, SCHED_CLUSTER = 8 /* blocks, on all GPUs */ };
bool sched_fits_cluster(const schedule *s, tile_op op, int64_t extent);
/* The array that the group reads for exactly this value; -1 if there is none. */
int sched_input_of(const schedule *s, const sched_group *g, tile_value value);
/* The array that the group reads for a value: one that holds the value, or its elements in the same
 * order (a reshape). -1 if the value is computed. */
int sched_find_input(const schedule *s, const sched_group *g, tile_value value);

/* Maps a value to the position, counted from 1, of its latest entry in a list; each entry holds the
 * position of the previous one. Zero-initialized: empty. */
typedef struct sched_last_entry {
    uint32_t value, place;
} sched_last_entry;

typedef struct sched_last_entries {
    sched_last_entry *heads; /* hash table by value; 0: free */
    size_t count, capacity;
} sched_last_entries;

/* The value's position, initially 0. The pointer is valid until the next call. */
uint32_t *sched_last_entry_of(tile_arena *arena, sched_last_entries *latest, tile_value value);

/* Values together with the maps at which they are used, so that a traversal visits each pair once.
 * Zero-initialized: empty. */
typedef struct sched_visited_value {
    tile_value value;
    uint32_t before; /* the previous entry of the value */
    sched_map map;
} sched_visited_value;

typedef struct sched_visited_values {
    sched_visited_value *items;
    size_t count, capacity;
    sched_last_entries latest;
} sched_visited_values;

/* The maximum number of maps at which one value may be used for an element of a result. Each one
 * becomes a separate load or computation, and nested concats double the number. */
enum { SCHED_MAX_PLACES = 1000 };

/* Returns whether this is the first visit, and records it. Fails at the maximum. */
bool sched_visit_first(schedule *s, sched_visited_values *visits, tile_value value,
                       const sched_map *map);
/* map.c ---------------------------------------------------------------------------------------- */

sched_map sched_identity(const sched_domain *domain);
/* Returns whether the operation is element-wise or only moves elements, so that it needs no
 * array. */
bool sched_is_inline(schedule *s, tile_op op);
/* The map of an operand's elements, if the elements of result `result` are at map. */
sched_map sched_operand_map(schedule *s, tile_op op, unsigned result, unsigned operand,
                            const sched_map *map);
/* The dim of the source that becomes dim d of a transpose. */
unsigned sched_transposed_dim(const schedule *s, tile_op transpose, unsigned d);
/* The coordinate along the axis of a concat, relative to one of its parts; negative before the
 * part. */
sched_coordinate sched_part_coordinate(schedule *s, tile_op op, unsigned operand,
                                       const sched_map *map);
bool sched_same_map(const sched_map *a, const sched_map *b, unsigned rank);
/* The source of operations that repeat or move elements of the group's input; slices: also of
 * slices. */
tile_value sched_without_moves(schedule *s, const sched_group *g, tile_value value, bool slices);

/* view.c --------------------------------------------------------------------------------------- */

/* Returns whether a reshape or gather of a computed value is computed where it is used. */
bool sched_is_free(schedule *s, tile_op op);
/* The same for a reshape, asked again: reductions that it needs have been planned since. */
bool sched_becomes_free(schedule *s, tile_op reshape);
/* Returns whether the elements of a value at map are contiguous in runs of a sector, or along a dim
 * of the domain. Only the tiles of a product extend far along other dims than the last one. */
bool sched_stores_runs(schedule *s, tile_value value, const sched_map *map,
                       const sched_domain *domain, bool product);
/* The map of the elements that a gather takes. */
sched_map sched_gathered(schedule *s, tile_op op, const sched_map *map);

/* shape.c -------------------------------------------------------------------------------------- */

/* Merges dims whose coordinates are parts of one coordinate, in the map as well: the dims of a view
 * of the same elements. */
void sched_merge_shape(schedule *s, sched_shape *shape, sched_map *map);

/* strides.c ------------------------------------------------------------------------------------ */

/* Returns whether a dim with stride `outer` continues one with this extent and the stride `inner`.
 */
bool sched_is_contiguous(schedule *s, const tile_expr *outer, const tile_expr *extent,
                         const tile_expr *inner);
/* The strides of a reshaped array; false if it has none, because dims that merge are not
 * contiguous. */
bool sched_reshape_strides(schedule *s, const sched_shape *from, const tile_type *to,
                           const tile_expr *strides[TILE_MAX_RANK]);
/* The array that holds the value; -1: none. */
int sched_array_of(const schedule *s, tile_value value);
/* The group that writes an array; -1 if the caller provides it, or if none does. */
int sched_writer_of(const schedule *s, unsigned array);
/* Returns whether a group writes it, or the caller provides it. */
bool sched_is_planned(const schedule *s, tile_value value);
/* Adds an array with the strides that the compute declares for it; returns its index. */
unsigned sched_add_array(schedule *s, const char *name, tile_value value, sched_place place);
/* The shape of the array for a value: its own, or a reshape of it. */
sched_shape sched_shape_of(schedule *s, unsigned array, tile_value value);
/* The shape of a value that is or may become an array. */
sched_shape sched_find_shape(schedule *s, tile_value value);
/* The dims in the order of memory, the contiguous one last. */
void sched_memory_order(schedule *s, const sched_shape *shape, unsigned order[TILE_MAX_RANK]);
/* The dim of the array whose elements are contiguous. */
unsigned sched_contiguous_dim(schedule *s, unsigned array);
/* Adds the view argument of the array to a kernel or plan. */
tile_value sched_add_view(schedule *s, tile_function *f, unsigned array);
/* Gives reshapes that are no views of their strided operand an array to read. The schedule then has
 * a copy of the compute. */
void sched_copy_reshaped(schedule *s);

/* ordered.c ------------------------------------------------------------------------------------ */

/* Computes results with strides in the order of their memory where all operations allow that. The
 * schedule then has a copy of the compute. */
void sched_order_results(schedule *s);

/* narrow.c ------------------------------------------------------------------------------------- */

/* For a cast without attributes to a wider type, whose operand matrix instructions can multiply:
 * the operand. Else the value itself. */
tile_value sched_strip_cast(schedule *s, tile_value value);
/* The source of a broadcast, or of several broadcasts in a row. */
tile_value sched_strip_broadcasts(const schedule *s, tile_value value);
/* The value that a product multiplies for this operand: if both operands are casts to a wider type
 * and instructions can multiply their sources, the source of the cast. */
tile_value sched_multiplied(schedule *s, tile_op matmul, unsigned operand);
/* The number of operands, beginning with the first, whose elements op moves to its only result; 0
 * if it does not move elements. */
unsigned sched_moved_operands(const schedule *s, tile_op op);
/* Returns whether op moves the elements of one operand, and their positions depend only on the
 * result's positions. */
bool sched_only_moves(const schedule *s, tile_op op);
/* Replaces the schedule's compute by a copy that is not part of the module. */
void sched_clone_compute(schedule *s);
/* Builds a reduction in the compute. The axis remains as a dim of extent 1. kind: "add", "max",
 * .. */
tile_value sched_reduce(schedule *s, tile_builder *b, tile_value value, unsigned axis,
                        const char *kind);
/* Moves casts of both operands of a product to after the operations that move elements. The
 * schedule then has a copy of the compute, which is not part of the module. */
void sched_move_casts(schedule *s);

/* sliced.c ------------------------------------------------------------------------------------- */

/* Returns whether the value is a slice of a product whose dims were moved, or computed of one by at
 * most so many element-wise operations. */
bool sched_is_sliced_product(const schedule *s, tile_value value, unsigned steps);

/* window.c ------------------------------------------------------------------------------------- */

/* Fills `expands`, and begins with an empty `free`. */
void sched_mark_expanded(schedule *s);
/* The map of the operand, which has this rank. */
sched_map sched_windowed(schedule *s, tile_op op, unsigned rank, const sched_map *map);
/* Returns whether out-of-bounds accesses to the array give the window's padding. */
bool sched_is_padded(const schedule *s, const sched_group *g, tile_op window);

/* A kernel being made -------------------------------------------------------------------------- */

enum { SCHED_MAX_TILE = 3 };

/* The parameters of kernels whose sums may be split into parts. */
#define SCHED_SPLIT "split"
#define SCHED_STRATEGY "strategy"

typedef struct sched_known {
    uint32_t value, before; /* (sched_last_entries) */
    const tile_type *element;
    sched_map map;
    tile_value tile;
} sched_known;

/* The elements of windows, with their padding: a value read at coordinates that may be outside. */
typedef struct sched_padded {
    tile_value value;
    sched_map map;
    const tile_expr *pad;
    const tile_type *element;
    tile_value tile;
} sched_padded;

typedef struct sched_kernel sched_kernel;

/* Builds the result of a reduction at map (SCHED_WINDOWED). */
typedef tile_value sched_reduce_builder(sched_kernel *k, tile_op op, unsigned result,
                                        const sched_map *map, const tile_type *element);

/* Loads one of several contiguous elements that a thread needs (windows/lanes.c). No value: it is
 * not one of them. pad: outside of the array; NULL: 0. */
typedef tile_value sched_lane_loader(sched_kernel *k, unsigned array, tile_value value,
                                     const sched_map *map, const tile_expr *pad);

struct sched_kernel {
    schedule *s;
    sched_group *g;
    tile_function *f;
    tile_builder b;
    tile_value *arrays;  /* by array: the view argument; 0: none */
    tile_value *scalars; /* by the compute's arguments */
    unsigned tile_rank;
    int tile_of[SCHED_MAX_DIMS]; /* by the domain's dim: the tile's dim; -1: one coordinate */
    const tile_expr *block[SCHED_MAX_TILE];
    tile_value start[SCHED_MAX_DIMS]; /* by the domain's dim: the start of the tile, i32 */
    sched_known *known;               /* tiles that are already built; those of the current region
                                         are last */
    size_t known_count, known_capacity;
    sched_last_entries latest; /* index of `known` */
    unsigned depth;            /* recursion depth of sched_value */
    tile_value variable;       /* of the loop, if the schedule has one */
    double pad;                /* default pad of loads that may choose one */
    bool covers;               /* index tiles lack the tile's last dim (points.c) */
    unsigned run;              /* coordinates along the tile's last dim are this far apart; 0: 1 */
    const tile_expr *end;      /* of flat arrays: accesses end here; NULL: at the arrays' end */
    bool straight;             /* accesses have the tile's dims in the tile's order, by strides */
    bool single;               /* loads of one element are scalars */
    bool streams;              /* each element of the domain is read once, and few are written */
    sched_reduce_builder
        *reduce; /* of windowed kernels, whose coordinates are simplified; or NULL */
    sched_lane_loader *load_lane; /* of windowed kernels; or NULL */
    sched_padded *padded;         /* of windowed kernels */
    size_t padded_count, padded_capacity;
};

/* flat.c */

/* Gives an element-wise group a domain of one dim, if this pays and its arrays permit it. *whole:
 * its elements up to the last whole vector. */
bool sched_flatten(schedule *s, sched_group *g, int64_t *whole);

/* kernel.c */

/* Creates a kernel with the arguments that the group needs, or all of the compute's if it is the
 * only group. */
void sched_kernel_open(sched_kernel *k, schedule *s, sched_group *g, const char *name);
/* Builds the checks of the schedule's parts. */
void sched_check_parts(sched_kernel *k);
/* The bytes of the array; -1: not known. */
int64_t sched_count_bytes(schedule *s, unsigned array);
/* A parameter of kind int; returns it as an expression. */
const tile_expr *sched_add_param(sched_kernel *k, const char *name);
/* tune (names) in [points]: point_count x name_count numbers. */
void sched_add_tune(sched_kernel *k, const tile_expr *const *params, unsigned param_count,
                    const int *points, unsigned point_count);
/* Assigns dim t of the tiles to the domain's dim, with `block` elements. */
void sched_set_tile(sched_kernel *k, unsigned dim, unsigned t, const tile_expr *block);
/* Sets the grid: one block per tile of the domain, with the last dim's tiles adjacent. The block
 * itself iterates over dim `whole` (-1: none), beginning at 0. Sets start. */
void sched_set_grid(sched_kernel *k, int whole);
/* The number of those blocks. */
const tile_expr *sched_count_tiles(const sched_kernel *k, int whole);
/* Sets start to the tile with this number; no value: block_id. */
void sched_place_tiles(sched_kernel *k, int whole, tile_value number);
/* An expression over arguments and parameters of the kernel, as an i32. */
tile_value sched_number(sched_kernel *k, const tile_expr *expr);
const tile_type *sched_tile_type(const sched_kernel *k, const tile_type *element,
                                 const tile_expr *const *dims);
/* The type of a whole tile. */
const tile_type *sched_full_type(const sched_kernel *k, const tile_type *element);
/* Sets the number of warps, as `tune` offers it together with the blocks. */
void sched_set_warps(sched_kernel *k, const tile_expr *warps);

/* value.c */

/* Builds the value's elements at map for the tile at k->start, with element type `element`. The
 * result is a tile whose extents are those of the tile's dims or 1, or a scalar if all elements are
 * equal. */
tile_value sched_value(sched_kernel *k, tile_value value, const sched_map *map,
                       const tile_type *element);
/* Broadcasts the value to the type if needed. */
tile_value sched_broadcast_to(sched_kernel *k, tile_value value, const tile_type *to);
/* Broadcasts the value to the extents of the whole tile. */
tile_value sched_broadcast_to_tile(sched_kernel *k, tile_value value);
tile_value sched_convert(sched_kernel *k, tile_value value, const tile_type *element);
/* A quotient whose divisor is one number per row. */
tile_value sched_divide(sched_kernel *k, tile_value a, tile_value b, const tile_type *type);
/* Combines two values of a reduction of this kind. nan: NaN propagates. None for other kinds. */
tile_value sched_combine(sched_kernel *k, tile_word kind, bool nan, tile_value a, tile_value b);
/* Returns whether b, at a higher coordinate, replaces a in a reduction that returns an index. Equal
 * values do not. */
tile_value sched_is_better(sched_kernel *k, tile_word kind, tile_value a, tile_value b);
/* Scopes the cache of built values: values built in a region are not reused outside of it. */
static inline size_t sched_enter(const sched_kernel *k) {
    return k->known_count;
}
void sched_leave(sched_kernel *k, size_t mark);
void sched_remember(sched_kernel *k, tile_value value, const sched_map *map,
                    const tile_type *element, tile_value tile);

/* place.c */

/* The coordinates as an i32 tile or scalar. */
tile_value sched_coordinate_tile(sched_kernel *k, const sched_coordinate *at);
/* The coordinate of the tile's start, an i32. */
tile_value sched_begin(sched_kernel *k, const sched_coordinate *at);
/* The tile's dim along which the coordinate advances by one per element; -1 if it is constant;
 * SCHED_SCATTERED if there is no such dim. */
enum { SCHED_SCATTERED = -2 };
int sched_along(const sched_kernel *k, const sched_coordinate *at);
bool sched_is_scattered(const sched_kernel *k, unsigned rank, const sched_map *map);

/* memory.c */

tile_value sched_load(sched_kernel *k, unsigned array, tile_value value, const sched_map *map);
/* The same, with `pad` outside of the array. */
tile_value sched_load_padded(sched_kernel *k, unsigned array, tile_value value,
                             const sched_map *map, const tile_expr *pad);
void sched_store(sched_kernel *k, unsigned array, const sched_map *map, tile_value tile);
/* The value that the group stores to the output's array, or to a part of it. */
static inline tile_value sched_output_value(const schedule *s, const sched_output *output) {
    return output->part.id ? output->part : s->arrays[output->array].value;
}
/* Stores the tile at map, which is over the dims of the output's value. */
void sched_store_output(sched_kernel *k, const sched_output *output, const sched_map *map,
                        tile_value tile);
/* A view of the array with the value's dims, or those of a shape. */
tile_value sched_array_view(sched_kernel *k, unsigned array, tile_value value);
tile_value sched_shaped_view(sched_kernel *k, unsigned array, const sched_shape *shape);
/* An access to an array: a view whose last dims are these dims, in this order, preceded by the
 * array's other dims. order[i] < 0: a dim of extent 1. */
typedef struct sched_access {
    tile_value view;
    tile_value index[TILE_MAX_RANK];
    unsigned rank;
    const tile_type *tile;
    const tile_type *flat; /* not NULL: the access has runs, and `tile` is a reshape of this */
    bool permuted;
    int64_t order[SCHED_MAX_TILE]; /* dim i of the accessed tile is dim order[i] of the tile */
} sched_access;                    /* if the map is scattered, `index` contains index tiles */
bool sched_find_access(sched_kernel *k, unsigned array, tile_value value, const sched_map *map,
                       sched_access *out);
/* The same without elements after the end of a dim of the domain: index tiles move them out of
 * bounds. */
bool sched_find_ended_access(sched_kernel *k, unsigned array, tile_value value,
                             const sched_map *map, unsigned dim, sched_access *access);
/* If the map slices the array along this dim of the domain, along which the access has a tile's
 * dim, truncates the access's view at the end of the slice: elements after it read as 0. */
void sched_end_access(sched_kernel *k, unsigned array, tile_value value, const sched_map *map,
                      unsigned dim, sched_access *access);
/* The view of an access to the array, truncated at `end` along dim d. */
tile_value sched_part_view(sched_kernel *k, unsigned array, tile_value view, unsigned d,
                           tile_value end);

/* points.c */

/* Fills an access with index tiles. checked: the dims of the domain at whose ends the access must
 * end. runs: it may be of contiguous runs. */
void sched_find_points(sched_kernel *k, unsigned array, const sched_shape *shape,
                       const sched_map *declared, const tile_type *element, unsigned checked,
                       bool runs, sched_access *out);
/* multiples.c: whether there are tuning points at which the block is a multiple of `size`, and the
 * removal of the other ones. */
bool sched_has_multiples(const sched_kernel *k, const tile_expr *block, int64_t size);
void sched_keep_multiples(sched_kernel *k, const tile_expr *block, int64_t size);
/* shape.c: the shape of the view that accesses the array for a value at the map, which becomes the
 * map of the view's dims. */
sched_shape sched_split_shape(sched_kernel *k, unsigned array, tile_value value, sched_map *map);

/* elementwise.c: gives the group a kernel. */
void sched_make_elementwise(schedule *s, sched_group *g, const char *name);

#endif
