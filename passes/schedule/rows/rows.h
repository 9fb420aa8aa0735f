/* The interface between the files of rows: see rows.c. */
#ifndef TILE_PASSES_SCHEDULE_ROWS_ROWS_H
#define TILE_PASSES_SCHEDULE_ROWS_ROWS_H

#include "lib/ops/kinds.h"
#include "passes/schedule/cut/online.h"
#include "passes/schedule/kernel/given.h"

/* exp((x - top) * by), or exp2. top is the maximum of x, or larger. */
typedef struct rows_exponential {
    tile_op op;
    sched_mapped_value x, top, by; /* by.value 0: none */
} rows_exponential;

/* x - mean, the mean of the same row. */
typedef struct rows_centered {
    sched_mapped_value x, mean;
} rows_centered;

enum { ROWS_MAX_FACTORS = 8, ROWS_MAX_CENTRES = 2, ROWS_MAX_ONLINE_SUMS = 16, ROWS_MAX_COPIES = 4 };

/* With this many elements of a tile along the axis, each position has few terms even for long
 * rows. */
enum { ROWS_MANY = 1024 };

/* A sum whose terms depend on other reductions of the same loop: the product of all these
 * factors. */
typedef struct rows_online_sum {
    bool is_online, negative;
    sched_deferred_factor factors[ROWS_MAX_FACTORS]; /* known as soon as the elements are */
    unsigned factor_count;
    sched_deferred_factor
        deferred[SCHED_MAX_DEFERRED]; /* constant along the row, known after the loop */
    unsigned deferred_count;
    sched_mapped_value seen; /* if false, the term is 0; value.id 0: always true */
    int exp;                 /* index of an exponential; -1: none */
    int centres[ROWS_MAX_CENTRES];
    unsigned centre_count;
} rows_online_sum;

/* Whether each chunk of a scan's rows has a block, which looks back at those before it. */
typedef enum rows_look_back_choice {
    ROWS_LOOK_BACK_NEVER,
    ROWS_LOOK_BACK_ALWAYS,
    ROWS_LOOK_BACK_IF, /* extents that are not known decide it */
} rows_look_back_choice;

typedef struct rows {
    sched_kernel k;
    unsigned axis, t; /* of the domain, of the tile */
    const tile_expr *extent;
    /* If a tile may have several short rows: their number, and the tile's elements along them. */
    const tile_expr *short_rows, *short_block;
    const tile_expr *whole; /* likewise: 1 if a row fits a tile, 0 if there is a loop; or NULL */
    rows_look_back_choice look_back; /* of a scan */
    int few_strips;              /* of a scan: with so many, chunks have no blocks of their own */
    const tile_expr *looks_back; /* where extents decide it: a parameter, 1 or 0 */
    bool whole_axis;             /* of a scan: all tiles hold the axis */
    bool loads_ahead;            /* of a scan: steps of the loop load the tiles of the next ones */
    int64_t known;               /* the extent; -1: not known */
    unsigned *levels;            /* by reduction: level 1 depends on no other one */
    unsigned last;               /* highest level */
    unsigned
        *loops; /* for rows longer than a tile: the loop that computes each reduction, from 1 */
    unsigned last_loop;
    rows_online_sum *online_sum; /* by reduction */
    unsigned online_sum_count;
    rows_exponential exps[ROWS_MAX_ONLINE_SUMS];
    unsigned exp_count;
    rows_centered centres[ROWS_MAX_ONLINE_SUMS];
    unsigned centre_count;
    unsigned *depths; /* by value: 1 + the last loop that it depends on; 0: not computed yet */
    struct rows_tail_values *tail_values; /* analysis of elements after the end (tail.c), or NULL */
    uint8_t *infinite; /* by reduction: 1 + the result of rows_may_be_infinite, 0: not computed yet;
                          or NULL */
    unsigned copies;   /* tiles per step of a loop: sums are rescaled once for all of them */
    int64_t least;     /* minimum over the tuning points of a tile's elements along the axis */
    bool one_element_along; /* tiles have two other dims and one element along the axis, which has
                               no tile dim t */
    /* Values of the reductions' attributes. */
    const int64_t *tile; /* one number per dim of the domain; NULL: absent */
    sched_fixed fixed;
} rows;

