/* What the parts of the pass `schedule` share.
 *
 * A compute is cut into groups, each of which becomes one kernel (cut/cut.c). Between groups
 * stand arrays in memory: the compute's arguments and results, and scratch of the plan. Inside a
 * group every value is computed where it is used, for one tile of the group's domain at a time: a
 * map says where in the domain an element of the value is wanted, and operations that only move
 * elements change the map instead of the elements (map.c; for windows and reshapes of them
 * coordinates are computed of others, window.c and index.c). value.c
 * gives the tile of a value for a map, place.c says where its elements are,
 * memory.c loads and stores; a kind of group is a file that says which tiles there are and
 * in which order: elementwise.c, rows/rows.c (with rows/sums.c, rows/assign_loops.c,
 * rows/parts.c, rows/scan.c and rows/tail.c), products/matmul.c, online/online.c (with
 * cut/classify.c, cut/fuse.c, online/mask.c, online/rescaled.c, online/points.c,
 * online/grid.c, online/split.c and online/pack.c). */
#ifndef TILE_PASSES_SCHEDULE_KERNEL_SCHEDULE_H
#define TILE_PASSES_SCHEDULE_KERNEL_SCHEDULE_H

#include "lib/ops/dims.h"
#include "passes/pass.h"

/* One dim's coordinate of an element: a dim of the domain, or what is computed of coordinates, plus
 * an offset. */
typedef struct sched_coordinate {
    int dim;                         /* -1: none, the offset alone, or with an index */
    const tile_expr *offset;         /* over the compute's parameters; NULL: 0 */
    const struct sched_index *index; /* NULL: none */
} sched_coordinate;

typedef enum sched_index_kind {
    SCHED_SUM,    /* a * by + b */
    SCHED_PAIR,   /* the same where b is from 0 to by - 1, so that it is the remainder */
    SCHED_DIV,    /* a / by */
    SCHED_REM,    /* its remainder */
    SCHED_NUMBER, /* by alone */
} sched_index_kind;

/* A number that the compute has as a scalar, which may be known as an expression. */
typedef struct sched_scalar {
    const tile_expr *expr; /* over the compute's parameters; NULL: the value's */
    tile_value value;
} sched_scalar;

typedef struct sched_index {
    sched_index_kind kind;
    sched_coordinate a, b;
    sched_scalar by;
} sched_index;

/* Where in the domain an element of a value stands: as many coordinates as the value has dims. */
typedef struct sched_map {
    sched_coordinate at[TILE_MAX_RANK];
} sched_map;

enum { SCHED_MAX_DIMS = TILE_MAX_RANK + 2 };

/* What a group's kernel walks over. Extents are over the compute's parameters. */
typedef struct sched_domain {
    unsigned rank;
    const tile_expr *extents[SCHED_MAX_DIMS]; /* behind rank: what a kind adds to it */
} sched_domain;

typedef struct sched_online sched_online;

typedef enum sched_kind {
    SCHED_ELEMENTWISE,
    SCHED_ROWS,   /* reductions along one axis, and what is computed from them */
    SCHED_MATMUL, /* a product, and what is computed from its elements one by one */
    SCHED_ONLINE, /* reductions and products along one axis of values that are not stored */
} sched_kind;

typedef enum sched_place { SCHED_ARGUMENT, SCHED_RESULT, SCHED_SCRATCH } sched_place;

/* An array in memory that holds a value of the compute, row-major. */
typedef struct sched_array {
    const char *name;
    tile_value value;
    sched_place place;
} sched_array;

typedef struct sched_output {
    unsigned array;
    sched_map map; /* of the array's dims */
} sched_output;

/* An array that is read. */
typedef struct sched_input {
    unsigned array;
    bool same;     /* everywhere at the coordinates of map, of the domain */
    sched_map map; /* of the array's dims */
} sched_input;

