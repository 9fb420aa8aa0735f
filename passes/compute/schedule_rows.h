/* What the parts of rows share: see schedule_rows.c. */
#ifndef TILE_PASSES_COMPUTE_SCHEDULE_ROWS_H
#define TILE_PASSES_COMPUTE_SCHEDULE_ROWS_H

#include "lib/ir/kinds.h"
#include "passes/compute/schedule.h"

typedef struct rows {
    sched_kernel k;
    unsigned axis, t; /* of the domain, of the tile */
    const tile_expr *extent;
    int64_t known;    /* the extent, -1: not known */
    unsigned *levels; /* of the group's reductions: 1 needs none of the others */
    unsigned last;    /* level */
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