/* The operation of reduction `index` of the group. */
static inline tile_op rows_op(const rows *r, size_t index) {
    return r->k.g->reductions[index];
}
static inline tile_value rows_source(const rows *r, size_t index) {
    return tile_operand_src(r->k.s->compute, rows_op(r, index));
}
static inline tile_word rows_kind(const rows *r, size_t index) {
    return tile_op_word(r->k.s->compute, rows_op(r, index), TILE_ATTR_kind);
}
static inline const tile_type *rows_type(const rows *r, size_t index) {
    return sched_compute_type(r->k.s, sched_element(r->k.s, rows_source(r, index)));
}
static inline bool rows_returns_index(const rows *r, size_t index) {
    return tile_op_opcode(r->k.s->compute, rows_op(r, index)) == TILE_OP_reduce_arg;
}
/* Returns whether the result is NaN if any element is. */
static inline bool rows_propagates_nan(const rows *r, size_t index) {
    return tile_op_has_attr(r->k.s->compute, rows_op(r, index), TILE_ATTR_nan);
}
/* The index of the reduction with this result; -1 if there is none. */
int rows_reduction_index(const rows *r, tile_value value);

/* rows.c */

/* The identity element of the reduction. */
tile_value rows_identity_of(rows *r, size_t index);
/* The coordinates of the tile's elements along the axis. */
tile_value rows_index_along(rows *r);
/* The elements of the tile, with the identity after the end of the row. */
tile_value rows_elements_of(rows *r, size_t index);
/* Builds an operation along the tile's axis with the attributes of `like`, an operation of the
 * compute. */
tile_op rows_build_along(rows *r, tile_opcode opcode, tile_value src, tile_op like);
/* Builds a plain reduction along the axis. kind: "add", "max", .. */
tile_value rows_reduce(rows *r, tile_value tile, const char *kind);
/* Records the reduction's results, each in the type of its computation. */
void rows_remember_results(rows *r, size_t index, tile_value value, tile_value place);
/* The map of values with one element per row. */
sched_map rows_map_of_row(const rows *r);
/* Stores the outputs with one element per row, or (of_rows false) the others. */
void rows_store_outputs(rows *r, bool of_rows);
/* Returns whether the output has elements along the axis. */
bool rows_is_long(const rows *r, const sched_output *output);
bool rows_has_long_output(const rows *r);

/* Sets both dims of the tile, or the only one; the axis has `along` elements. */
void rows_set_tiles(rows *r, int beside, const tile_expr *other, const tile_expr *along);

/* Chooses tiles of whole rows, whose extent is known: several rows if they are short. */
void rows_set_known_tiles(rows *r, int beside);

/* Builds a whole row in one tile. */
void rows_build_at_once(rows *r);
/* Builds rows tile by tile, with several tiles in a step of the loop, so that sums are corrected
 * once for all of them. */
void rows_build_in_steps(rows *r);

/* column_tiles.c */

/* Adds a tuning point after `count` others. False if one with these extents exists. */
bool rows_add_point(int *points, unsigned count, int height, int width, int warps);
/* Lists tiles of columns that are at most as wide as the array, if that is known, and
 * correspondingly taller, up to the extent of the axis. Returns their number. in_parts: the
 * reductions are split. */
enum { ROWS_COLUMN_POINTS = 5 };
unsigned rows_list_columns(const rows *r, int beside, bool in_parts,
                           int points[ROWS_COLUMN_POINTS * 3]);

/* columns.c */

/* Returns whether the axis is not contiguous, and elements along it are needed several times. */
bool rows_has_whole_columns(const rows *r, int beside);
/* Builds such rows with the whole axis in a tile. */
void rows_build_whole_columns(rows *r, int beside);

/* lengths.c: rows whose extent is not known. */