typedef struct sched_group {
    sched_kind kind;
    sched_domain domain;
    tile_op root; /* matmul; online: what is folded last; rows: a long scan */
    sched_online *online;
    unsigned axis;   /* rows: the domain's dim along which is reduced */
    bool own_domain; /* rows: few and long, so that each reduction is cut into parts by itself */
    bool chains;     /* rows: of a long scan, the root, and no other reduction */
    sched_output *outputs;
    size_t output_count, output_capacity;
    sched_input *inputs; /* what is read, not computed, where it is needed */
    size_t input_count, input_capacity;
    tile_op *reductions; /* rows: those inside, in the order in which they are needed */
    size_t reduction_count, reduction_capacity;
    tile_function *kernel;
    /* matmul: how many parts its sums need, over arguments that all functions made have; 0 for
     * sizes at which they may be whole. NULL: for all sizes. */
    const tile_expr *parts;
} sched_group;

typedef struct schedule {
    tile_pass *pass;
    tile_arena *arena;
    tile_context *context;
    tile_function *compute;
    bool failed;
    /* The compute's dims and integers, which are arguments of all functions made, in this order,
     * before all others; a parameter with a value given is none of them. */
    const tile_param_decl **dims;
    const char **dim_names; /* of the arguments */
    unsigned dim_count;
    bool *expands; /* by value: windows are in it, so that it is larger than what it is made of */
    struct sched_repeat *repeats;         /* by value: cut/traverse.c */
    struct sched_masked_operands *hidden; /* cut/masked_operand.c; NULL: nothing is */
    sched_array *arrays;
    size_t array_count, array_capacity;
    sched_group **groups; /* each behind those whose arrays it reads */
    size_t group_count, group_capacity;
} schedule;

/* Reports at the operation (0: at the compute) and stops the pass. */
#define SCHED_FAIL(s, op, ...) \
    ((s)->failed = true, \
     tile_report((s)->context, TILE_ERROR, \
                 (op).id ? tile_op_loc((s)->compute, (op)) : (s)->compute->loc, __VA_ARGS__))

/* compute.c ------------------------------------------------------------------------------------ */

/* A value that the pass was given for a parameter, or the type or number that it has by default, as
 * text; NULL: none. */
const char *sched_given(const schedule *s, const char *param);
/* An expression of the compute over the arguments of a function made: dims are arguments there. */
const tile_expr *sched_expr(schedule *s, const tile_expr *expr);
/* The type of one element, a scalar's. */
const tile_type *sched_element(schedule *s, tile_value value);
/* What its arithmetic is done in: f32 for 16-bit floats, so that nothing is rounded between casts,
 * as at level 1. */
const tile_type *sched_compute_type(schedule *s, const tile_type *element);
static inline bool sched_is_half(const tile_type *element) {
    return element->scalar == TILE_f16 || element->scalar == TILE_bf16;
}
static inline const tile_type *sched_type(const schedule *s, tile_value value) {
    return tile_value_type(s->compute, value);
}
/* An expression of the compute in which parameters with a value given are replaced by it. */
const tile_expr *sched_resolved(schedule *s, const tile_expr *expr);
/* The dims of a tensor as such expressions. */
const tile_expr *sched_dim(schedule *s, const tile_type *type, unsigned d);
/* Of a constant, -1 else. */
static inline int64_t sched_constant(const tile_expr *expr) {
    int64_t value;
    return tile_expr_is_int(expr, &value) ? value : -1;
}
/* A name that no function of the module has, beginning with `stem`. */
const char *sched_unique_name(schedule *s, const char *stem);
int64_t sched_axis(const schedule *s, tile_op op);
/* Whether it is a scan or sort: along rows, with as many elements. */
bool sched_is_along(const schedule *s, tile_op op);
/* The array in which the group reads the value, -1: none. */
int sched_input_of(const schedule *s, const sched_group *g, tile_value value);
/* The array that the group reads for a value: one that holds it, or whose elements in order are its
 * elements (a reshape); -1: none, it is computed. */
int sched_find_input(const schedule *s, const sched_group *g, tile_value value);

/* By value the place of its latest entry in a list, counted from 1; each entry has the place of the
 * one before it. All zero: no value has one. */
