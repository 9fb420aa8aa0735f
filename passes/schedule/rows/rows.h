/* What the parts of rows share: see rows.c. */
#ifndef TILE_PASSES_SCHEDULE_ROWS_ROWS_H
#define TILE_PASSES_SCHEDULE_ROWS_ROWS_H

#include "lib/ops/kinds.h"
#include "passes/schedule/cut/online.h"
#include "passes/schedule/kernel/given.h"

/* exp((x - top) * by), or of 2: top is the largest x, or more. */
typedef struct rows_exponential {
    tile_op op;
    sched_mapped_value x, top, by; /* by.value 0: none */
} rows_exponential;

/* x - mean, of its own row. */
typedef struct rows_centered {
    sched_mapped_value x, mean;
} rows_centered;

enum { ROWS_MAX_FACTORS = 8, ROWS_MAX_CENTRES = 2, ROWS_MAX_ONLINE_SUMS = 16, ROWS_MAX_COPIES = 4 };

/* Elements of a tile along the axis with which a place has few terms of any row. */
enum { ROWS_MANY = 1024 };

/* What a sum adds up that needs other reductions of the same walk: the product of all these. */
typedef struct rows_online_sum {
    bool is_online, negative;
    sched_deferred_factor factors[ROWS_MAX_FACTORS]; /* known as soon as the elements are */
    unsigned factor_count;
    sched_deferred_factor
        deferred[SCHED_MAX_DEFERRED]; /* of the whole row, known behind the walk */
    unsigned deferred_count;
    sched_mapped_value seen; /* where it is not, there is 0; value.id 0: everywhere */
    int exp;                 /* the number of an exponential; -1: none */
    int centres[ROWS_MAX_CENTRES];
    unsigned centre_count;
} rows_online_sum;

typedef struct rows {
    sched_kernel k;
    unsigned axis, t; /* of the domain, of the tile */
    const tile_expr *extent;
    int64_t known;    /* the extent, -1: not known */
    unsigned *levels; /* of the group's reductions: 1 needs none of the others */
    unsigned last;    /* level */
    unsigned
        *loops; /* where no tile holds a row: in which walk along it each is computed, from 1 */
    unsigned last_loop;
    rows_online_sum *online_sum; /* by reduction */
    unsigned online_sum_count;
    rows_exponential exps[ROWS_MAX_ONLINE_SUMS];
    unsigned exp_count;
    rows_centered centres[ROWS_MAX_ONLINE_SUMS];
    unsigned centre_count;
    unsigned *depths; /* by value: 1 + the last walk that it needs, 0: not looked at */
    struct rows_tail_values *tail_values; /* what is known behind the end (tail.c), or NULL */
    uint8_t *infinite; /* by reduction what rows_may_be_infinite has found: 1 + that; or NULL */
    unsigned copies;   /* tiles that one step of a walk takes: their maxima correct sums once */
    int64_t least;     /* elements of a tile along the axis, at the point with the fewest */
    bool one_element_along; /* tiles have two other dims, and one element along the axis: t is none
                             */
    /* What attributes of the reductions say. */
    const int64_t *tile; /* one number for each of the domain's dims; NULL: nothing */
    sched_fixed fixed;
} rows;

/* Of reduction `index` of the group. */
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
/* NaN wins over numbers. */
static inline bool rows_propagates_nan(const rows *r, size_t index) {
    return tile_op_has_attr(r->k.s->compute, rows_op(r, index), TILE_ATTR_nan);
}
/* The number of the reduction whose result the value is, -1: none's. */
int rows_find(const rows *r, tile_value value);

/* rows.c */

/* What changes nothing when it is combined with others. */
tile_value rows_identity_of(rows *r, size_t index);
/* The coordinates of the tile's elements along the axis. */
tile_value rows_index_along(rows *r);
/* The elements of the tile that count; the others change nothing. */
tile_value rows_elements_of(rows *r, size_t index);
/* An operation along the tile's axis that is, but for that, like one of the compute's. */
tile_op rows_build_along(rows *r, tile_opcode opcode, tile_value src, tile_op like);
/* A reduction along the axis that has nothing of another operation but its kind: "add", "max", ..
 */
tile_value rows_reduce(rows *r, tile_value tile, const char *kind);
/* The reduction's results, each of the type that it is computed in. */
void rows_remember_results(rows *r, size_t index, tile_value value, tile_value place);
/* Those that have one element for each row, or the others. */
void rows_store_outputs(rows *r, bool of_rows);
/* Whether the output has elements along the axis. */
bool rows_is_long(const rows *r, const sched_output *output);
bool rows_has_long_output(const rows *r);

/* Both dims of the tile, or the only one; the axis' has `along` elements. */
void rows_set_tiles(rows *r, int beside, const tile_expr *other, const tile_expr *along);

/* scan.c: scans of rows that no tile holds. */

/* Whether its only reduction is a scan, which may go along the rows chunk by chunk. */
bool rows_can_scan_chunks(const rows *r);
/* Chunk by chunk, of tiles that are given (rows_set_tiles, and warps) or chosen here. */
void rows_build_chunks(rows *r, int beside);