/* Adds the parameters `rows`, `block` and `num_warps`, and sets tiles of rows x block elements.
 * along: `count` points of one row, block and warps each. If rows are contiguous, further points
 * have several short rows. Returns `rows` and `block`. in_parts: the reductions may be split. */
typedef struct rows_tile_params {
    const tile_expr *rows, *block;
} rows_tile_params;
rows_tile_params rows_add_lengths(rows *r, int beside, const int *along, unsigned count,
                                  bool in_parts);
/* Uses one tile if a row fits the block's tile. Otherwise build_long builds it with tiles that have
 * `looped` elements along the axis. */
void rows_build_either(rows *r, int beside, const tile_expr *others, const tile_expr *block,
                       const tile_expr *looped, void (*build_long)(rows *r));
void rows_build_unknown(rows *r, int beside);
/* Returns whether a tile has several rows, if it may (short_rows). */
tile_value rows_has_several(rows *r);
/* Where loops along the rows end: with several short rows, after one tile. */
tile_value rows_loop_end(rows *r);

/* scan.c: scans of rows longer than a tile. */

/* Returns whether its only reduction is a scan, which can be computed chunk by chunk. */
bool rows_can_scan_chunks(const rows *r);
/* Returns whether its reductions are by a function. */
bool rows_combines(const rows *r);
/* Builds the scan, or what a function combines, chunk by chunk, with tiles set by attributes
 * (rows_set_tiles, warps) or chosen here. */
void rows_build_chunks(rows *r, int beside);
/* Builds the kernel's body for tiles and a grid that are set. */
void rows_build_scan(rows *r);

/* The chunks of a row, and numbers that loops over them use. */
typedef struct rows_chunks {
    tile_value zero, one, block, count, last;
} rows_chunks;
rows_chunks rows_count_chunks(rows *r);
/* Builds a loop over the chunks, from the last to the first if reverse. build_body builds the code
 * of a chunk and replaces the carried values; number: the position of the chunk in loop order.
 * carried becomes the results of the loop. */
typedef void rows_chunk_body(rows *r, void *user, tile_value number, tile_value *carried);
void rows_loop_over_chunks(rows *r, const rows_chunks *chunks, bool reverse, tile_value *carried,
                           unsigned count, rows_chunk_body *build_body, void *user);

/* combine.c: reductions and scans by a function. */
void rows_build_combined(rows *r);
/* A scan of which each chunk has a block (look_back.h). */
void rows_build_combined_chunk(rows *r);

/* clusters.c: rows in the tiles of a cluster's blocks. */
bool rows_fit_cluster(const rows *r, int beside);
void rows_build_clusters(rows *r, int beside);

/* loads_ahead.c: moves the loads of the loop's body to the step before. */
void rows_load_ahead(rows *r, tile_op loop);

/* sums.c: rows longer than a tile. */

/* Combines two values of the reduction. */
tile_value rows_combine(rows *r, size_t index, tile_value a, tile_value b);
void rows_build_tile_by_tile(rows *r);
/* Returns whether one of the reductions returns an index. */
bool rows_return_index(const rows *r);
/* Builds reductions split over blocks, if rows_may_split allows it. */
void rows_build_split(rows *r, const tile_expr *split, const tile_expr *strategy);

/* Carried values of a loop: one per reduction, two for those that return an index, up to four for
 * online sums. */
enum { ROWS_MAX_REDUCTIONS = TILE_MAX_ROW_REDUCTIONS, ROWS_MAX_CARRIED = 192 };
typedef struct rows_carried {
    size_t reductions[ROWS_MAX_REDUCTIONS];
    unsigned count, values;
    tile_value at[ROWS_MAX_CARRIED];
} rows_carried;

/* The type of a tile reduced along the axis. */
const tile_type *rows_row_type(const rows *r, const tile_type *element);

/* assign_loops.c: assigns reductions to loops. */

/* Sets `loops` and `online_sum`. */
void rows_assign_loops(rows *r);
/* Returns whether the exponential belongs to that loop. */
bool rows_is_of_loop(rows *r, unsigned exp, unsigned loop_index);
/* Emits a remark for reductions that read the rows again. */
void rows_remark_loops(rows *r);

