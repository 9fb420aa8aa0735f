/* What the parts of rows share: see schedule_rows.c. */
#ifndef TILE_PASSES_COMPUTE_SCHEDULE_ROWS_H
#define TILE_PASSES_COMPUTE_SCHEDULE_ROWS_H

#include "lib/ir/kinds.h"
#include "passes/compute/schedule_given.h"

typedef struct rows {
    sched_kernel k;
    unsigned axis, t; /* of the domain, of the tile */
    const tile_expr *extent;
    int64_t known;    /* the extent, -1: not known */
    unsigned *levels; /* of the group's reductions: 1 needs none of the others */
    unsigned last;    /* level */
    bool walked;      /* tiles have two other dims, and one element along the axis: t is none */
    /* What attributes of the reductions say. */
    const int64_t *tile; /* one number for each of the domain's dims; NULL: nothing */
    sched_fixed fixed;
} rows;

/* Of reduction `index` of the group. */
static inline tile_op rows_op(const rows *r, size_t index) {
    return r->k.g->reductions[index];
}
static inline tile_value rows_source(const rows *r, size_t index) {
    return tile_op_operand(r->k.s->compute, rows_op(r, index), 0);
}
static inline tile_word rows_kind(const rows *r, size_t index) {
    return tile_op_word(r->k.s->compute, rows_op(r, index), TILE_ATTR_kind);
}
static inline const tile_type *rows_type(const rows *r, size_t index) {
    return sched_working(r->k.s, sched_element(r->k.s, rows_source(r, index)));
}
static inline bool rows_finds_place(const rows *r, size_t index) {
    return tile_op_opcode(r->k.s->compute, rows_op(r, index)) == TILE_OP_reduce_arg;
}
/* NaN wins over numbers. */
static inline bool rows_takes_nan(const rows *r, size_t index) {
    return tile_op_has_attr(r->k.s->compute, rows_op(r, index), TILE_ATTR_nan);
}
/* The number of the reduction whose result the value is, -1: none's. */
int rows_find(const rows *r, tile_value value);

/* schedule_rows.c */

/* What changes nothing when it is combined with others. */
tile_value rows_identity_of(rows *r, size_t index);
/* The coordinates of the tile's elements along the axis. */
tile_value rows_place_along(rows *r);
/* The elements of the tile that count; the others change nothing. */
tile_value rows_elements_of(rows *r, size_t index);
/* An operation along the tile's axis that is, but for that, like one of the compute's. */
tile_op rows_build_along(rows *r, tile_opcode opcode, tile_value src, tile_op like);
/* The reduction's results, each of the type that it is computed in. */
void rows_remember_results(rows *r, size_t index, tile_value value, tile_value place);
/* Those that have one element for each row, or the others. */
void rows_store_outputs(rows *r, bool of_rows);
/* Whether the output has elements along the axis. */
bool rows_is_long(const rows *r, const sched_output *output);
bool rows_has_long_output(const rows *r);

/* schedule_sums.c: rows that no tile holds. */

void rows_build_tile_by_tile(rows *r);
/* By blocks that have a part of the rows each; rows_may_split says whether that can be. */
void rows_build_in_parts(rows *r, const tile_expr *split, const tile_expr *strategy);

/* schedule_key.c: a value and its place as one number. */

/* Whether there is one: of values of up to 32 bits. */
bool rows_has_key(const rows *r, size_t index);
/* i64, the largest of which has the value that counts, at the lowest of its places. */
tile_value rows_build_key(rows *r, size_t index, tile_value value, tile_value place);
tile_value rows_least_key(rows *r);
tile_value rows_value_of_key(rows *r, size_t index, tile_value key);
tile_value rows_place_of_key(rows *r, tile_value key);

/* schedule_parts.c: how many parts there are. */

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

/* schedule_behind.c: elements of a tile behind the end of its rows. */

/* Whether NaN is what changes nothing: a largest or smallest float. */
bool rows_leaves_nan_out(const rows *r, size_t index);
/* Whether it may be -inf (inf) instead: it is only subtracted from its own row. */
bool rows_may_be_infinite(const rows *r, size_t index);
bool rows_is_sort(const rows *r, size_t index);
/* Whether what stands there does not count, with the loads' pad that is chosen. */
bool rows_count_nothing(rows *r, size_t index);
/* Chooses the pad of loads with which most reductions need no select. */
void rows_choose_pad(rows *r);

#endif