typedef struct sched_last_entry {
    uint32_t value, place;
} sched_last_entry;

typedef struct sched_last_entries {
    sched_last_entry *heads; /* hashed by value; 0: free */
    size_t count, capacity;
} sched_last_entries;

/* The value's, 0 at first, to be read or set until the next call. */
uint32_t *sched_last_entry_of(tile_arena *arena, sched_last_entries *latest, tile_value value);

/* Values, and where they have been wanted: what goes through those that a value is made of comes to
 * each of them once. All zero: none yet. */
typedef struct sched_visited_value {
    tile_value value;
    uint32_t before; /* the value's one before it */
    sched_map map;
} sched_visited_value;

typedef struct sched_visited_values {
    sched_visited_value *items;
    size_t count, capacity;
    sched_last_entries latest;
} sched_visited_values;

/* At how many places a value may be wanted for one element of a result. Each becomes a load or a
 * computation of its own, and where concatenations nest they double with every one. */
enum { SCHED_MAX_PLACES = 1000 };

/* Whether it is the first time; then there is one more. Fails where there are too many. */
bool sched_visit_first(schedule *s, sched_visited_values *visits, tile_value value,
                       const sched_map *map);
/* map.c ---------------------------------------------------------------------------------------- */

sched_map sched_identity(const sched_domain *domain);
/* An operation that computes its elements one by one, or moves them: it needs no array. */
bool sched_is_inline(schedule *s, tile_op op);
/* Where an operand's elements are wanted, if those of result `result` are at map. */
sched_map sched_operand_map(schedule *s, tile_op op, unsigned result, unsigned operand,
                            const sched_map *map);
/* The coordinate along the axis of a concat in one of its parts: below 0 before it. */
sched_coordinate sched_part_coordinate(schedule *s, tile_op op, unsigned operand,
                                       const sched_map *map);
bool sched_same_map(const sched_map *a, const sched_map *b, unsigned rank);

/* index.c -------------------------------------------------------------------------------------- */

static inline sched_coordinate sched_dim_coordinate(unsigned dim) {
    return (sched_coordinate){(int)dim, NULL, NULL};
}
static inline sched_coordinate sched_zero_coordinate(void) {
    return (sched_coordinate){-1, NULL, NULL};
}
bool sched_same_coordinate(const sched_coordinate *a, const sched_coordinate *b);
/* The offset becomes offset `opcode` by. */
sched_coordinate sched_shifted(schedule *s, const sched_coordinate *at, tile_opcode opcode,
                               const tile_expr *by);
/* What is computed of coordinates; b of sums and pairs alone. Of a pair the quotient and the
 * remainder are its parts. */
sched_coordinate sched_computed(schedule *s, sched_index_kind kind, const sched_coordinate *a,
                                const sched_coordinate *b, const tile_expr *by);
/* a * by + b; a - by. Never simplified. */
sched_coordinate sched_sum(schedule *s, const sched_coordinate *a, sched_scalar by,
                           const sched_coordinate *b);
sched_coordinate sched_minus(schedule *s, const sched_coordinate *a, sched_scalar by);
/* Whether it changes along this dim of the domain. */
bool sched_depends(const sched_coordinate *at, unsigned dim);
/* Where elements of a reshape are in its operand, whose dims are taken together or apart; false: it
 * is neither. */
bool sched_reshaped(schedule *s, const tile_type *from, const tile_type *to, const sched_map *map,
                    sched_map *out);
/* The first dim of those, up to `last`, whose coordinates are one taken apart by their extents, so
 * that they may be one dim at the coordinate *out; `last` itself: there is none before it. */
unsigned sched_merge_dims(schedule *s, const tile_type *type, const sched_map *map, unsigned last,
                          sched_coordinate *out);