/* online_sums.c: sums that depend on reductions of the same loop. */

/* State of a loop's online sums and of their corrections. */
typedef struct rows_loop {
    tile_value shifted_mean[ROWS_MAX_ONLINE_SUMS]; /* by centre: the reference value that is
                                                      subtracted instead of the mean */
    tile_value now[ROWS_MAX_ONLINE_SUMS]; /* by exponential: its current top at each position */
    tile_value correction[ROWS_MAX_ONLINE_SUMS]; /* by exponential: factor of the previous sums */
    tile_value exps[ROWS_MAX_ONLINE_SUMS];       /* of the current tile; 0: not built */
} rows_loop;

/* The number of carried values of a reduction. */
unsigned rows_count_carried(const rows *r, size_t index);
/* Before the loop: builds each carried value's initial value. */
void rows_begin_online_sum(rows *r, size_t index, rows_loop *loop_index, rows_carried *c);
/* In the loop, after the maxima of all its tiles: computes the correction of the sums. */
void rows_rescale(rows *r, unsigned loop_index, const rows_carried *c, const tile_value *before,
                  const tile_value *now, rows_loop *w);
/* For one of its tiles; sums: the carried values of the reduction. */
void rows_add_online_sum(rows *r, size_t index, rows_loop *w, bool first, tile_value *sums);
/* After the loop, once its dependencies are known: combines the positions of the sums. */
void rows_finish_online_sum(rows *r, size_t index, const rows_loop *w, const tile_value *sums);

/* key.c: a value and its index as one integer. */

/* Returns whether a key exists: for values of up to 32 bits. */
bool rows_has_key(const rows *r, size_t index);
/* Builds i64 keys; the maximum has the best value at the lowest of its indices. */
tile_value rows_build_key(rows *r, size_t index, tile_value value, tile_value place);
tile_value rows_least_key(rows *r);
tile_value rows_value_of_key(rows *r, size_t index, tile_value key);
tile_value rows_index_of_key(rows *r, tile_value key);

/* parts.c: the number of parts. */

/* The number of blocks whose tiles have `columns` elements along `beside` and one along the other
 * dims except the axis; -1: not known. */
int64_t rows_count_others(const rows *r, int beside, int64_t columns);
/* Returns whether an attribute requests parts. */
bool rows_must_split(const rows *r);
/* Returns whether the reductions should and can be split into parts. If not, a remark gives the
 * reason, or an error if an attribute requests parts. Tiles have `along` elements along the axis.
 * blocks: the number of blocks without parts; -1: not known. */
bool rows_may_split(rows *r, int64_t along, int64_t blocks);
/* Adds the parameters `split` and `strategy` to the kernel, and points for them. likely: the first
 * split if the number of blocks is not known. */
void rows_add_splits(rows *r, int64_t along, int64_t blocks, int likely,
                     const tile_expr *params[2]);

/* shared.c: rows that are reduced together with a vector. */

/* If the reductions read an array along the axis that is the same for all rows, builds a kernel
 * whose tiles have several of the rows. False if they do not. */
bool rows_build_with_vector(rows *r, int beside);

/* tail.c: elements of a tile after the end of its rows. */

/* Returns whether NaN is the identity: for the maximum or minimum of floats. */
bool rows_ignores_nan(const rows *r, size_t index);
/* Returns whether the identity may be -inf (inf) instead, because the result is only subtracted
 * from its own row. */
bool rows_may_be_infinite(rows *r, size_t index);
bool rows_is_sort(const rows *r, size_t index);
/* Returns whether both values are the same computation of the same values, looking back at most
 * `depth` operations. */
bool rows_is_equal(const tile_function *f, tile_value a, tile_value b, unsigned depth);
/* Returns whether elements after the end do not affect the result with the chosen pad. */
bool rows_tail_is_neutral(rows *r, size_t index);
/* Chooses the pad of loads with which the most reductions need no select. */
void rows_choose_pad(rows *r);

/* rows.c: creates the group's kernel. */
void sched_make_rows(schedule *s, sched_group *g, const char *name);

#endif
