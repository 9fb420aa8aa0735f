/* The semantics of operations along an axis, for code that computes or lowers them. */
#ifndef TILE_LIB_OPS_REDUCE_H
#define TILE_LIB_OPS_REDUCE_H

#include "lib/layout/reduce.h"
#include "lib/ops/kinds.h"

typedef struct tile_reduction {
    unsigned axis;
    tile_word kind;
} tile_reduction;

/* Returns false while a parameter has no value yet, or if the axis is not a dim of the operand. */
bool tile_reduction_of(const tile_function *f, tile_op op, tile_reduction *reduction);

/* The type in which elements are combined: sums and products of 16-bit floats are rounded only
 * once. */
tile_scalar tile_reduction_scalar(tile_word kind, tile_scalar scalar);

/* The buffer through which threads exchange their partial results, with this element type, for a
 * tile's rows. */
const tile_type *tile_reduction_buffer(const tile_function *f, tile_op op, tile_scalar scalar,
                                       const tile_reduce_plan *plan);
/* The buffer of a scan or sort of a tile with this layout; NULL: it needs none. */
const tile_type *tile_rows_buffer(const tile_function *f, tile_op op, const tile_layout *layout);
/* Returns whether a scan or sort can be done in this layout; otherwise the tile is first converted
 * to another one. */
bool tile_rows_fit(const tile_function *f, tile_op op, const tile_layout *layout);
tile_layout tile_rows_layout(const tile_function *f, tile_op op, unsigned warps);

/* An array viewed along one of its dims: rows of `extent` elements with a stride of `inner`. Row r
 * begins at element tile_row_begin. */
typedef struct tile_rows {
    size_t outer, extent, inner;
} tile_rows;
tile_rows tile_rows_along(const int64_t *dims, unsigned rank, unsigned axis);
static inline size_t tile_row_begin(const tile_rows *rows, size_t row) {
    return row / rows->inner * rows->extent * rows->inner + row % rows->inner;
}

/* An element: real for floats, else integer. */
typedef struct tile_number {
    double real;
    int64_t integer;
} tile_number;

/* Combines elements one after the other, floats in f64. */
typedef struct tile_accumulator {
    tile_opcode opcode; /* combines two elements */
    tile_scalar scalar;
    tile_word kind;
    bool any; /* there was at least one element */
    bool nan; /* the result is NaN if an element is; set after tile_accumulate_start */
    double real;
    int64_t integer;
} tile_accumulator;
tile_accumulator tile_accumulate_start(tile_word kind, tile_scalar scalar);
/* Adds one element of the type, in memory or as a number. */
void tile_accumulate(tile_accumulator *sum, const void *element);
void tile_accumulate_number(tile_accumulator *sum, tile_number element);
/* Writes the result, rounded or wrapped; the identity if there were no elements. */
void tile_accumulate_write(const tile_accumulator *sum, void *to);
tile_number tile_accumulate_result(const tile_accumulator *sum);

tile_number tile_number_read(tile_scalar scalar, const void *from);
void tile_number_write(tile_scalar scalar, tile_number number, void *to);
/* For level 1, which needs integers as `real`, too: wraps them to their type. */
tile_number tile_number_wrap(tile_scalar scalar, tile_number number);

/* log(exp(a) + exp(b)) */
double tile_log_add_exp(double a, double b);

/* The attributes of a scan. */
typedef struct tile_scan {
    tile_word kind;
    bool reverse, exclusive;
} tile_scan;
tile_scan tile_scan_of(const tile_function *f, tile_op op);

/* The results of the operations for one row. */
size_t tile_row_find(tile_word kind, tile_scalar scalar, const tile_number *row, size_t count);
void tile_row_scan(tile_scan scan, tile_scalar scalar, tile_number *row, size_t count);
void tile_row_sort(bool descending, tile_scalar scalar, tile_number *row, size_t count);

#endif