/* Whether a coordinate is computed of others. */
static inline bool sched_is_computed(unsigned rank, const sched_map *map) {
    bool computed = false;
    for (unsigned d = 0; d < rank; d++) computed |= map->at[d].index != NULL;
    return computed;
}
static inline bool sched_has_pairs(unsigned rank, const sched_map *map) {
    bool pairs = false;
    for (unsigned d = 0; d < rank; d++)
        pairs |= map->at[d].index && map->at[d].index->kind == SCHED_PAIR;
    return pairs;
}
/* The product of `whole` without the factors of `part`; NULL: they are none of its factors. */
const tile_expr *sched_without(schedule *s, const tile_expr *whole, const tile_expr *part);

/* narrow.c ------------------------------------------------------------------------------------- */

/* Behind a cast without attributes to a wider type, of what a product may multiply as it is: what
 * is cast; else the value. */
tile_value sched_strip_cast(schedule *s, tile_value value);
/* What is broadcast, also several times in a row. */
tile_value sched_strip_broadcasts(const schedule *s, tile_value value);
/* What a product multiplies of its operand: of casts to a wider type of both operands what is cast,
 * if instructions multiply that. */
tile_value sched_multiplied(schedule *s, tile_op matmul, unsigned operand);
/* How many operands, from the first one on, have the elements that op moves to its only result; 0:
 * it does not. */
unsigned sched_moved_operands(const schedule *s, tile_op op);
/* Whether these are one operand's, from places that follow from the result's alone. */
bool sched_only_moves(const schedule *s, tile_op op);
/* From now on the schedule has a copy of the compute, which the module has not. */
void sched_clone_compute(schedule *s);
/* A reduction in the compute; the axis keeps its dim, with an extent of 1. kind: "add", "max", ..
 */
tile_value sched_reduce(schedule *s, tile_builder *b, tile_value value, unsigned axis,
                        const char *kind);
/* Casts of both operands of a product that come before what moves elements come behind it.
 * The schedule then has a copy of the compute, which the module has not. */
void sched_move_casts(schedule *s);

/* window.c ------------------------------------------------------------------------------------- */

/* Fills `expands`. */
void sched_mark_expanded(schedule *s);
/* Where the operand's elements are, of this rank. */
sched_map sched_windowed(schedule *s, tile_op op, unsigned rank, const sched_map *map);
/* Whether an access to the array gives what a window has outside of its operand. */
bool sched_is_padded(const schedule *s, const sched_group *g, tile_op window);

/* A kernel being made -------------------------------------------------------------------------- */

enum { SCHED_MAX_TILE = 3 };

/* Parameters of kernels whose sums may be cut into parts. */
#define SCHED_SPLIT "split"
#define SCHED_STRATEGY "strategy"

typedef struct sched_known {
    uint32_t value, before; /* (sched_last_entries) */
    const tile_type *element;
    sched_map map;
    tile_value tile;
} sched_known;

typedef struct sched_kernel {
    schedule *s;
    sched_group *g;
    tile_function *f;
    tile_builder b;
    tile_value *arrays;  /* by array: the view argument, 0: none */
    tile_value *scalars; /* by the compute's argument */
    unsigned tile_rank;
    int tile_of[SCHED_MAX_DIMS]; /* by the domain's dim: which dim of a tile, -1: one coordinate */
    const tile_expr *block[SCHED_MAX_TILE];
    tile_value start[SCHED_MAX_DIMS]; /* by the domain's dim: where the tile begins, i32 */
    sched_known *known;               /* tiles that are there already, the current region's last */
    size_t known_count, known_capacity;
    sched_last_entries latest; /* of them */
    unsigned depth;            /* of sched_value in itself */
    double pad;                /* of loads, where they may choose it */
    bool straight;             /* accesses have the tile's dims in the tile's order, by strides */
    bool single;               /* loads of one element are scalars */
    bool streams;              /* each element of the domain is read once, and little is written */
} sched_kernel;

/* kernel.c */

/* A kernel with the arguments that the group needs, all of the compute's for the only one. */
void sched_kernel_open(sched_kernel *k, schedule *s, sched_group *g, const char *name);
/* A parameter of kind int; returns it as an expression. */
const tile_expr *sched_add_param(sched_kernel *k, const char *name);
/* tune (names) in [points]: point_count x name_count numbers. */
void sched_add_tune(sched_kernel *k, const tile_expr *const *params, unsigned param_count,
                    const int *points, unsigned point_count);