/* sums.c: rows that no tile holds. */

/* The reduction of two of its values. */
tile_value rows_combine(rows *r, size_t index, tile_value a, tile_value b);
void rows_build_tile_by_tile(rows *r);
/* By blocks that have a part of the rows each; rows_may_split says whether that can be. */
void rows_build_split(rows *r, const tile_expr *split, const tile_expr *strategy);

/* Carried values of a walk: one of each reduction, two of those that find a place, up to four of
 * late ones. */
enum { ROWS_MAX_REDUCTIONS = TILE_MAX_ROW_REDUCTIONS, ROWS_MAX_CARRIED = 192 };
typedef struct rows_carried {
    size_t reductions[ROWS_MAX_REDUCTIONS];
    unsigned count, values;
    tile_value at[ROWS_MAX_CARRIED];
} rows_carried;

/* What is left of a tile along the axis. */
const tile_type *rows_row_type(const rows *r, const tile_type *element);

/* assign_loops.c: which reductions need no walk of their own. */

/* Fills walks and late. */
void rows_assign_loops(rows *r);
/* Whether the exponential is of that walk. */
bool rows_is_of_loop(rows *r, unsigned exp, unsigned loop_index);
/* Says of which reductions rows are read again. */
void rows_remark_loops(rows *r);

/* online_sums.c: sums of walks that need what the same walk reduces. */

/* Of the walk's late sums and of what they are corrected by. */
typedef struct rows_loop {
    tile_value
        shifted_mean[ROWS_MAX_ONLINE_SUMS]; /* by centre: what is subtracted instead of the mean */
    tile_value now[ROWS_MAX_ONLINE_SUMS];   /* by exponential: its top, as it is at each place */
    tile_value correction[ROWS_MAX_ONLINE_SUMS]; /* of what was summed before */
    tile_value exps[ROWS_MAX_ONLINE_SUMS];       /* of the tile at hand; 0: not made */
} rows_loop;

/* How many values are carried of a reduction. */
unsigned rows_count_carried(const rows *r, size_t index);
/* Before the walk: each carried value's beginning. */
void rows_begin_online_sum(rows *r, size_t index, rows_loop *loop_index, rows_carried *c);
/* In the walk, behind the maxima of all its tiles: what corrects the sums. */
void rows_rescale(rows *r, unsigned loop_index, const rows_carried *c, const tile_value *before,
                  const tile_value *now, rows_loop *w);
/* Of one of its tiles: sums are those of the reduction among the carried ones. */
void rows_add_online_sum(rows *r, size_t index, rows_loop *w, bool first, tile_value *sums);
/* Behind the walk, when what it needs is there: takes the sums' places together. */
void rows_finish_online_sum(rows *r, size_t index, const rows_loop *w, const tile_value *sums);

/* key.c: a value and its place as one number. */

/* Whether there is one: of values of up to 32 bits. */
bool rows_has_key(const rows *r, size_t index);
/* i64, the largest of which has the value that counts, at the lowest of its places. */
tile_value rows_build_key(rows *r, size_t index, tile_value value, tile_value place);
tile_value rows_least_key(rows *r);
tile_value rows_value_of_key(rows *r, size_t index, tile_value key);
tile_value rows_index_of_key(rows *r, tile_value key);

/* parts.c: how many parts there are. */

/* Blocks whose tiles have so many elements along `beside`, one along the other dims but the axis;
 * -1: not known. */
int64_t rows_count_others(const rows *r, int beside, int64_t columns);
/* Whether an attribute asks for parts. */
bool rows_must_split(const rows *r);
/* Whether the reductions should be cut into parts, and can be; a remark says why not, or an error
 * where they must be. Tiles have
 * `along` elements along the axis, and without parts there are so many blocks, -1: not known. */
bool rows_may_split(rows *r, int64_t along, int64_t blocks);
/* Gives the kernel the parameters `split` and `strategy`, and points for them; `likely` is the
 * first split where blocks are not known. */
void rows_add_splits(rows *r, int64_t along, int64_t blocks, int likely,
                     const tile_expr *params[2]);

/* tail.c: elements of a tile behind the end of its rows. */

/* Whether NaN is what changes nothing: a largest or smallest float. */
bool rows_ignores_nan(const rows *r, size_t index);
/* Whether it may be -inf (inf) instead: it is only subtracted from its own row. */
bool rows_may_be_infinite(rows *r, size_t index);
bool rows_is_sort(const rows *r, size_t index);
/* Whether it is computed in the same way from the same values, looking so many operations back. */
bool rows_is_equal(const tile_function *f, tile_value a, tile_value b, unsigned depth);
/* Whether what stands there does not count, with the loads' pad that is chosen. */
bool rows_tail_is_neutral(rows *r, size_t index);
/* Chooses the pad of loads with which most reductions need no select. */
void rows_choose_pad(rows *r);

/* rows.c: gives the group a kernel. */
void sched_make_rows(schedule *s, sched_group *g, const char *name);

#endif