/* The domain's dim gets dim t of the tiles, block elements long. */
void sched_set_tile(sched_kernel *k, unsigned dim, unsigned t, const tile_expr *block);
/* The grid: one block for each tile of the domain, the last dim's tiles side by side; dim `whole`
 * (-1: none) is walked by the block itself, and begins at 0. Fills start. */
void sched_set_grid(sched_kernel *k, int whole);
/* An expression over arguments and parameters of the kernel as an i32. */
tile_value sched_number(sched_kernel *k, const tile_expr *expr);
const tile_type *sched_tile_type(const sched_kernel *k, const tile_type *element,
                                 const tile_expr *const *dims);
/* Of the extents of a whole tile. */
const tile_type *sched_full_type(const sched_kernel *k, const tile_type *element);
/* What `tune` offers beside the blocks. */
void sched_set_warps(sched_kernel *k, const tile_expr *warps);

/* value.c */

/* The value's elements at map for the tile at k->start: a tile whose extents are those of the
 * tile's dims or 1, or a scalar where all are the same; of element type `element`. */
tile_value sched_value(sched_kernel *k, tile_value value, const sched_map *map,
                       const tile_type *element);
/* Repeated to the type, if it is not of it. */
tile_value sched_broadcast_to(sched_kernel *k, tile_value value, const tile_type *to);
/* A tile of the whole extents. */
tile_value sched_broadcast_to_tile(sched_kernel *k, tile_value value);
tile_value sched_convert(sched_kernel *k, tile_value value, const tile_type *element);
/* A quotient by one number for a row. */
tile_value sched_divide(sched_kernel *k, tile_value a, tile_value b, const tile_type *type);
/* Keeps what is computed in a region inside of it. */
static inline size_t sched_enter(const sched_kernel *k) {
    return k->known_count;
}
void sched_leave(sched_kernel *k, size_t mark);
void sched_remember(sched_kernel *k, tile_value value, const sched_map *map,
                    const tile_type *element, tile_value tile);

/* place.c */

/* The coordinate as i32: a tile or a scalar. */
tile_value sched_coordinate_tile(sched_kernel *k, const sched_coordinate *at);
/* Where the tile begins at the coordinate, an i32. */
tile_value sched_begin(sched_kernel *k, const sched_coordinate *at);
/* The tile's dim along which the coordinate counts its elements, -1: it is the same everywhere. */
enum { SCHED_SCATTERED = -2 };
int sched_along(const sched_kernel *k, const sched_coordinate *at);
bool sched_is_scattered(const sched_kernel *k, unsigned rank, const sched_map *map);

/* memory.c */

tile_value sched_load(sched_kernel *k, unsigned array, tile_value value, const sched_map *map);
void sched_store(sched_kernel *k, unsigned array, const sched_map *map, tile_value tile);
/* The array with the value's dims. */
tile_value sched_array_view(sched_kernel *k, unsigned array, tile_value value);
/* A view of the array with these dims of it, in this order, as the last ones, and its other dims
 * before them; order[i] < 0: a dim of extent 1. */
typedef struct sched_access {
    tile_value view;
    tile_value index[TILE_MAX_RANK];
    unsigned rank;
    const tile_type *tile;
    bool permuted;
    int64_t order[SCHED_MAX_TILE]; /* dim i of what is loaded is dim order[i] of the tile */
} sched_access; /* where the map is scattered, index tiles tell where elements are */
bool sched_find_access(sched_kernel *k, unsigned array, tile_value value, const sched_map *map,
                       sched_access *out);
/* The view of an access to the array, without what lies along dim d of it from `end` on. */
tile_value sched_part_view(sched_kernel *k, unsigned array, tile_value view, unsigned d,
                           tile_value end);

/* elementwise.c: gives the group a kernel. */
void sched_make_elementwise(schedule *s, sched_group *g, const char *name);

#endif
